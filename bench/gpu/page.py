# SPDX-License-Identifier: BSD-3-Clause
"""The page and the diagrams of what bench/gpu/run wrote."""
import matplotlib.pyplot as plt
import drawing
import rows
from tables import table

NAMES = {"heddle": "Heddle", "hand": "hand-written kernel", "copy": "cudaMemcpy2D/3DAsync",
         "cub": "cub::DeviceMemcpy::Batched", "limit": "limit program", "alone": "gather or scatter alone",
         "memcpy": "cudaMemcpy, contiguous",
         "yaksa": "yaksa", "tempi": "TEMPI"}
STYLE = {"heddle": {"color": "#c0392b", "marker": "o", "linewidth": 2.2, "zorder": 5},
         "hand": {"color": "#555555", "marker": "x", "linestyle": "--"},
         "copy": {"color": "#2471a3", "marker": "s"},
         "cub": {"color": "#7d8c2f", "marker": "^"},
         "limit": {"color": "#b7950b", "linestyle": ":"},
         "alone": {"color": "#d7bd5f", "linestyle": (0, (1, 4))},
         "memcpy": {"color": "#111111", "linestyle": ":"},
         "yaksa": {"color": "#884ea0", "marker": "v"},
         "tempi": {"color": "#117864", "marker": "d"}}
CLOCK = {"device": "gpu", "pinned": "wall"}


def series(cases, who, clock):
    """[(bytes, seconds)] in the order of size."""
    return sorted((case["bytes"], case["times"][who][clock]["median"]) for case in cases
                  if clock in case["times"].get(who, {}) and case["bytes"])


def draw_panel(axis, cases, clock):
    for who, style in STYLE.items():
        points = series(cases, who, clock)
        if points:
            axis.plot([size for size, _ in points], [1e-9 * size / time for size, time in points],
                      label=NAMES[who], markersize=4, **style)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_ylabel("GB/s packed", fontsize=8)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.3)


def draw(cases, layouts, path):
    """A row a layout: bandwidth of pack and unpack, on the device and with pinned memory."""
    panels = [(place, operation) for place in CLOCK for operation in ("pack", "unpack")
              if any(case["place"] == place for case in cases)]
    figure, axes = plt.subplots(len(layouts), len(panels), figsize=(3.75 * len(panels), 2.3 * len(layouts)),
                                squeeze=False)
    labels = {}
    for row, layout in zip(axes, layouts):
        for axis, (place, operation) in zip(row, panels):
            here = [case for case in cases if case["layout"] == layout and case["operation"] == operation
                    and case["place"] == place]
            if not here:
                axis.set_axis_off()
                continue
            draw_panel(axis, here, CLOCK[place])
            axis.set_title(f"{layout}: {operation}, {place}", fontsize=8)
            labels.update((label, handle) for handle, label in zip(*axis.get_legend_handles_labels()))
    for axis in axes[-1]:
        axis.set_xlabel("bytes packed", fontsize=8)
    figure.legend(list(labels.values()), list(labels), loc="upper center", ncol=6, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.45 / (2.3 * len(layouts))))
    drawing.save(figure, path, 65)


def verdicts(judged):
    lines = []
    for each in judged:
        if "met" not in each:
            lines.append([each["what"], "not measured", "", "", "", ""])
            continue
        worst = each["worst"][0]
        words = rows.verdict(each)
        if not each["met"]:
            words = f"**{words.split(' ')[0]}**" + words[len(words.split(' ')[0]):]
        lines.append([each["what"], f"{each['value']:.3g} {each['unit']}",
                      f"at {'most' if each['most'] else 'least'} {each['limit']:g}", words,
                      f"{worst['case']} {worst['details']}".strip(),
                      f"{worst['program']:.3g} {each['unit']}; Heddle {worst['of_program']:.2f} of it"
                      if "program" in worst else ""])
    return table(["target", "worst case", "limit", "", "which", "its limit program"], lines)


