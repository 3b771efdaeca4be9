# SPDX-License-Identifier: BSD-3-Clause
"""One-sided operations on device memory: bench/mpi/one_sided, how it is judged (issue 31)."""
from commands import Failure
from targets import row

KiB, MiB = 1 << 10, 1 << 20
SHORT_US = 20      # put and get of up to 64 KiB
MIDDLE_US = 26     # of 1 MiB
LONG = 1.35        # times a copy between the devices, of 16 MiB
VECTOR = 1.2       # times a message of the same vector
SUM = 2.5          # times a copy between the devices, from 1 MiB on
HALO = 1.15        # times the halo by Isend
VALUE = 1.15       # times a message, where devices do not reach each other


def told(case):
    return (f"{case['way']:8} {case['what']:24} {case['bytes']:>10} {case['who']:10}{case['median']:10.1f} us"
            + ("" if case["right"] else "   WRONG DATA"))


def limits(case, beside):
    """What a case is judged by: (value, of what, limit)."""
    who, bytes_, median = case["who"], case["bytes"], case["median"]
    if case["what"] == "halo":
        if who == "put" and case["way"] == "default":
            yield median / beside["isend"], "times the halo by Isend", HALO
    elif case["way"] == "value":
        if who in ("put", "get"):
            yield median / beside["message"], "times a message", VALUE
    elif who == "sum":
        if bytes_ >= MiB:
            yield median / beside["peer copy"], "times a copy between the devices", SUM
    elif who in ("put", "get") and case["what"] != "contiguous":
        yield median / beside["message"], "times a message", VECTOR
    elif who in ("put", "get") and bytes_ <= MiB:
        yield median, "us", SHORT_US if bytes_ <= 64 * KiB else MIDDLE_US
    elif who in ("put", "get"):
        yield median / beside["peer copy"], "times a copy between the devices", LONG


def judge(cases):
    """Rows as targets.row makes them."""
    rows = []
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
        beside = {each["who"]: each["median"] for each in cases
                  if all(each[key] == case[key] for key in ("way", "what", "bytes"))}
        for value, what, limit in limits(case, beside):
            rows.append(row(case["way"], f"{case['who']}, {case['what']}", case["bytes"], what, value, limit, True))
    return rows
