# SPDX-License-Identifier: BSD-3-Clause
"""What the host benchmarks share: the MPI installs they compare, how to compile against one, the machine."""
import datetime
import os
import pathlib
import platform
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from commands import Failure, command, line_of, say  # noqa: E402 (bench/commands.py)

INSTALLS = {  # name: (option, what it is)
    "heddle": ("--heddle", "Heddle's install"),
    "yaksa": ("--stock-yaksa", "stock MPICH with yaksa"),
    "dataloop": ("--stock-dataloop", "stock MPICH with its dataloop engine"),
}


def add_installs(parser, names):
    for name in names:
        option, what = INSTALLS[name]
        parser.add_argument(option, dest=name, metavar="PREFIX", type=pathlib.Path,
                            help=f"install prefix of {what}")
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path, help="where programs are compiled "
                        "(default %(default)s)", default=pathlib.Path("/tmp/heddle-bench"))


def installs_of(arguments, names):
    """The installs that the command line names, as {name: prefix}; each must have the compiler wrappers."""
    found = {name: getattr(arguments, name) for name in names if getattr(arguments, name)}
    if not found:
        options = ", ".join(f"{INSTALLS[name][0]} PREFIX" for name in names)
        raise Failure(f"name at least one install: {options}")
    for name, prefix in found.items():
        for tool in ("mpicc", "mpiexec", "mpichversion"):
            if not os.access(prefix / "bin" / tool, os.X_OK):
                raise Failure(f"{prefix}/bin/{tool} is not there: {INSTALLS[name][0]} takes the prefix of an "
                              "installed MPI (maint/compare-stock builds the stock ones)")
    return found


def build(arguments, name, prefix, program, sources, flags=(), libraries=()):
    """Compiles a program of this folder against an install; returns its path."""
    folder = arguments.build / name
    folder.mkdir(parents=True, exist_ok=True)
    sources = [HERE / source for source in sources]
    # MPICH's mpicc with another compiler: mpicxx is missing where MPICH was built with --disable-cxx.
    language = ["-std=gnu11"]
    if sources[0].suffix == ".cpp":
        language = ["-cc=g++", "-std=c++20", "-DMPICH_SKIP_MPICXX"]
    command([prefix / "bin" / "mpicc", *language, "-O3", "-Wall", "-Wextra", *flags, *sources, "-o", folder / program,
             *libraries])
    return folder / program


def version(prefix):
    """What mpichversion says of an install: MPICH's version, and Heddle's where it is one."""
    lines = [" ".join(line.split()) for line in command([prefix / "bin" / "mpichversion"]).splitlines()]
    return "; ".join(dict.fromkeys(lines[:1] + [line for line in lines if "heddle version" in line.lower()]))


def machine():
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": line_of("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": line_of("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "compiler": command(["g++", "--version"]).splitlines()[0],
    }


def main(function, parser):
    """Runs `function(arguments)` and exits with what it returns; 2 where it could not measure."""
    arguments = parser.parse_args()
    try:
        sys.exit(function(arguments))
    except Failure as failure:
        say(f"{parser.prog}: {failure}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
