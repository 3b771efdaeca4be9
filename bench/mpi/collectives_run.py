# SPDX-License-Identifier: BSD-3-Clause
"""Collectives on device memory: bench/mpi/collectives, how it is judged (issue 31). bench/mpi/allreduce stands
beside it: by hand and by NCCL."""
from commands import Failure

KiB, MiB = 1 << 10, 1 << 20
SHORT_US = 16      # of up to 1 KiB; with an operator:
SHORT_SUM_US = 20
LONG = 1.15        # times the copies that a rank has to receive, of 16 MiB
STRIDED = 1.2      # times the contiguous one, from 1 MiB on
NCCL = 1.0         # times NCCL's sum, from 8 KiB on
HAND = 1.1         # times a sum by hand, from 32 KiB on
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter")


def told(case):
    return (f"{case['what']:15} {case['layout']:11} on {case['ranks']} {case['bytes']:>10} {case['who']:22}"
            f"{case['median']:10.1f} us" + ("" if case["right"] else "   WRONG DATA"))


def limits(case, cases):
    """What a direct collective is judged by: (value, of what, limit)."""
    median, bytes_ = case["median"], case["bytes"]

    def beside(who, layout):
        return next(each["median"] for each in cases
                    if each["who"] == who and each["layout"] == layout
                    and all(each[key] == case[key] for key in ("what", "bytes", "ranks")))

    if case["layout"] == "strided":
        if bytes_ >= MiB:
            yield median / beside("direct", "contiguous"), "times the contiguous one", STRIDED
    elif bytes_ <= KiB:
        yield median, "us", SHORT_SUM_US if case["what"] in REDUCTIONS else SHORT_US
    elif bytes_ >= 16 * MiB and case["what"] not in REDUCTIONS:
        yield median / beside("peer copy", "contiguous"), "times the copies that it receives", LONG


def row(case, value, what, limit):
    return {"way": "default", "layout": f"{case['what']}, {case['layout']}, on {case['ranks']}", "size": case["bytes"],
            "what": what, "value": value, "limit": limit, "most": True, "met": value <= limit}


def judge_sums(sums):
    """Those of bench/mpi/allreduce, where it was run."""
    for case in sums:
        if case["who"] != "heddle":
            continue
        beside = {each["who"]: each["median"] for each in sums
                  if all(each[key] == case[key] for key in ("bytes", "ranks"))}
        named = {"what": "allreduce", "layout": "contiguous", **case}
        if "nccl" in beside:
            yield row(named, case["median"] / beside["nccl"], "times NCCL", NCCL)
        if case["bytes"] >= 32 * KiB:
            yield row(named, case["median"] / beside["hand"], "times a sum by hand", HAND)


def judge(cases, sums):
    """Rows as targets.row makes them."""
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
    return [row(case, *limit) for case in cases if case["who"] == "direct" for limit in limits(case, cases)] + [
        *judge_sums(sums)]
