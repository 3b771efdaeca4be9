# SPDX-License-Identifier: BSD-3-Clause
"""Run the chosen tests with MPICH's own runtests, a few directories side by side, and read its results.

Tests of threads run beside nothing else: they have more threads than there are cores already, and starve beside others
(threads/rma/multirma takes half a second alone, and took 99 s beside another directory).
"""

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass

import suite_build

LIST_NAME = "testlist.heddle"
HEARTBEAT_SECONDS = 60
# Nearly every test has as many ranks, which keep as many cores busy: on two, coll and comm took 165 s side by side, 143
# one after the other.
RANKS_AT_LEAST = 2
# A test that is expected to fail may do so by hanging: it need not hang long.
KNOWN_FAILURE_SECONDS = 20
# A library counts its own ranks against the cores, not those of the tests that run beside it: a waiting rank is to
# give its core away (README.gpu; "threads/pt2pt/threads", beside another test: 10 s, without it over 100).
YIELD = {"MPIR_CVAR_CH4_UCX_YIELD": "100"}
# More tests than this that run out of time are no chance: something hangs, and running them again tells nothing.
MOST_AGAIN = 12


@dataclass
class Result:
    status: str     # pass, fail or skip
    seconds: float
    output: str


def in_managed_memory(build, plugin):
    """The environment in which what a test's program gets from malloc is managed memory of a device of `plugin`."""
    preload = {"LD_PRELOAD": str(build / suite_build.PRELOAD)}
    device = {"HEDDLE_DEVICE": str(plugin)}
    done = subprocess.run([build / suite_build.CANARY], env={**os.environ, **device, **preload},
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise suite_build.SuiteError(f"memory from malloc is not managed under {preload['LD_PRELOAD']} with {plugin}")
    return {**device, "MPITEST_PROGRAM_WRAPPER": f"env LD_PRELOAD={preload['LD_PRELOAD']}"}


def run(source, build, prefix, tests, known, limit, jobs, environment):
    """Returns {key: [Result, ...]}: the lists name a few tests twice."""
    def run_folder(folder, folder_tests, again=""):
        suffix = ("-managed" if environment else "") + again
        return _run_folder(source, build, prefix, folder, folder_tests, known, limit, environment, suffix)

    folders = {}
    for test in tests:
        folders.setdefault(test.folder, []).append(test)
    results_dir = build / "results"
    results_dir.mkdir(exist_ok=True)
    # The most tests first, so that the last folder to end is a short one.
    order = sorted(folders, key=lambda name: -len(folders[name]))
    progress = _Progress({name: len(folders[name]) for name in order})
    results = {}
    lock = threading.Lock()

    def worker(queue):
        while True:
            with lock:
                if not queue:
                    return
                folder = queue.pop(0)
            progress.begin(folder)
            found = run_folder(folder, folders[folder])
            with lock:
                results.update(found)
            progress.end(folder, found)

    def run_folders(queue, at_a_time):
        workers = [threading.Thread(target=worker, args=(queue,), daemon=True) for _ in range(at_a_time)]
        for thread in workers:
            thread.start()
        for thread in workers:
            while thread.is_alive():
                thread.join(HEARTBEAT_SECONDS)
                progress.beat()

    run_folders([name for name in order if not _is_threaded(name)], max(1, jobs // RANKS_AT_LEAST))
    run_folders([name for name in order if _is_threaded(name)], 1)
    _run_again(run_folder, tests, known, results)
    return results


def _is_threaded(folder):
    return "threads" in folder.split("/")


def _run_again(run_folder, tests, known, results):
    """A time limit that was passed beside another folder's tests says little: such tests run once more, alone."""
    late = [test for test in tests if test.key not in known
            and any(r.status == "fail" and "TIMED OUT" in r.output for r in results.get(test.key, []))]
    if len(late) > MOST_AGAIN:
        return
    for test in late:
        found = run_folder(test.folder, [test], "-again")
        if test.key in found:
            results[test.key] = found[test.key]
            print(f"suite: {test.key} ran out of time; alone: {found[test.key][-1].status}", flush=True)


def _run_folder(source, build, prefix, folder, tests, known, limit, environment, suffix):
    name = folder.replace("/", "-") + suffix
    lines = [_with_limit(test, KNOWN_FAILURE_SECONDS if test.key in known else limit) for test in tests]
    (build / folder / LIST_NAME).write_text("\n".join(lines) + "\n")
    junit = build / "results" / f"{name}.xml"
    junit.unlink(missing_ok=True)
    environment = {**YIELD, **os.environ, **environment, "MPITEST_TIMEOUT": str(limit)}
    command = ["perl", str(build / "runtests"), f"-srcdir={source}", f"-tests={LIST_NAME}",
               f"-testdirs={folder}", f"-mpiexec={prefix}/bin/mpiexec", f"-junitfile={junit}"]
    with (build / "results" / f"{name}.log").open("w") as log:
        subprocess.run(command, cwd=build, env=environment, stdout=log, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL)
    return read_junit(junit) if junit.is_file() else {}


def _with_limit(test, limit):
    """The test's line with its own time limit, but none above ours."""
    words = test.line.split()
    if len(words) == 1:
        words.append("2")
    own = next((int(w.split("=")[1]) for w in words if re.fullmatch(r"timeLimit=\d+", w)), limit)
    return " ".join([w for w in words if not w.startswith("timeLimit=")] + [f"timeLimit={min(own, limit)}"])


_CASE = re.compile(r'<testcase name=" - \./(?P<name>[^"]*)"(?: time="(?P<time>[^"]*)")?>(?P<body>.*?)</testcase>',
                   re.DOTALL)


def read_junit(path):
    """runtests writes its JUnit file by hand, not always well-formed: so no XML parser here."""
    results = {}
    for case in _CASE.finditer(path.read_text(errors="replace")):
        body = case["body"]
        status = "fail" if "<failure" in body else "skip" if "<skipped" in body else "pass"
        output = "\n".join(line[3:] for line in body.splitlines() if line.startswith("## "))
        results.setdefault(" ".join(case["name"].split()), []).append(
            Result(status, float(case["time"] or 0), output))
    return results


class _Progress:
    def __init__(self, sizes):
        self.sizes = sizes
        self.done = 0
        self.running = {}
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def begin(self, folder):
        with self.lock:
            self.running[folder] = time.monotonic()

    def end(self, folder, found):
        with self.lock:
            self.done += 1
            seconds = time.monotonic() - self.running.pop(folder)
            failed = sum(r.status == "fail" for list_ in found.values() for r in list_)
            note = f", {failed} failed" if failed else ""
            print(f"suite: [{self.done}/{len(self.sizes)}] {folder}: {self.sizes[folder]} tests in "
                  f"{seconds:.0f} s{note}", flush=True)

    def beat(self):
        with self.lock:
            if self.running:
                busy = ", ".join(f"{f} ({self.sizes[f]} tests)" for f in self.running)
                print(f"suite: {time.monotonic() - self.start:.0f} s, still running {busy}", flush=True)
