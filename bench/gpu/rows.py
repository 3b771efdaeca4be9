# SPDX-License-Identifier: BSD-3-Clause
"""The targets of issue 3, each judged on what was measured: the row's limits and Heddle come from one run."""
import statistics
import typing

KIB, MIB = 1 << 10, 1 << 20
SMALL, RATES_FROM, PINNED_FROM = 16 * KIB, 64 * MIB, 16 * MIB
RIVALS = ("copy", "cub", "hand", "yaksa", "tempi")
WORST = 3  # cases that a row names at least; all that miss are named
# What the design counts on at a stride of 512 bytes (docs/notes/measured.md): sectors of 32 bytes each second, and the
# largest block for which it says so.
SECTORS_AT_512 = {"pack": (1.32e12, 32), "unpack": (0.52e12, 16)}
NO_LIMIT = 1.02  # a limit program that Heddle is so much faster than is none


class Value(typing.NamedTuple):
    """What a case measures in its row's unit; `program` is the limit program's figure, where there is one."""
    value: float
    case: str
    details: str = ""
    program: float | None = None


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
    """A row; the worst of the values decides. What the limit program misses as well is beyond the hardware, unless it
    was no limit."""
    def misses(value):
        return value > limit if most else value < limit

    def is_beyond(each):
        return each.program is not None and misses(each.program) and told(each, most)["of_program"] <= NO_LIMIT

    values = sorted((Value(*each) for each in values), key=lambda each: each.value, reverse=most)
    missed = [each for each in values if misses(each.value)]
    found = {"what": what, "unit": unit, "limit": limit, "most": most, "cases": len(values), "missed": len(missed),
             "beyond": sum(is_beyond(each) for each in missed),
             "worst": [told(each, most) for each in values[:max(WORST, len(missed))]]}
    if values:
        found["value"] = values[0].value
        found["met"] = not missed
    return found


def told(value, most):
    case = {"value": value.value, "case": value.case, "details": value.details}
    if value.program:
        case["program"] = value.program
        case["of_program"] = value.program / value.value if most else value.value / value.program
    return case


def verdict(judged):
    """In words, of a row that was measured."""
    if judged["met"]:
        return "met"
    if judged["missed"] > judged["beyond"]:
        return f"missed by {judged['missed']} of {judged['cases']}" \
            + (f", of which {judged['beyond']} beyond the hardware" if judged["beyond"] else "")
    worst = judged["worst"][0]
    return f"beyond the hardware ({judged['beyond']} of {judged['cases']}): limit program reaches " \
        f"{worst['program']:.3g} {judged['unit']}, Heddle {worst['of_program']:.2f} of it"


def us(value):
    return f"{1e6 * value:.2f} us"


def by_launch(cases, small):
    """Wall time over that of an empty launch, measured beside it."""
    for case in cases:
        wall, launch = seconds(case, "heddle", "wall"), seconds(case, "heddle", "launch")
        if wall and launch and small(case):
            yield Value(wall / launch, name(case), f"{us(wall)}, L {us(launch)}")


def by_copy(found, cases, touched):
    """The rate of the bytes touched over C."""
    for case in cases:
        gpu, program = seconds(case, "heddle", "gpu"), seconds(case, "limit", "gpu")
        if gpu and found.copy_rate:
            at_copy = touched(case) / found.copy_rate
            yield Value(at_copy / gpu, name(case), us(gpu) + (f", limit program {us(program)}" if program else ""),
                        at_copy / program if program else None)


def beside(case, who, clock):
    """Heddle's time, measured in turn with that of `who` where that was done."""
    return seconds(case, who, "beside_" + clock) or seconds(case, "heddle", clock)


def over(cases, who, clock):
    """The time of `who` over Heddle's: a share of its rate."""
    for case in cases:
        mine, theirs = beside(case, who, clock), seconds(case, who, clock)
        if mine and theirs:
            yield Value(theirs / mine, name(case), f"{us(mine)}, {who} {us(theirs)}")


def over_limit(cases):
    """The time of the limit program over Heddle's."""
    for case in cases:
        mine, program, alone = (seconds(case, who, "gpu") for who in ("heddle", "limit", "alone"))
        if mine and program:
            details = f"{us(mine)}, limit program {us(program)}"
            if alone:
                details += f", {'gather' if case['operation'] == 'pack' else 'scatter'} alone {us(alone)}"
            rate, most = SECTORS_AT_512[case["operation"]]
            if case["stride"] == 512 and case["block"] <= most:
                details += f"; {case['sectors'] / mine / rate:.2f} of the design's {1e-12 * rate:.2f} TB/s of sectors"
            yield Value(program / mine, name(case), details)


def over_alone(cases):
    """The time of the gather or the scatter alone, which no pack or unpack is, over Heddle's."""
    for case in cases:
        mine, program, alone = (seconds(case, who, "gpu") for who in ("heddle", "limit", "alone"))
        if mine and alone:
            yield Value(alone / mine, name(case), f"{us(mine)}, alone {us(alone)}"
                        + (f", with the packed bytes {us(program)}" if program else ""),
                        alone / program if program else None)


