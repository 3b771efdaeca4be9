# SPDX-License-Identifier: BSD-3-Clause
"""From results to verdicts: pass, fail, known (a known failure that failed), fixed, skip, slow, lost."""

from collections import Counter, defaultdict
from dataclasses import dataclass

PASSED = ("pass", "fixed")
SKIPPED = ("known", "skip", "slow")
FAILED = ("fail", "lost")


@dataclass
class Verdict:
    key: str
    folder: str
    verdict: str
    seconds: float
    note: str


def judge(tests, results, known, slow):
    left = {key: list(found) for key, found in results.items()}
    verdicts = []
    for test in tests:
        if test.key in slow:
            verdicts.append(Verdict(test.key, test.folder, "slow", 0.0, slow[test.key]))
            continue
        found = left.get(test.key)
        if not found:
            # A program that did not build is reported without its number of processes.
            found = left.get(" ".join([f"{test.folder}/{test.program}"] + test.key.split()[2:]))
        if not found:
            verdicts.append(Verdict(test.key, test.folder, "lost", 0.0, "runtests reported nothing about it"))
            continue
        result = found.pop(0)
        verdict, note = result.status, result.output
        if test.key in known:
            verdict = {"fail": "known", "pass": "fixed"}.get(verdict, verdict)
            note = known[test.key]
        verdicts.append(Verdict(test.key, test.folder, verdict, result.seconds, note))
    return verdicts


def print_each(verdicts):
    """Those that did not fail: print_details has the others."""
    for row in verdicts:
        if row.verdict in PASSED:
            print(f"passed {row.seconds:7.2f} s  {row.key}")
        elif row.verdict in SKIPPED:
            print(f"skipped {row.key}: {' '.join(row.note.split())}")


def print_table(verdicts):
    folders = {}
    for verdict in verdicts:
        folders.setdefault(verdict.folder.split("/")[0], []).append(verdict)
    print(f"\n{'directory':<12}{'passed':>8}{'failed':>8}{'known':>8}{'skipped':>9}{'--full':>8}{'seconds':>9}")
    for folder, rows in sorted(folders.items()):
        count = Counter(row.verdict for row in rows)
        passed, failed = (sum(count[v] for v in kind) for kind in (PASSED, FAILED))
        print(f"{folder:<12}{passed:>8}{failed:>8}{count['known']:>8}{count['skip']:>9}{count['slow']:>8}"
              f"{sum(row.seconds for row in rows):>9.0f}")


def print_details(verdicts, build):
    for title, kind in (("known failures (test/mpi/known-failures)", "known"),
                        ("known failures that passed this time", "fixed"),
                        ("left to --full (test/mpi/slow-tests)", "slow")):
        programs = defaultdict(list)
        for verdict in verdicts:
            if verdict.verdict == kind:
                programs[verdict.key.split()[0], verdict.note].append(verdict)
        if programs:
            print(f"\n{title}:")
        for (program, note), runs in programs.items():
            times = f" ({len(runs)} runs)" if len(runs) > 1 else ""
            print(f"  {program}{times}  # {note}")
    for row in (v for v in verdicts if v.verdict in FAILED):
        print(f"\nFAILED {row.key} ({row.seconds:.0f} s)")
        for line in row.note.splitlines()[:12]:
            print(f"    {line}")
        print(f"    (all of it: {build}/results/{row.folder.replace('/', '-')}.xml)")


def print_totals(verdicts):
    """The closing line; returns the exit status."""
    count = Counter(verdict.verdict for verdict in verdicts)
    passed, failed, skipped = (sum(count[v] for v in kind) for kind in (PASSED, FAILED, SKIPPED))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
