# SPDX-License-Identifier: BSD-3-Clause
"""The page and the diagram of what bench/copies/run wrote."""
import statistics

import matplotlib.pyplot as plt
import drawing
from tables import table

KiB, MiB = 1 << 10, 1 << 20
SHOWN = (KiB, 64 * KiB, MiB, 16 * MiB, 256 * MiB)  # lengths of the tables
HEAD = """\
What Pearson measures of a machine with Comm|Scope (paper 004, chapter 3). Heddle takes no part. Medians; each length's
data were checked before it was timed. "Explicit" is cudaMemcpyAsync, between GPUs cudaMemcpyPeerAsync. "Zero-copy" is
a kernel of the GPU that reads or writes the other memory. "Managed" is cudaMallocManaged's memory: by demand the one
that wants the data touches every page, the host by one thread; by prefetch somebody calls cudaMemPrefetchAsync.

"Gaps" are every other double of a buffer on each of two GPUs; their bytes do not count the gaps. "Read" and "write" are
one kernel on one of them, "packed and read" a kernel that packs at the source and one that reads the packed data.

Explicit copies and zero-copy are timed on the GPU, by events, behind a kernel that waits until all is queued. Up to
1 MiB four follow each other, and the time is divided by four. Copies of pageable memory and of managed memory are timed
by the clock: from the call to the end of a wait for the stream. Two directions at once begin and end by events between
two streams, which costs some microseconds. So their short copies say little. Each length uses the same buffers again
and again, so on one GPU short copies stay in its L2 cache."""


def words(size):
    return f"{size // MiB} MiB" if size >= MiB else f"{size // KiB} KiB"


def rate(series, size):
    """GB/s, of both ways together; None where this length was not measured."""
    if size not in series["bytes"]:
        return None
    return 1e-3 * series["ways"] * size / series["us"][series["bytes"].index(size)]


def number(value):
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def spread(series):
    """Between the first and the last tenth of the samples, as part of their median: the median of all lengths."""
    return statistics.median((high - low) / us for low, high, us in zip(series["low"], series["high"], series["us"]))


def found(copies, method, start, end, ways=1):
    return next((each for each in copies if (each["method"], each["from"], each["to"], each["ways"])
                 == (method, start, end, ways)), None)


def longest(*all_series):
    """The longest copy that all of them have."""
    return max(set.intersection(*(set(each["bytes"]) for each in all_series)))


def there_and_back(copies):
    """[(one way, the other)]: each couple once."""
    couples = []
    for each in copies:
        back = found(copies, each["method"], each["to"], each["from"])
        if each["ways"] == 1 and back and each["from"] != each["to"] and (back, each) not in couples:
            couples.append((each, back))
    return couples


def all_copies(copies):
    def ends(each):
        return f"{each['from']} {'and' if each['ways'] == 2 else 'to'} {each['to']}"

    lines = ["## Copies", "",
             f"Microseconds of {words(KiB)}, then GB/s; both directions at once are \"and\", and their GB/s are those",
             "of both together. The spread is what lies between the first and the last tenth of the samples, as part",
             "of their median.", ""]
    header = ["method", "", f"{words(KiB)}, us", *(f"{words(size)}, GB/s" for size in SHOWN[1:]), "spread"]
    return lines + table(header, [[each["method"], ends(each), f"{each['us'][0]:.1f}",
                                   *(number(rate(each, size)) for size in SHOWN[1:]), f"{100 * spread(each):.0f} %"]
                                  for each in copies])


def at_once(copies):
    rows = []
    for each in copies:
        there, back = (found(copies, each["method"], *ends) for ends in
                       ((each["from"], each["to"]), (each["to"], each["from"])))
        if each["ways"] == 2 and there and back:
            size = longest(each, there, back)
            rates = [rate(series, size) for series in (there, back, each)]
            rows.append([each["method"], f"{each['from']} and {each['to']}", words(size), *map(number, rates),
                         f"{rates[2] / max(rates[:2]):.2f}"])
    return ["## Both directions at once", "",
            "GB/s of the longest copy; \"gain\" is beside the faster direction alone.", "",
            *table(["method", "", "bytes", "there", "back", "at once", "gain"], rows)] if rows else []


def anisotropy(copies):
    rows = []
    for there, back in there_and_back(copies):
        ratios = {size: back["us"][back["bytes"].index(size)] / us for size, us in zip(there["bytes"], there["us"])
                  if size in back["bytes"]}
        farthest = max(ratios, key=lambda size: max(ratios[size], 1 / ratios[size]))
        rows.append([there["method"], f"{there['from']} to {there['to']}",
                     *(number(ratios.get(size)) for size in SHOWN), f"{ratios[farthest]:.3g} at {words(farthest)}"])
    return ["## Anisotropy", "", "The rate of this direction by that of the other one, alone.", "",
            *table(["method", "", *map(words, SHOWN), "farthest from 1"], rows)] if rows else []


def pairs(copies):
    """Where there are more than two GPUs, what the pairs differ by."""
    rows = []
    for method in dict.fromkeys(each["method"] for each in copies):
        of_pairs = [each for each in copies if each["method"] == method and each["ways"] == 1
                    and each["from"] != each["to"] and each["from"].startswith("GPU") and each["to"].startswith("GPU")]
        if len(of_pairs) <= 2:
            continue
        size = longest(*of_pairs)
        slow, fast = (choose(of_pairs, key=lambda each: rate(each, size)) for choose in (min, max))
        rows.append([method, words(size), *(f"{number(rate(each, size))}, {each['from']} to {each['to']}"
                                            for each in (slow, fast)), f"{rate(fast, size) / rate(slow, size):.2f}"])
    return ["## Pairs of GPUs", "", "GB/s of the longest copy.", "",
            *table(["method", "bytes", "slowest", "fastest", "ratio"], rows)] if rows else []


