# SPDX-License-Identifier: BSD-3-Clause
"""The gallery's page: each layout of examples/layouts.c as a loop and as a type, and what was measured of it."""
import json
import re
from typing import NamedTuple

PART = re.compile(r"^/\* ---- (?P<title>.+?); bench: (?P<bench>[\w-]+)\n(?P<about>.*?)\*/\n(?P<code>.*?)"
                  r"(?=^/\* (?:----|Irregular))", re.M | re.S)
SHARED = re.compile(r"^/\* Irregular places.*?(?=\n\n)", re.M | re.S)
HAS_SHARED = "place(i)"
LIKELY = 1 << 20  # bytes of the message whose figure is told in words

HEAD = """\
# Your loop, your type, what it costs

Ten layouts as programs have them. Each is a loop that packs by hand, and an MPI datatype that says the same. The
code is `examples/layouts.c`, which `maint/check` compiles and runs: loop and type give the same bytes.

With the type you send your array as it is, `MPI_Send(array, 1, type, ...)`, from host or from GPU memory. The
figures are of [Pack, unpack and reduce on one GPU](results/gpu.md): {machine}. They are the GPU's time to pack a
buffer of its own memory, medians. "By hand" is a kernel written for just this layout. "Copy" is
`cudaMemcpy2D` or what CUDA has for it. "yaksa" is the engine of stock MPICH. Host figures are of
[Host pack and unpack](results/host.md).
"""


class Layout(NamedTuple):
    title: str
    bench: str
    about: str
    code: str


def layouts(source):
    """The parts of examples/layouts.c."""
    text = source.read_text(encoding="utf-8")
    shared = SHARED.search(text)[0]
    for part in PART.finditer(text):
        about = " ".join(line.strip(" *") for line in part["about"].splitlines()).strip()
        code = part["code"].strip()
        yield Layout(part["title"], part["bench"], about, f"{shared}\n\n{code}" if HAS_SHARED in code else code)


def in_words(bytes_):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if bytes_ >= unit:
            return f"{bytes_ / unit:.3g} {name}"
    return f"{bytes_} bytes"


def microseconds(seconds):
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:.0f}"


def packs(gpu, bench):
    """[(bytes, {who: seconds})] of packing within the GPU's memory."""
    found = [(case["bytes"], {who: times["gpu"]["median"] for who, times in case["times"].items() if "gpu" in times})
             for case in gpu["cases"]
             if (case["layout"], case["operation"], case["place"]) == (bench, "pack", "device")]
    if not found:
        raise ValueError(f"bench/results/gpu.json has no figures of {bench}")
    return sorted(found, key=lambda each: each[0])


def cost(bench, figures):
    bytes_, times = min(figures, key=lambda each: abs(each[0] - LIKELY))
    said = f"{in_words(bytes_)} take {microseconds(times['heddle'])} us"
    if "hand" in times:
        said += f", a kernel written for it {microseconds(times['hand'])}"
    if "yaksa" in times:
        said += f", stock MPICH's engine {microseconds(times['yaksa'])}"
    return f'<p class="cost">{said}.</p>\n'


def table(figures):
    names = {"heddle": "Heddle", "hand": "by hand", "copy": "copy", "yaksa": "yaksa"}
    shown = [who for who in names if any(who in times for _, times in figures)]
    yield "| packed | " + " | ".join(f"{names[who]}, us" for who in shown) + " |"
    yield "|---" * (len(shown) + 1) + "|"
    for bytes_, times in figures:
        cells = [microseconds(times[who]) if who in times else "" for who in shown]
        yield f"| {in_words(bytes_)} | " + " | ".join(cells) + " |"
    yield ""


def on_host(host, bench):
    """Of packing as many bytes on the host; nothing where that was not measured."""
    cases = [case for case in host["cases"] if case["layout"] == bench and case["operation"] == "pack"]
    if cases:
        case = min(cases, key=lambda each: abs(each["bytes"] - LIKELY))
        yield (f"On a host, {in_words(case['bytes'])} take {microseconds(case['seconds']['heddle'])} us, the loop "
               f"{microseconds(case['hand'])}, stock's faster engine "
               f"{microseconds(min(case['seconds'][who] for who in ('yaksa', 'dataloop')))}.\n")


def page(top):
    gpu, host = (json.loads((top / f"bench/results/{name}.json").read_text(encoding="utf-8"))
                 for name in ("gpu", "host"))
    machine = gpu["machine"]
    yield HEAD.format(machine=f"{machine['gpus'][0]}, driver {machine['driver']}, {machine['date']}")
    found = list(layouts(top / "examples/layouts.c"))
    if len(found) != 10:
        raise ValueError(f"examples/layouts.c has {len(found)} parts, not 10")
    for layout in found:
        figures = packs(gpu, layout.bench)
        yield f"## {layout.title}\n\n{layout.about}\n"
        yield cost(layout.bench, figures)
        yield f"```c\n{layout.code}\n```\n"
        yield from table(figures)
        yield from on_host(host, layout.bench)
