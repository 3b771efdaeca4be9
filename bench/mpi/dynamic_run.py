# SPDX-License-Identifier: BSD-3-Clause
"""Types made for one message: bench/mpi/dynamic, how it is judged (issue 31)."""
from commands import Failure
from targets import row

CREATE_NS = 6       # a block, of MPI_Type_indexed of 100 000 blocks
FIRST_US = 150      # more than a reused send: commit and first send of 100 000 blocks
MILLION_US = 10000  # all, with a million blocks


def told(case):
    return (f"{case['what']:10} {case['blocks']:>8} blocks {case['bytes']:>10} bytes {case['who']:12}"
            f"{case['median']:10.1f} us" + ("" if case["right"] else "   WRONG DATA"))


def judge(cases):
    """Rows as targets.row makes them. The targets speak of MPI_Type_indexed."""
    rows = []
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
        if case["what"] != "indexed" or case["who"] != "create":
            continue
        blocks, size = case["blocks"], case["bytes"]
        beside = {each["who"]: each["median"] for each in cases
                  if each["what"] == "indexed" and each["blocks"] == blocks}
        first = beside["commit"] + beside["first send"]
        if blocks == 100000:
            rows.append(row("default", "create", size, "ns a block", 1e3 * case["median"] / blocks, CREATE_NS, True))
            rows.append(row("default", "commit and first send", size, "us more than a reused send",
                            first - beside["reused send"], FIRST_US, True))
        elif blocks == 1000000:
            rows.append(row("default", "create, commit, first send", size, "us", case["median"] + first, MILLION_US,
                            True))
    return rows
