# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the GPU benchmark against an installed Heddle (or a build folder) and CUDA."""
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from commands import Failure, command, say  # noqa: E402 (bench/commands.py)

INCLUDE = HERE.parents[1] / "include"


def nvcc_of(cuda):
    found = shutil.which("nvcc", path=str(cuda / "bin")) if cuda else \
        shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not found:
        raise Failure("nvcc was not found: name CUDA's folder with --cuda DIR, or a built program with --program")
    return pathlib.Path(found)


def newer(path, sources):
    return path.exists() and path.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def library_of(prefix):
    """The folder of libheddle.so in an install prefix, or in a build folder."""
    for folder in ("lib", "lib64", ".libs", "."):
        if (prefix / folder / "libheddle.so").exists():
            return prefix / folder
    raise Failure(f"no libheddle.so in {prefix} (install Heddle there first)")


def add_options(parser, folder):
    parser.add_argument("--heddle", metavar="PREFIX", type=pathlib.Path,
                        help="install prefix, or build folder, of a Heddle with its CUDA plug-in")
    add_program(parser, folder)


def add_program(parser, folder):
    parser.add_argument("--program", metavar="FILE", type=pathlib.Path, help="a program that was built before")
    add_compiling(parser, folder)


def add_compiling(parser, folder):
    """Those that every compilation has."""
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path, default=folder,
                        help="where the program is compiled (default %(default)s)")
    parser.add_argument("--only-build", action="store_true", help="compile and end")
    parser.add_argument("--cuda", metavar="DIR", type=pathlib.Path, help="CUDA's folder (default: nvcc on the PATH)")
    parser.add_argument("--arch", default="sm_90", help="of the GPU (default %(default)s)")


def program(arguments, sources=None, name="gpu", compiling=(), linking=()):
    """Builds what changed of a program (of this folder's sources, if not told others, with more options for the
    compiler and the linker), which uses Heddle; returns its path."""
    if not arguments.heddle:
        raise Failure("name --heddle PREFIX or --program FILE; --help says more")
    library = library_of(arguments.heddle).resolve()
    return plain_program(arguments, sources or sorted([*HERE.glob("*.cu"), *HERE.glob("*.cpp")]), name, compiling,
                         [f"-L{library}", *linking, "-lheddle", "-lbenchmark", "-lpthread", "-ldl",
                          "-Xlinker", f"-rpath={library}", "-Xlinker", "-rpath=$ORIGIN"])


def plain_program(arguments, sources, name, compiling=(), linking=()):
    """The same without Heddle's library."""
    nvcc = nvcc_of(arguments.cuda)
    folder = arguments.build
    folder.mkdir(parents=True, exist_ok=True)
    folders = {HERE, *(folder for source in sources for folder in (source.parent, source.parent.parent))}
    headers = [*(header for each in folders for kind in ("*.hpp", "*.cuh") for header in each.glob(kind)),
               INCLUDE / "heddle.h"]
    flags = ["-std=c++20", "-O3", f"-arch={arguments.arch}", f"-I{INCLUDE}", "-Xcompiler", "-Wall,-Wextra", *compiling]
    objects = []
    for number, source in enumerate(sources, 1):
        objects.append(folder / (source.name + ".o"))
        if not newer(objects[-1], [source, *headers]):
            say(f"[{number}/{len(sources)}] compiling {source.name}")
            command([nvcc, *flags, "-c", source, "-o", objects[-1]])
    made = folder / name
    command([nvcc, f"-arch={arguments.arch}", "--cudart", "static", *objects, "-o", made, *linking])
    if not os.access(made, os.X_OK):
        raise Failure(f"{made} was not made")
    return made


def rival(arguments, name, prefix):
    """Builds the adapter to an engine that is installed, or checked out, elsewhere; returns its path."""
    folder = arguments.build
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"rival-{name}.so"
    say(f"compiling the adapter to {name}")
    includes = [f"-I{HERE}", f"-I{INCLUDE}", f"-I{prefix / 'include'}"]
    if name == "tempi":
        command([nvcc_of(arguments.cuda), "-std=c++17", "-O3", f"-arch={arguments.arch}", "-shared", "-Xcompiler",
                 "-fPIC",
                 *includes, HERE / "rivals" / "tempi.cu", "-o", made])
    elif name == "before":
        library = library_of(prefix)
        archive = library / "libheddle.a"
        if not archive.exists():
            raise Failure(f"no libheddle.a in {library}: configure that Heddle with --enable-static --with-pic")
        command(["c++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-shared", "-fPIC", f"-I{HERE}",
                 f"-I{prefix / 'include'}", HERE / "rivals" / "heddle.cpp", "-o", made, archive,
                 "-Wl,--exclude-libs,ALL,-Bsymbolic,--no-undefined", "-ldl", "-lpthread"])
        shutil.copy2(library / "libheddle-cuda.so", folder)
    else:
        library = prefix / "lib"
        command(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", *includes, HERE / "rivals" / "yaksa.c", "-o",
                 made,
                 f"-L{library}", "-lyaksa", f"-Wl,-rpath,{library}", "-Wl,-rpath,$ORIGIN"])
    return made
