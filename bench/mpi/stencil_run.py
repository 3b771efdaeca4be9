# SPDX-License-Identifier: BSD-3-Clause
"""Stencil codes on device memory: bench/mpi/stencil, how it is built and judged (issue 34)."""
import os
import pathlib

import build
from build import newer
from commands import Failure, command

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "stencil3d"
HAND = 1.15       # times the hand-written exchange
FIELD = 1.0       # times a message, or a copy, for each field and side
OVERLAP = 1.0     # times a step that updates all cells when the halo has come
HOST = 1.0        # times copies through the host, as SHOC has them
STRUCT = 0.87     # times a copy for each member: paper 001 gains 13 to 43 %
FORMS = 3.0       # times the fastest of the four datatypes of one object, to commit


def sources(has_cuda):
    """Of the program; the kernels where there is CUDA to compile them."""
    own = HERE / "stencil"
    left_out = ("main", "options", "picture", "explosion")
    example = [path for path in sorted(EXAMPLE.glob("*.cpp")) if path.stem not in left_out]
    mine = [path for path in sorted(own.glob("*.cpp")) if path.stem != "without_cuda"]
    if has_cuda:
        return [*mine, *sorted(own.glob("*.cu")), *example, EXAMPLE / "kernels.cu", HERE / "by_hand.cpp"]
    return [*mine, own / "without_cuda.cpp", *example]


def has_cuda(arguments):
    if "libheddle-sim" in os.environ.get("HEDDLE_DEVICE", ""):
        return False
    try:
        build.nvcc_of(arguments.cuda)
    except Failure:
        return False
    return True


def build_program(arguments):
    """Compiles it where it is out of date. Its path."""
    if has_cuda(arguments):
        arguments.heddle = arguments.mpi
        return build.program(arguments, sources(True), "stencil",
                             [f"-I{arguments.mpi / 'include'}", "-DSTENCIL_KERNELS"],
                             [f"-L{arguments.mpi / 'lib'}", "-lmpi"])
    made = arguments.build / "stencil-without-cuda"
    headers = [*(HERE / "stencil").glob("*.hpp"), *EXAMPLE.glob("*.hpp"), HERE / "turns.hpp", HERE / "row.hpp"]
    if not newer(made, [*sources(False), *headers]):
        made.parent.mkdir(parents=True, exist_ok=True)
        command([arguments.mpi / "bin" / "mpicxx", "-std=c++20", "-O2", "-Wall", "-Wextra", *sources(False), "-o", made,
                 "-ldl"])
    return made


def told(case):
    return (f"{case['what']:10} {case['layout']:18} on {case['ranks']} {case['bytes']:>10} {case['who']:24}"
            f"{case['median']:10.1f} us" + ("" if case["right"] else "   WRONG DATA"))


def limits(case, beside):
    """What a time is judged by: (value, of what, limit). `beside`: of the others in turn with it."""
    median, what, who = case["median"], case["what"], case["who"]

    def ratio(other, name, limit):
        return [(median / beside[other], name, limit)] if other in beside else []

    if what == "exchange" and who in ("alltoallw", "messages"):
        return [*ratio("hand", f"times the hand-written exchange, {who}", HAND),
                *ratio("copy per field", f"times a copy per field, {who}", FIELD),
                *ratio("message per field", f"times a message per field, {who}", FIELD)]
    if what == "step" and who == "messages, overlapped":
        return ratio("messages, then all", "times a step without overlap", OVERLAP)
    if what == "stencil2d" and who == "types":
        return ratio("copies through the host", "times copies through the host", HOST)
    if what == "hacc" and who == "one type":
        return ratio("copy per field", "times a copy per field", STRUCT)
    return []


def commits(cases):
    """To commit each form of one object, beside the fastest."""
    found = [case for case in cases if case["what"] == "one object" and case["who"] == "commit"]
    fastest = min((case["median"] for case in found), default=1)
    return [(case, case["median"] / fastest, "times the fastest form, to commit", FORMS) for case in found]


def row(case, value, what, limit):
    return {"way": "default", "layout": f"{case['what']}, {case['layout']}, on {case['ranks']}", "size": case["bytes"],
            "what": what, "value": value, "limit": limit, "most": True, "met": value <= limit}


def judge(cases):
    """Rows as targets.row makes them."""
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
    rows = []
    for case in cases:
        beside = {each["who"]: each["median"] for each in cases
                  if all(each[key] == case[key] for key in ("what", "layout", "ranks", "bytes"))}
        rows += [row(case, *limit) for limit in limits(case, beside)]
    return rows + [row(*each) for each in commits(cases)]