def misses(judged):
    """Tables of all cases that miss a target, where there are several."""
    lines = []
    for each in judged:
        if each["missed"] > 1:
            lines += [f"**{each['what']}**: at {'most' if each['most'] else 'least'} {each['limit']:g} {each['unit']}", ""]
            lines += table(["", "case", "", "limit program"],
                           [[f"{case['value']:.3g}", case["case"], case["details"],
                             f"{case['program']:.3g}; Heddle {case['of_program']:.2f} of it" if "program" in case else ""]
                            for case in each["worst"][:each["missed"]]])
    return ["## Cases that miss a target", "", *lines] if lines else []


def page(data, drawn, source):
    machine, limits = data["machine"], data["limits"]
    lines = ["# Pack, unpack and reduce on one GPU", "",
             "GPU time by events around four calls in a row (`heddle_transfer_on_stream`), divided by four, so that what",
             "the events themselves cost counts little; wall time of the blocking `heddle_transfer`; medians. Everyone's",
             "data was compared with what `heddle_pack` and `heddle_unpack` do on the host before it was timed. For the",
             "comparison with rivals and cudaMemcpy Heddle was measured again, in turn with each of them (not in a row with",
             "those that take more than 2 ms, and not at all with those that take more than 50). Heddle's kernels are started",
             "while the one before them ends (programmatic dependent launch), where the GPU can; so are the limit programs,",
             "which wait for it at their own end alone; the hand-written kernels are started as everyone does it. Of short",
             "ones in a row that saves 0.7 us each; what one alone takes is in the wall times. Up to some MiB, calls use the",
             "same buffers again and again, everyone's. Heddle remembers its last few copies by the copy engines of up to 256",
             "KiB (docs/design.md, section 5): one that it does not know yet takes 0.2 to 0.3 us more, with which 8 of 376 cases",
             "were above 1.05 of the fastest rival, by up to 1.07 (at a3a5d7b, which remembered none).",
             f"Made by `bench/gpu/run` and `bench/plot` from [{source}]({source}).", "",
             f"- {machine['date']}; {machine['gpu']}, driver {machine['driver']}, CUDA {machine['cuda_runtime']}; "
             f"{machine['cores']} cores, Linux {machine['kernel']}; Heddle {machine['heddle']}"
             + (f" ({machine['commit']})" if machine.get("commit") else "")]
    if limits["copy_bytes_per_second"]:
        lines.append(f"- C, a copy of 512 MiB on the device: {1e-12 * limits['copy_bytes_per_second']:.3f} TB/s read "
                     "plus write")
    if limits["launch_seconds"]:
        lines.append(f"- L, launch of an empty kernel and synchronize: {1e6 * limits['launch_seconds']:.2f} us (median "
                     "over the run; each case is compared with those beside it); the empty kernel by events, of four in a row, "
                     f"{1e6 * (limits['launch_gpu_seconds'] or 0):.2f} us")
    lines += [f"- {note}" for note in data.get("notes", [])]
    for each in limits.get("contiguous", []):
        lines.append(f"- cudaMemcpyAsync of {each['bytes'] >> 20} MiB on the device, measured as every case is: "
                     f"{each['of_copy']:.3f} C")
    lines += ["", "## Targets", "", *verdicts(data["rows"]),
              "The limit program does what the memory must do for the case, and nothing that waits: it touches the user's",
              "memory as the layout says, and moves as many contiguous bytes as are packed; what it writes depends on",
              "nothing that it read. It is tried in many shapes, and the fastest counts. Where it misses a target as well,",
              "that is beyond the hardware.", ""]
    lines += misses(data["rows"])
    if data["errors"]:
        lines += ["## Errors", "", *(f"- {each['name']}: {each['error']}" for each in data["errors"]), ""]
    if drawn:
        lines += ["## Bandwidth over size", "", f"![bandwidth over size]({drawn.name})", ""]
    lines += ["## All cases", "", f"[{source}]({source}) has them, a line each: medians, in seconds.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def write(data, path, source):
    """Writes the page and the diagram beside it; returns the paths of the diagrams."""
    sizes = {}
    for case in data["cases"]:
        if case["operation"] in ("pack", "unpack"):
            sizes.setdefault(case["layout"], set()).add(case["size"])
    layouts = [layout for layout, each in sizes.items() if len(each) > 1]
    drawn = path.with_suffix(".png") if layouts else None
    if drawn:
        draw(data["cases"], layouts, drawn)
    path.write_text(page(data, drawn, source), encoding="utf-8")
    return [drawn] if drawn else []