def at_most(cases, clock="gpu"):
    for case in cases:
        if mine := seconds(case, "heddle", clock):
            program = seconds(case, "limit", clock)
            yield Value(1e6 * mine, name(case), f"limit program {us(program)}" if program else "",
                        1e6 * program if program else None)


def read_and_written(case):
    return case["sectors"] + case["bytes"]


def judge_small(found):
    small = [case for case in found.all if case["bytes"] <= SMALL and "strided" in case]
    def reads_host(case):
        return case["place"] == "pinned" and case["operation"] == "unpack"

    yield row("contiguous and strided layouts up to 16 KiB, on the device or to pinned host memory, wall", "L", 1.0,
              True,
              by_launch(small, lambda case: case["strided"] and not reads_host(case)))
    yield row("the same out of pinned host memory, which waits for a read over PCIe: at the limit of other layouts",
              "L",
              1.2, True, by_launch(small, lambda case: case["strided"] and reads_host(case)))
    yield row("every other layout up to 16 KiB, wall", "L", 1.2, True,
              by_launch(small, lambda case: not case["strided"]))


def judge_rates(found):
    large = [case for case in found.find(place="device") if case["bytes"] >= RATES_FROM and case.get("block")]
    yield row("strided, blocks of 128 B and more, 64 MiB and more", "C", 0.90, False,
              by_copy(found, (case for case in large if case["block"] >= 128), read_and_written))
    small_blocks = [case for case in large if 8 <= case["block"] <= 64]
    # A pack has to write as well as to gather, an unpack to read: the limit programs do both.
    for operation, letter, alone, program in (("pack", "G", "gather", "gathers, and writes as many bytes"),
                                              ("unpack", "S", "scatter", "scatters, and reads as many bytes")):
        cases = [case for case in small_blocks if case["operation"] == operation]
        yield row(f"strided, blocks of 8 to 64 B, 64 MiB and more: {operation}, over the program that {program} "
                  f"without "
                  "waiting", letter, 0.92, False, over_limit(cases))
        yield row(f"the same over the {alone} alone, which moves no packed bytes", letter, 0.92, False,
                  over_alone(cases))


def judge_shapes(found):
    shapes = found.find("halo-face-24", 256, place="device") + found.find("subarray-4d-half", 64, place="device") \
        + found.find("subarray-4d-most", 64, place="device")
    yield row("3-D halo face 24 B x 256 x 256, 4-D subarrays 32^4 and 48^4 of 64^4 doubles, over the hand-written "
              "kernel", "times its time", 1.05, True,
              (each._replace(value=1 / each.value) for each in over(shapes, "hand", "gpu")))
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
            values.append(Value((wall - moved) / launch, name(case), f"{us(wall)}, bytes at 0.8 C {us(moved)}"))
    yield row("26 halo faces, edges and corners of a 256^3 grid as one batch, wall above the sum of their bytes "
              "at 0.8 C", "L", 1.5, True, values)


def judge_reductions(found):
    # The source is read, the target read and written.
    yield row("sum of doubles into a strided target, 64 MiB and more, bytes touched", "C", 0.80, False,
              by_copy(found, (case for case in found.find(operation="reduce") if case["bytes"] >= RATES_FROM),
                      lambda case: 3 * case["bytes"]))


def rivalries(cases):
    """Heddle over the rival that it does worst against: GPU time on the device, wall time elsewhere."""
    for case in cases:
        clock = "gpu" if case["place"] == "device" and seconds(case, "heddle", "gpu") else "wall"
        found = []
        for who in RIVALS:
            mine, theirs = beside(case, who, clock), seconds(case, who, clock)
            if mine and theirs:
                found.append(Value(mine / theirs, name(case), f"{us(mine)}, {who} {us(theirs)} ({clock})"))
        if found:
            yield max(found)


def before(cases):
    """Heddle over an earlier one, in turn with it: GPU time on the device, wall time elsewhere."""
    for case in cases:
        clock = "gpu" if case["place"] == "device" else "wall"
        now, then = beside(case, "before", clock), seconds(case, "before", clock)
        if now and then:
            yield Value(now / then, name(case), f"{us(now)}, before {us(then)} ({clock})")


def judge(cases):
    found = Cases(cases)
    rows = [each for part in (judge_small, judge_rates, judge_shapes, judge_host, judge_batch, judge_reductions)
            for each in part(found)]
    rows.append(row("every case, over the fastest rival", "times its time", 1.05, True, rivalries(found.all)))
    if earlier := list(before(found.all)):
        mean = statistics.geometric_mean(each.value for each in earlier)
        rows.append(row(f"every case, over Heddle before (geometric mean {mean:.3f})", "times its time", 1.02, True,
                        earlier))
    limits = {"copy_bytes_per_second": found.copy_rate, "launch_seconds": found.launch,
              "launch_gpu_seconds": found.time("limit", 0, "launch", "device", "limit", "gpu"),
              "contiguous": [{"bytes": case["bytes"], "of_copy": read_and_written(case) / time / found.copy_rate}
                             for case in found.find("contiguous", operation="pack", place="device")
                             if case["bytes"] >= RATES_FROM and found.copy_rate
                             and (time := seconds(case, "copy", "gpu"))]}
    return rows, limits
