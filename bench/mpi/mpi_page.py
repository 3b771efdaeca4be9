# SPDX-License-Identifier: BSD-3-Clause
"""The page and the diagrams of what bench/mpi/run wrote."""
import matplotlib.pyplot as plt
import drawing
import targets
from tables import table

STYLE = {("default", "heddle"): ("Heddle", {"color": "#c0392b", "marker": "o", "linewidth": 2.2, "zorder": 5}),
         ("host", "heddle"): ("Heddle, host path", {"color": "#e59866", "marker": "o"}),
         ("value", "heddle"): ("Heddle, by value", {"color": "#7fb3d5", "marker": "o"}),
         ("default", "hand"): ("by hand", {"color": "#555555", "marker": "x", "linestyle": "--"}),
         ("default", "hand, read"): ("by hand, read", {"color": "#555555", "marker": "+", "linestyle": ":"}),
         ("default", "cudaMemcpy2D"): ("cudaMemcpy2D and host messages", {"color": "#2e86c1", "marker": "s", "linestyle": "--"}),
         ("default", "peer copy"): ("copy between the GPUs", {"color": "#111111", "linestyle": ":"})}


THROUGH_HOST = ("\"cudaMemcpy2D\" is what figure 6 of Jenkins et al. (IEEE TPDS 25, 2014) compares with, for blocks of 8, 32 and 128",
                "bytes, in turn as well: cudaMemcpy2D into pinned host memory, a message of that, and cudaMemcpy2D out of it; of",
                "one block, cudaMemcpy; up to 16 MiB, where CUDA can express the layout.")

OF_DEVICES = ("",
              "Half a ping-pong of `MPI_Send` and `MPI_Recv` of a derived datatype, both buffers on devices; medians.",
              "By hand: kernels for exactly that layout that pack into the other GPU's memory (CUDA IPC), a message of no",
              "bytes, and a kernel that unpacks; one block is copied to its place. That takes a receiver's address that its sender",
              "knows beforehand, as MPI's do not: \"hand, read\" is one block by hand where the receiver is told where it lies, and",
              "reads it there (nobody asks for that row; it is how far a message can come). MPI and the hand-written ones took",
              "turns of 20; everyone's data was checked first. \"host\" is `HEDDLE_PEER=shared`: chunks through host memory that",
              "both processes map; \"value\" is `HEDDLE_PEER=value`: chunks that UCX carries, as between hosts (no target names",
              "it). UCX is the distribution's, without CUDA. \"Of 64\": so many Isends and Irecvs one way, each of a buffer of its own,",
              "then an answer, and by hand so many kernels or copies and one message: the time of each, and so the rate of messages",
              "and the bandwidth (no target names them).")

OF_HOST_BUFFERS = ("# Messages of host buffers, where there is a GPU", "",
                   "Half a ping-pong of `MPI_Send` and `MPI_Recv` between two processes; medians. The memory is mapped, for of what lies on the",
                   "heap the driver is not asked. \"Told\": the datatype says that its buffers are the host's, and the driver is not asked",
                   "(`include/heddle_mpi.h`). \"Off\" is `MPIR_CVAR_ENABLE_GPU=0`; the other paths differ for device buffers alone, and show",
                   "how far runs of one thing do. Everything was checked.")


def series(cases, layout, way, who):
    return sorted((case["bytes"], case["median"]) for case in cases
                  if (case["layout"], case["way"], case["who"]) == (layout, way, who))


def draw(cases, layouts, path):
    """A column a layout: time above, bandwidth below."""
    figure, axes = plt.subplots(2, len(layouts), figsize=(4 * len(layouts), 6.4), squeeze=False)
    for column, layout in enumerate(layouts):
        for axis, rate in zip(axes[:, column], (False, True)):
            for (way, who), (name, style) in STYLE.items():
                if points := series(cases, layout, way, who):
                    axis.plot([size for size, _ in points], [1e-3 * size / us if rate else us for size, us in points],
                              label=name, markersize=4, **style)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_ylabel("GB/s" if rate else "us, half a ping-pong", fontsize=8)
            axis.tick_params(labelsize=7)
            axis.grid(alpha=0.3)
        axes[0][column].set_title(layout, fontsize=9)
        axes[1][column].set_xlabel("bytes", fontsize=8)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncol=5, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    drawing.save(figure, path, 70)


def judged_rows(rows):
    for row in rows:
        stock = targets.STOCK.get((row["way"], row["layout"], row["size"])) if row["what"] == "us" else None
        yield [row["layout"], str(row["size"]), row["way"], f"{row['value']:.3g} {row['what']}",
               f"at {'most' if row['most'] else 'least'} {row['limit']:g}", "met" if row["met"] else "**missed**",
               f"{stock} us" if stock else ""]


