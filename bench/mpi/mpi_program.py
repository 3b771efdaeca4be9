# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of one file, bench/mpi/NAME/NAME.cpp: mpicxx compiles them, and no CUDA is needed for that."""
import pathlib

from build import newer
from commands import command

HERE = pathlib.Path(__file__).resolve().parent
MEMORY = [HERE.parents[1] / "test" / "gpu" / f"{name}.cpp" for name in ("cuda_memory", "device_memory", "simulation")]


def build_program(arguments, name):
    """Compiles it where it is out of date. Its path."""
    made = arguments.build / name
    sources = [HERE / name / f"{name}.cpp", *MEMORY]
    if not newer(made, sources):
        made.parent.mkdir(parents=True, exist_ok=True)
        command([arguments.mpi / "bin" / "mpicxx", "-std=c++20", "-O2", "-Wall", "-Wextra", *sources, "-o", made,
                 "-lheddle", "-ldl"])
    return made
