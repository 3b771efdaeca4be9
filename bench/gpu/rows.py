# SPDX-License-Identifier: BSD-3-Clause
"""The targets of issue 3, each judged on what was measured: the row's limits and Heddle come from one run."""
import statistics

KIB, MIB = 1 << 10, 1 << 20
SMALL, RATES_FROM, PINNED_FROM = 16 * KIB, 64 * MIB, 16 * MIB
RIVALS = ("copy", "cub", "hand", "yaksa", "tempi")
WORST = 3  # cases that a row names


class Cases:
    """What was measured: a case for each layout, size, operation and place, {"times": {who: {clock: time}}}."""

    def __init__(self, cases):
        self.all = cases
        copy = self.time("limit", 512 * MIB, "copy", "device", "limit", "gpu")
        self.copy_rate = 2 * 512 * MIB / copy if copy else None  # C: bytes read plus written each second
        launches = [case["times"]["heddle"]["launch"]["median"] for case in cases
                    if "launch" in case["times"].get("heddle", {})]
        self.launch = statistics.median(launches) if launches else None  # L, where a case has none of its own

    def find(self, layout=None, size=None, operation=None, place=None):
        return [case for case in self.all
                if (layout is None or case["layout"] == layout) and (size is None or case["size"] == size)
                and (operation is None or case["operation"] == operation)
                and (place is None or case["place"] == place)]

    def time(self, layout, size, operation, place, who, clock):
        for case in self.find(layout, size, operation, place):
            return seconds(case, who, clock)
        return None


def seconds(case, who, clock):
    time = case["times"].get(who, {}).get(clock)
    return time["median"] if time else None


def name(case):
    at = "" if case["place"] == "device" else " pinned"
    return f"{case['layout']}/{case['size']} {case['operation']}{at}"


def row(what, unit, limit, most, values):
    """A row: `values` are (value, case name, details); the worst decides."""
    values = sorted(values, key=lambda each: each[0], reverse=most)
    found = {"what": what, "unit": unit, "limit": limit, "most": most, "cases": len(values),
             "worst": [{"value": value, "case": case, "details": details}
                       for value, case, details in values[:WORST]],
             "missed": sum(value > limit if most else value < limit for value, _, _ in values)}
    if values:
        found["value"] = values[0][0]
        found["met"] = found["missed"] == 0
    return found


def us(value):
    return f"{1e6 * value:.2f} us"


def by_launch(cases, small):
    """Wall time over that of an empty launch, measured beside it."""
    for case in cases:
        wall, launch = seconds(case, "heddle", "wall"), seconds(case, "heddle", "launch")
        if wall and launch and small(case):
            yield wall / launch, name(case), f"{us(wall)}, L {us(launch)}"


def by_copy(found, cases, touched):
    """The rate of the bytes touched over C."""
    for case in cases:
        gpu = seconds(case, "heddle", "gpu")
        if gpu and found.copy_rate:
            yield touched(case) / gpu / found.copy_rate, name(case), us(gpu)


def over(cases, who, clock):
    """The time of `who` over Heddle's: a share of its rate."""
    for case in cases:
        mine, theirs = seconds(case, "heddle", clock), seconds(case, who, clock)
        if mine and theirs:
            yield theirs / mine, name(case), f"{us(mine)}, {who} {us(theirs)}"


def over_limit(found, cases):
    """The time that the memory needs over Heddle's: the limit program's, or that of the bytes at C where more."""
    for case in cases:
        mine, program = seconds(case, "heddle", "gpu"), seconds(case, "limit", "gpu")
        if mine and program and found.copy_rate:
            bytes_at_copy = read_and_written(case) / found.copy_rate
            yield (max(program, bytes_at_copy) / mine, name(case),
                   f"{us(mine)}, limit program {us(program)}, bytes at C {us(bytes_at_copy)}")


def at_most(cases, clock="gpu"):
    for case in cases:
        if mine := seconds(case, "heddle", clock):
            yield 1e6 * mine, name(case), ""


def read_and_written(case):
    return case["sectors"] + case["bytes"]


def judge_small(found):
    small = [case for case in found.all if case["bytes"] <= SMALL and "strided" in case]
    yield row("contiguous and strided layouts up to 16 KiB, wall", "L", 1.0, True,
              by_launch(small, lambda case: case["strided"]))
    yield row("every other layout up to 16 KiB, wall", "L", 1.2, True,
              by_launch(small, lambda case: not case["strided"]))