def reported(cases):
    """What users reported, a line a pattern, and what hand-written kernels and contiguous messages take beside it."""
    lines = ["## What users reported elsewhere", "",
             "`MPI_Alltoall` of the columns of a matrix of doubles in each process (open-mpi/ompi#8720), ghost cells anywhere in a field",
             "by `MPI_Type_indexed` (open-mpi/ompi#12202), every second double of device memory and as many of host memory as one type",
             "through `MPI_BOTTOM` (pmodels/mpich#6226); pmodels/mpich#5643 is `MPI_Allreduce`, above. By hand: kernels that pack and",
             "unpack, and contiguous messages of device memory, and of host memory, through this same MPI. What of one type lies in host",
             "memory a processor copies twice, and by hand once, where UCX copies from one process to another by itself (CMA). Every",
             "element was checked. Microseconds, of the slowest process.", ""]
    rows = []
    for case in cases:
        if case["who"] != "hand":
            hand = next(each for each in cases if each["who"] == "hand"
                        and all(each[key] == case[key] for key in ("pattern", "ranks")))
            rows.append([str(case["ranks"]), case["pattern"], str(case["bytes"])]
                        + [f"{each['median']:.1f} ({each['low']:.1f} to {each['high']:.1f})" for each in (case, hand)]
                        + [f"{case['median'] / hand['median']:.2f}"])
    return lines + table(["GPUs", "pattern", "bytes from each", "Heddle (10 to 90 %)", "by hand", "times by hand"], rows)


def write(data, path, source):
    """The page; returns the paths of its diagrams."""
    machine, cases = data["machine"], data["cases"]
    layouts = list(dict.fromkeys(case["layout"] for case in cases if not case["layout"].startswith("host")))
    drawings = [path.with_suffix(".png")] if layouts else []
    for each in drawings:
        draw(cases, layouts, each)
    title = "# Messages between two GPUs" if len(machine["gpus"]) > 1 else "# Messages between two processes that share a GPU"
    lines = [*((title, *OF_DEVICES) if layouts else OF_HOST_BUFFERS),
             *(THROUGH_HOST if any(case["who"] == "cudaMemcpy2D" for case in cases) else ()),
             f"Made by `bench/mpi/run` and `bench/plot` from [{source}]({source}).", "",
             f"- {machine['date']}; {len(machine['gpus'])} x {', '.join(sorted(set(machine['gpus'])))}, driver "
             f"{machine['driver']}; {machine['cores']} cores, Linux {machine['kernel']}; Heddle {machine['commit']}", "",
             "## Targets", ""]
    lines += table(["layout", "size", "path", "measured", "limit", "", "stock MPICH 4.0.2"], judged_rows(data["rows"]))
    for each in drawings:
        lines += ["## Time and bandwidth over size", "", f"![half a ping-pong]({each.name})", ""]
    lines += ["## All cases", ""]
    if drawings:
        lines += [f"[{source}]({source}) has them, a line each: medians, in microseconds.", ""]
    else:
        lines += ["Microseconds.", ""]
        lines += table(["layout", "size", "bytes", "path", "who", "median", "GB/s"],
                       [[case["layout"], str(case["size"]), str(case["bytes"]), case["way"], case["who"],
                         f"{case['median']:.2f}", f"{1e-3 * case['bytes'] / case['median']:.2f}"] for case in cases])
    if data["halo"]:
        lines += ["## Halo exchange", "", "26 neighbours, radius 3, 8 doubles a cell; every cell was checked. Microseconds, of the",
                  "slowest process.", ""]
        lines += table(["GPUs", "cells of each", "bytes from each", "who", "median", "10 to 90 %", "GB/s each"],
                       [[str(case["ranks"]), f"{case['size']}^3", str(case["bytes"]), case["who"], f"{case['median']:.1f}",
                         f"{case['low']:.1f} to {case['high']:.1f}", f"{1e-3 * case['bytes'] / case['median']:.1f}"]
                        for case in data["halo"]])
    if data.get("allreduce"):
        lines += ["## MPI_Allreduce", "", "Doubles, summed; everyone's result was checked. Microseconds, of the slowest process. \"On the host\":",
                  "on copies in host memory, as MPICH reduces device buffers (`MPIR_CVAR_GPU_REDUCE_ON_DEVICE=-1`); \"on the device\":",
                  "always there (0). By hand: one kernel of each process reads its part of everyone's vector over the links and",
                  "writes everyone's sum. NCCL: the machine's, ncclAllReduce and a wait for its stream; NCCL_NVLS_ENABLE (NVLink",
                  f"multicast): {data['nccl_nvls']}.", ""]
        lines += table(["GPUs", "bytes", "who", "median", "10 to 90 %", "GB/s"],
                       [[str(case["ranks"]), str(case["bytes"]), case["who"], f"{case['median']:.1f}",
                         f"{case['low']:.1f} to {case['high']:.1f}", f"{1e-3 * case['bytes'] / case['median']:.1f}"]
                        for case in data["allreduce"]])
    if data.get("reported"):
        lines += reported(data["reported"])
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return drawings
