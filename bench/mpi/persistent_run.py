# SPDX-License-Identifier: BSD-3-Clause
"""Persistent requests on device memory: bench/mpi/persistent, how it is judged (issue 31)."""
from commands import Failure
from targets import row

KiB, MiB = 1 << 10, 1 << 20
SHORT_US = 15    # a vector of 1 KiB each way
VECTOR = 0.8     # times the same by MPI_Isend, up to 1 MiB
HALO = {64: 0.85, 128: 0.9, 256: 1.0}  # times the same by MPI_Isend, by cells along an edge


def told(case):
    return (f"{case['what']:24} {case['bytes']:>10} {case['who']:22}{case['median']:10.1f} us"
            + ("" if case["right"] else "   WRONG DATA"))


def limits(case, isend):
    """What a case is judged by: (value, of what, limit)."""
    if case["what"] == "halo":
        yield case["median"] / isend, "times the halo by Isend", HALO[case["bytes"]]
    elif case["what"] != "contiguous":
        if case["bytes"] == KiB:
            yield case["median"], "us", SHORT_US
        if case["bytes"] <= MiB:
            yield case["median"] / isend, "times Isend and Irecv", VECTOR


def judge(cases):
    """Rows as targets.row makes them."""
    rows = []
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
        if case["who"] != "persistent":
            continue
        isend = next(each["median"] for each in cases if each["who"] == "isend"
                     and all(each[key] == case[key] for key in ("what", "bytes")))
        for value, what, limit in limits(case, isend):
            rows.append(row("default", f"persistent, {case['what']}", case["bytes"], what, value, limit, True))
    return rows
