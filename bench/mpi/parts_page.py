# SPDX-License-Identifier: BSD-3-Clause
"""The page of a part of bench/mpi/run that is measured alone: a diagram, the targets, all times."""
import matplotlib.pyplot as plt
import drawing
from tables import table

# Each part: its title, and what was done.
TITLES = {
    "one_sided": ("One-sided operations on device memory", """\
Lock, operation, unlock at rank 0, of memory of rank 1's device. Beside them: MPI_Ssend of the same data, and a copy
of as many bytes between the two devices. "halo": put and fence to 26 neighbours, and the same by Isend; its size is in
cells along an edge. "value" is `HEDDLE_PEER=value`, as between hosts."""),
    "dynamic": ("Types made for one message", """\
Blocks of 1 to 6 doubles, 1 to 6 doubles apart, others in each round: to create the type, to commit it, to send the
first message of it out of device memory (MPI_Ssend), and to send one more."""),
    "persistent": ("Persistent requests on device memory", """\
An exchange of two ranks that is the same every time: a vector each way, or a halo of 26 neighbours (its size is in
cells along an edge). "persistent" is MPI_Startall and MPI_Waitall; "neighbours" is MPI_Neighbor_alltoallw, or
MPI_Neighbor_alltoallw_init with MPI_Start and MPI_Wait."""),
    "collectives": ("Collectives on device memory", """\
"direct": straight between the buffers of one node's ranks; "messages": with `MPIR_CVAR_CH4_UCX_DIRECT_COLL=0`;
"nonblocking": the same two by MPI_Iallreduce and its kin with MPI_Wait; "persistent": by MPI_Allreduce_init and its
kin with MPI_Start and MPI_Wait;
"peer copy": a copy between two devices of as many bytes as a rank has to receive from one other."""),
    "stencil": ("Stencil codes on device memory", """\
"exchange": the halo of Astaroth (8 doubles a cell in allocations of their own, radius 3, 26 neighbours, a cube for each
process): one `MPI_Neighbor_alltoallw`, or a message for each neighbour, of datatypes; a message for each field and
side; by hand (a kernel packs into the neighbours' memory, another unpacks); a copy for each field and side
(`cudaMemcpy3DAsync` into the neighbour's memory). "step": the same and an update of all cells, by the kernel of
`examples/stencil3d`. "stencil2d": the edges of SHOC's Stencil2D, beside copies into host memory, messages and copies
back. "hacc": HACC's structure (paper 001, figure 7) into host memory, by MPI_Pack of one type and by a copy for each
member. "one object": paper 002's figure 6, to create and to commit one object's types; each is another object."""),
}
COLUMNS = 4
KINDS = 8
LABELS = ("way", "what", "layout", "ranks", "blocks", "bytes")


def part_of(data):
    return next((part for part in TITLES if part in data), None)


def labels(cases):
    return [label for label in LABELS if label in cases[0]]


def lines_of(cases):
    """{(labels but bytes): {who: [(bytes, microseconds)]}}, where there are several lengths."""
    found = {}
    for case in cases:
        name = ", ".join(str(case[label]) for label in labels(cases) if label not in ("bytes", "blocks"))
        found.setdefault(name, {}).setdefault(case["who"], []).append((case["bytes"], case["median"]))
    return {name: lines for name, lines in found.items() if all(len(points) > 2 for points in lines.values())}


def by_kinds(cases):
    """{kinds: {labels: {kind: microseconds}}}. One table, if its columns are not too many; otherwise what has the same
    kinds of times makes a table."""
    rows = {}
    for case in cases:
        rows.setdefault(tuple(str(case[label]) for label in labels(cases)), {})[case["who"]] = case["median"]
    kinds = tuple(dict.fromkeys(case["who"] for case in cases))
    if len(kinds) <= KINDS:
        return {kinds: rows}
    tables = {}
    for key, times in rows.items():
        tables.setdefault(tuple(times), {})[key] = times
    return tables


def draw(found, path):
    columns = min(len(found), COLUMNS)
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), squeeze=False)
    for axis in axes.flat[len(found):]:
        axis.axis("off")
    for axis, (name, lines) in zip(axes.flat, found.items()):
        for who, points in lines.items():
            axis.plot(*zip(*sorted(points)), label=who, marker="o", markersize=4)
        axis.set(title=name, xlabel="bytes", ylabel="us")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.tight_layout()
    drawing.save(figure, path, 64)


def write(data, path, source):
    """Returns the diagram's path."""
    part = part_of(data)
    title, told = TITLES[part]
    cases, machine = data[part], data["machine"]
    curves = lines_of(cases)
    pictures = [path.with_suffix(".png")] if curves else []
    for picture in pictures:
        draw(curves, picture)
    lines = [f"# {title}", "", told + " Microseconds, medians; everybody's data were checked.", "",
             f"{machine['date']}, {' and '.join(machine['gpus']) or 'no GPU'}, driver {machine['driver']}, "
             f"{machine['cores']} cores; Heddle {machine['commit']}. Made by `bench/mpi/run "
             f"--{part.replace('_', '-')}` and `bench/plot` from [{source}]({source}).",
             "", *(f"![{title}]({picture.name})\n" for picture in pictures), "## Targets", ""]
    lines += table(["", "bytes", "measured", "limit", ""],
                   [[f"{row['way']}: {row['layout']}", str(row["size"]), f"{row['value']:.4g} {row['what']}",
                     f"at most {row['limit']}", "met" if row["met"] else "**missed**"] for row in data["rows"]])
    lines += ["## All times", ""]
    for kinds, rows in by_kinds(cases).items():
        lines += table([*labels(cases), *kinds],
                       [[*key, *(f"{times[who]:.1f}" if who in times else "" for who in kinds)]
                        for key, times in rows.items()])
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return pictures