def locality(copies, gpus):
    """Where there are several nodes, what it costs to be far from a GPU."""
    rows = []
    near = {f"GPU {gpu['gpu']}": f"node {gpu['node']}" for gpu in gpus if gpu["node"] is not None}
    for each in copies:
        for gpu, host, other in ((each["to"], each["from"], "from"), (each["from"], each["to"], "to")):
            if not host.startswith("node") or near.get(gpu) in (None, host):
                continue
            beside = found(copies, *({**each, other: near[gpu]}[key] for key in ("method", "from", "to", "ways")))
            if beside:
                size = longest(each, beside)
                rates = [rate(series, size) for series in (beside, each)]
                rows.append([each["method"], f"{each['from']} {'and' if each['ways'] == 2 else 'to'} {each['to']}",
                             words(size), *map(number, rates), f"{rates[1] / rates[0]:.2f}"])
    return ["## Near and far memory", "", "GB/s of the longest copy.", "",
            *table(["method", "", "bytes", "near", "far", "ratio"], rows)] if rows else []


def by(items, row, column):
    """{row: {column: microseconds}}, by the names of two fields."""
    rows = {}
    for each in items:
        rows.setdefault(each[row], {})[each[column]] = each["us"]
    return rows


def calls_table(calls):
    rows = by(calls, "call", "threads")
    threads = sorted({each["threads"] for each in calls})
    if not rows:
        return []
    return ["## Calls by threads", "",
            "What a call takes, in microseconds, while so many threads make it at once, each on a stream of its own.",
            "\"Gain\" is how many times as many calls the most threads make in the same time as one thread.", "",
            *table(["call", *(f"{count} {'thread' if count == 1 else 'threads'}" for count in threads), "gain"],
                   [[call, *(number(times.get(count)) for count in threads),
                     f"{max(times) * times[min(times)] / (min(times) * times[max(times)]):.2f}"]
                    for call, times in rows.items()])]


def graphs_table(graphs):
    columns = by(graphs, "what", "kernels")
    if not columns:
        return []
    return ["## Graphs", "",
            "A chain of empty kernels, in microseconds: the calls alone, and with a wait for the stream.", "",
            *table(["kernels", *columns],
                   [[str(kernels), *(number(times.get(kernels)) for times in columns.values())]
                    for kernels in dict.fromkeys(each["kernels"] for each in graphs)])]


def finish(axis, title, xlabel, ylabel):
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(xlabel, fontsize=8)
    axis.set_ylabel(ylabel, fontsize=8)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.3)
    if axis.lines:
        axis.legend(fontsize=6)


def draw_copies(axis, title, copies, chosen):
    """A line for each series that is chosen."""
    for each in filter(chosen, copies):
        host = next((end for end in (each["from"], each["to"]) if end.startswith("node")), None)
        axis.plot(each["bytes"], [rate(each, size) for size in each["bytes"]], marker="o", markersize=3,
                  label=f"{each['method']}, {host}" if host else each["method"])
    finish(axis, title, "bytes each way", "GB/s")


def draw(data, path):
    """The first GPU stands for all of them, and the first pair."""
    copies = data["copies"]
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.4))
    first, second = "GPU 0", "GPU 1"
    draw_copies(axes[0][0], f"host to {first}", copies, lambda each:
                each["ways"] == 1 and each["to"] == first and not each["from"].startswith("GPU"))
    draw_copies(axes[0][1], f"{first} to host", copies, lambda each:
                each["ways"] == 1 and each["from"] == first and not each["to"].startswith("GPU"))
    draw_copies(axes[0][2], f"{first} to {second}", copies, lambda each:
                each["ways"] == 1 and (each["from"], each["to"]) == (first, second))
    draw_copies(axes[1][0], f"both directions, {first} and {second}", copies, lambda each:
                each["ways"] == 2 and (each["from"], each["to"]) == (first, second))
    for axis, title, xlabel, lines in ((axes[1][1], "a call", "threads", by(data["calls"], "call", "threads")),
                                       (axes[1][2], "a chain", "kernels", by(data["graphs"], "what", "kernels"))):
        for name, times in lines.items():
            axis.plot(*zip(*sorted(times.items())), marker="o", markersize=3, label=name)
        finish(axis, title, xlabel, "us")
    figure.tight_layout()
    drawing.save(figure, path, 70)


def write(data, path, source):
    """Returns the diagram's path."""
    machine, copies = data["machine"], data["copies"]
    picture = path.with_suffix(".png")
    draw(data, picture)
    lines = ["# Copies between the memories of a machine", "", HEAD, "",
             f"{machine['date']}, {' and '.join(machine['gpus']) or 'no GPU'}, driver {machine['driver']}, "
             f"{machine['cores']} cores of {machine['cpu']}, Linux {machine['kernel']}; Heddle's tree "
             f"{machine['commit']}. Made by `bench/copies/run --out FILE` and `bench/plot FILE` from "
             f"[{source}]({source}).", ""]
    lines += [f"- {text}" for text in data["notes"]]
    lines += [f"- **failed**: {text}" for text in data["errors"]]
    lines += ["", f"![Copies and calls]({picture.name})", ""]
    lines += all_copies(copies) if copies else []
    lines += at_once(copies) + anisotropy(copies) + pairs(copies) + locality(copies, data["gpus"])
    lines += calls_table(data["calls"]) + graphs_table(data["graphs"])
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return [picture]
