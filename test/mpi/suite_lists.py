# SPDX-License-Identifier: BSD-3-Clause
"""What there is to run: the suite's testlist files, and our own lists of known failures and slow tests."""

import re
from dataclasses import dataclass

# The suite itself, and what its configure generates: hundreds more runs of a few programs, with random datatypes
# and by each algorithm of a collective.
SUITE = ("testlist",)
GENERATED = ("testlist.dtp", "testlist.cvar")
# What it has for GPU buffers, and the programs that take any memory for them.
GPU = ("testlist.gpu", "testlist.dtp")
GPU_FOLDERS = ("pt2pt", "coll", "rma", "part")
# Whose programs hand memory from malloc to MPI.
MANAGED_FOLDERS = ("attr", "coll", "comm", "datatype", "io", "part", "pt2pt", "rma", "topo")
# They allocate 2 GiB twice, more than managed_malloc.cpp has.
NOT_MANAGED = ("io/bigtype", "io/i_bigtype")
# All memory that a program of the suite's dtpools has: of messages, collectives and windows.
ON_DEVICE = ("sendmem", "recvmem", "evenmemtype", "oddmemtype", "origmem", "targetmem", "resultmem")


@dataclass(frozen=True)
class Test:
    folder: str   # relative to the suite, "f77/attr"
    program: str
    key: str      # "f77/attr/typeattrf 1", with the arguments and variables of this run after the number
    line: str     # as it stands in the list


class Selection:
    """Directories ("f77") and single tests ("rma/fetch_and_op"), as named on the command line."""

    def __init__(self, names):
        self.names = [name.strip("/") for name in names]

    def top_folders(self):
        return sorted({name.split("/")[0] for name in self.names})

    def has(self, test):
        place = f"{test.folder}/{test.program}"
        return any(place == name or place.startswith(name + "/") or test.key == name for name in self.names)


def read_tests(source, build, selection, names=SUITE):
    tests = []
    for folder in selection.top_folders():
        _walk(source, build, folder, names, tests)
    unused = [n for n in selection.names if not any(Selection([n]).has(t) for t in tests)]
    if unused:
        raise SystemExit(f"run-suite: no test of the suite is called {', '.join(unused)}")
    return [test for test in tests if selection.has(test)]


def on_devices(tests):
    """The same runs with all their buffers on devices, unless they say themselves where theirs are."""
    moved = []
    for test in tests:
        line = test.line
        if "arg=-memtype=" not in line:
            line = " ".join([line, *(f"arg=-{name}=device" for name in ON_DEVICE)])
        moved.append(_with_line(test, line))
    return moved


def shortened(tests):
    """Of each test's 64 rounds of 16 MiB (threads/pt2pt/mt_*_huge, 20 s each), eight."""
    return [_with_line(test, re.sub(r"\barg=-iter=64\b", "arg=-iter=8", test.line))
            if test.program.endswith("_huge") else test for test in tests]


def _with_line(test, line):
    return Test(test.folder, test.program, _key(test.folder, line), line)


def _walk(source, build, folder, names, tests):
    for name in names:
        path = next((p for p in (build / folder / name, source / folder / name) if p.is_file()), None)
        if path is None:
            continue
        for line in path.read_text().splitlines():
            line = line.split("#")[0].strip()
            if not line or line.startswith("!"):
                continue
            first = line.split()[0]
            if (build / folder / first).is_dir():
                _walk(source, build, f"{folder}/{first}", names, tests)
            else:
                tests.append(Test(folder, first, _key(folder, line), line))


def _key(folder, line):
    words = line.split()
    settings = [word.split("=", 1) for word in words[2:] if "=" in word]
    extra = [v for k, v in settings if k == "arg"] + [v for k, v in settings if k == "env"]
    return " ".join([f"{folder}/{words[0]}", words[1] if len(words) > 1 else "2"] + extra)


def read_marks(path, tests):
    """{key: why} from lines "folder/test [processes [arguments]]  # why"; without processes, every run."""
    marks = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name, _, why = (part.strip() for part in line.partition("#"))
        if not name:
            continue
        if not why:
            raise SystemExit(f"{path}:{number}: {name} stands without a reason")
        words = name.split()
        for test in tests:
            if test.key.split()[:len(words)] == words:
                marks[test.key] = why
    return marks
