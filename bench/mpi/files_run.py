# SPDX-License-Identifier: BSD-3-Clause
"""Files and device memory: bench/mpi/files, how they are judged."""
import os
import pathlib

from commands import Failure

IN_MEMORY = 0.8  # times a copy into pinned memory followed by a write, or the other way round
BY_HAND = {"write_at": "copy, then write", "read_at": "read, then copy"}


def is_in_memory(folder):
    """Whether its file system is a tmpfs."""
    best = ("", "")
    for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, place, kind, *_ = line.split()
        if os.path.commonpath([os.path.realpath(folder), place]) == place and len(place) > len(best[0]):
            best = (place, kind)
    return best[1] == "tmpfs"


def told(case):
    return (f"{case['call']:9} {case['folder']:12} {case['layout']:24} {case['bytes']:>10} {case['who']:18}"
            f"{case['median']:10.1f} us" + ("" if case["right"] else "   WRONG DATA"))


def judge(cases):
    """Rows as targets.row makes them; of disks, the slower of the two, no target speaks."""
    rows = []
    for case in cases:
        if not case["right"]:
            raise Failure(f"wrong data: {told(case)}")
        if case["who"] == "heddle" and case["in_memory"]:
            hand = next(each["median"] for each in cases if each["who"] == BY_HAND[case["call"]] and
                        all(each[key] == case[key] for key in ("folder", "call", "layout", "bytes")))
            value = case["median"] / hand
            rows.append({"way": case["call"], "layout": case["layout"], "size": case["bytes"],
                         "what": f"times \"{BY_HAND[case['call']]}\"", "value": value, "limit": IN_MEMORY, "most": True,
                         "met": value <= IN_MEMORY})
    return rows