def judge_rates(found):
    large = [case for case in found.find(place="device") if case["bytes"] >= RATES_FROM and case.get("block")]
    yield row("strided, blocks of 128 B and more, 64 MiB and more", "C", 0.90, False,
              by_copy(found, (case for case in large if case["block"] >= 128), read_and_written))
    small_blocks = [case for case in large if case["block"] <= 64]
    # A pack has to write as well as to gather, an unpack to read: both limits hold.
    for operation, letter, program in (("pack", "G", "gathers"), ("unpack", "S", "scatters")):
        yield row(f"strided, blocks of 8 to 64 B, 64 MiB and more: {operation}, over the program that only {program} "
                  "or the bytes at C, whichever takes longer", letter, 0.92, False,
                  over_limit(found, (case for case in small_blocks if case["operation"] == operation)))


def judge_shapes(found):
    shapes = found.find("halo-face-24", 256, place="device") + found.find("subarray-4d-half", 64, place="device") \
        + found.find("subarray-4d-most", 64, place="device")
    yield row("3-D halo face 24 B x 256 x 256, 4-D subarrays 32^4 and 48^4 of 64^4 doubles, over the hand-written "
              "kernel", "times its time", 1.05, True,
              ((1 / ratio, case, details) for ratio, case, details in over(shapes, "hand", "gpu")))
    yield row("four nested hvectors, 1 MiB, wall", "L", 1.3, True,
              by_launch(found.find("nested-hvectors-4", MIB, place="device"), lambda case: True))
    yield row("struct {double, int, int, char} x 10 000, wall", "L", 1.3, True,
              by_launch(found.find("struct-diic", 10000, place="device"), lambda case: True))
    yield row("the same x 10 million, bytes touched", "C", 0.75, False,
              by_copy(found, found.find("struct-diic", 10000000, place="device"), read_and_written))
    yield row("hindexed, 100 000 irregular blocks of 1 to 15 doubles", "us", 10, True,
              at_most(found.find("hindexed-1-to-15", 100000, place="device")))
    yield row("the same, 10 million, sectors touched", "C", 0.6, False,
              by_copy(found, found.find("hindexed-1-to-15", 10000000, place="device"), read_and_written))
    yield row("transpose type 4096 x 4096 doubles", "us", 90, True,
              at_most(found.find("transpose", 4096, place="device")))


def judge_host(found):
    large = [case for case in found.find(place="pinned") if case["bytes"] >= PINNED_FROM]
    yield row("to pinned host memory, 16 MiB and more, every layout", "of cudaMemcpy's rate", 0.93, False,
              over((case for case in large if case["operation"] == "pack"), "memcpy", "wall"))
    yield row("from pinned host memory", "of cudaMemcpy's rate", 0.90, False,
              over((case for case in large if case["operation"] == "unpack"), "memcpy", "wall"))


def judge_batch(found):
    values = []
    for case in found.find("halo-26-parts", 256):
        wall, launch = seconds(case, "heddle", "wall"), seconds(case, "heddle", "launch")
        if wall and launch and found.copy_rate:
            moved = 2 * case["bytes"] / (0.8 * found.copy_rate)
            values.append(((wall - moved) / launch, name(case), f"{us(wall)}, bytes at 0.8 C {us(moved)}"))
    yield row("26 halo faces, edges and corners of a 256^3 grid as one batch, wall above the sum of their bytes "
              "at 0.8 C", "L", 1.5, True, values)


def judge_reductions(found):
    # The source is read, the target read and written.
    yield row("sum of doubles into a strided target, 64 MiB and more, bytes touched", "C", 0.80, False,
              by_copy(found, (case for case in found.find(operation="reduce") if case["bytes"] >= RATES_FROM),
                      lambda case: 3 * case["bytes"]))


def rivalries(cases):
    """(Heddle over the fastest rival, case, the rival): GPU time on the device, wall time elsewhere."""
    for case in cases:
        clock = "gpu" if case["place"] == "device" and seconds(case, "heddle", "gpu") else "wall"
        mine = seconds(case, "heddle", clock)
        rivals = {who: seconds(case, who, clock) for who in RIVALS if seconds(case, who, clock)}
        if mine and rivals:
            fastest = min(rivals, key=rivals.get)
            yield mine / rivals[fastest], name(case), f"{us(mine)}, {fastest} {us(rivals[fastest])} ({clock})"


def judge(cases):
    found = Cases(cases)
    rows = [each for part in (judge_small, judge_rates, judge_shapes, judge_host, judge_batch, judge_reductions)
            for each in part(found)]
    rows.append(row("every case, over the fastest rival", "times its time", 1.05, True, rivalries(found.all)))
    limits = {"copy_bytes_per_second": found.copy_rate, "launch_seconds": found.launch,
              "launch_gpu_seconds": found.time("limit", 0, "launch", "device", "limit", "gpu")}
    return rows, limits
