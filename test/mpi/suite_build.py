# SPDX-License-Identifier: BSD-3-Clause
"""Configure and build MPICH's test suite, out of tree, for one installed MPI."""

import hashlib
import os
import shutil
import subprocess
import time


PRELOAD = "managed_malloc.so"
CANARY = "managed_canary"


class SuiteError(Exception):
    """A condition that the user has to mend; the text says how."""


def find_source(top):
    for folder in sorted(top.glob("_build/mpich-src*/test/mpi")):
        if (folder / "configure").is_file():
            return folder
    raise SuiteError("MPICH's suite was not found below _build: run maint/demo first (it grafts MPICH there), "
                     "or name the suite with --source=.../mpich-4.0.2/test/mpi")


def configure(source, build, prefix, cuda=None):
    """Configures unless the same suite was configured there for the same headers and wrappers; for buffers on GPUs, if
    CUDA's folder is told."""
    for tool in ("mpicc", "mpifort", "mpicxx", "mpiexec"):
        if not (prefix / "bin" / tool).exists():
            raise SuiteError(f"{prefix}/bin/{tool} is missing: the suite needs an MPI installed with C++ and "
                             "Fortran bindings (run maint/demo, or configure without --disable-fortran/--disable-cxx)")
    if not (source / "configure").is_file():
        raise SuiteError(f"{source} has no configure: is it MPICH's test/mpi folder?")
    identity = _identity(source, prefix) + f"{cuda or 'no CUDA'}\n"
    stamp = build / "configured-for"
    if stamp.is_file() and stamp.read_text() == identity:
        print(f"suite: configured already in {build}", flush=True)
        return

    print(f"suite: configuring in {build} (log: {build}/configure.log) ...", flush=True)
    start = time.monotonic()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    # The suite builds its Fortran 2008 tests only when it believes that MPICH's own configure calls it; it
    # then also takes the installed wrappers of --prefix for all its programs. Its dtpools library, though,
    # would look for MPICH's build tree unless MPICC names a wrapper.
    environment = dict(os.environ, FROM_MPICH="yes", MPICH_ENABLE_CXX="yes", MPICH_ENABLE_FC="yes",
                       nameserv_name="pmi", MPICC=str(prefix / "bin" / "mpicc"))
    mismatch = "-fallow-argument-mismatch"
    command = [str(source / "configure"), f"--prefix={prefix}", "--enable-fortran=all",
               "--enable-threads=multiple", "--disable-maintainer-mode",
               # A toolkit lying around would turn on tests that allocate on a device that may not be there.
               f"--with-cuda={cuda}" if cuda else "--without-cuda", "--without-ze", "--without-hip",
               "CC=gcc", "CXX=g++", "F77=gfortran", "FC=gfortran",
               f"WRAPPER_FFLAGS={mismatch}", f"WRAPPER_FCFLAGS={mismatch}"]
    _logged(command, build, build / "configure.log", environment, "configuring MPICH's suite")
    # The copy that 4.0.2 ships of this file does not compile; the suite's Makefile means to copy it from f90.
    shutil.copy(source / "f90/io/c2f902cio.c", build / "f08/io/c2f902cio.c")
    stamp.write_text(identity)
    print(f"suite: configured in {time.monotonic() - start:.0f} s", flush=True)


def make_programs(build, tests, jobs):
    """Builds the helper libraries, then every chosen test's program; one that does not build fails later."""
    start = time.monotonic()
    log = build / "make.log"
    log.write_text("")
    make = ["make", "-s", f"-j{jobs}"]
    # dtpools fills and checks megabytes element by element; the suite would compile it without optimization.
    for command, folder in ((make, "util"), (make + ["CFLAGS=-O2"], "dtpools")):
        _logged(command, build / folder, log, None, f"building the suite's {folder}")

    folders = {}
    for test in tests:
        folders.setdefault(test.folder, set()).add(test.program)
    for number, (folder, programs) in enumerate(sorted(folders.items()), 1):
        missing = sorted(p for p in programs if not (build / folder / p).exists())
        if missing:
            print(f"suite: [{number}/{len(folders)}] building {len(missing)} programs in {folder}", flush=True)
            with log.open("a") as out:
                for program in list(missing):
                    if "/" in program:
                        subdir, name = program.rsplit("/", 1)
                        subprocess.run(make + [name], cwd=build / folder / subdir, stdout=out,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
                        missing.remove(program)
                if missing:
                    subprocess.run(make + ["-k"] + missing, cwd=build / folder, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    print(f"suite: programs ready after {time.monotonic() - start:.0f} s", flush=True)


def make_preload(build, prefix, top):
    """What makes a program's malloc give managed memory (managed_malloc.cpp), and a program that tells whether it
    does."""
    sources = [top / "test/mpi/managed_malloc.cpp",
               *(top / "test/gpu" / f"{name}.cpp" for name in ("cuda_memory", "device_memory", "simulation"))]
    command = [str(prefix / "bin/mpicxx"), "-std=c++20", "-O1", "-fPIC", "-shared", "-o", str(build / PRELOAD),
               *map(str, sources), "-lheddle", "-ldl"]
    _logged(command, build, build / "make.log", None, f"building {PRELOAD}")
    command = [str(prefix / "bin/mpicc"), "-o", str(build / CANARY), str(top / "test/mpi/managed_canary.c"), "-lheddle"]
    _logged(command, build, build / "make.log", None, f"building {CANARY}")


def _identity(source, prefix):
    digest = hashlib.sha256()
    for path in (prefix / "include/mpi.h", prefix / "include/mpif.h", prefix / "bin/mpicc",
                 prefix / "bin/mpifort", source / "configure"):
        digest.update(path.read_bytes() if path.is_file() else b"absent")
    # A tree that was grafted anew is newer than what was made from it: make would configure again, in its own way.
    grafted = (source / "configure").stat().st_mtime_ns
    return f"{source}\n{prefix}\n{digest.hexdigest()}\n{grafted}\n"


def _logged(command, folder, log, environment, what):
    with log.open("a") as out:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL)
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SuiteError(f"{what} failed. The end of {log}:\n{tail}")
