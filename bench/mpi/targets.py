# SPDX-License-Identifier: BSD-3-Clause
"""The targets for messages of device buffers between two GPUs of a host (issue 4), and what was reached."""
KiB, MiB = 1 << 10, 1 << 20
HAND = 1.1        # times the hand-written exchange
PEER_BLOCKS = 0.8  # of the rate of a copy between the GPUs, for blocks of 128 B
PEER = 0.85       # the same, contiguous
HOST = 0.85       # of the bandwidth between host buffers
QUERY = 150       # ns
HALO = 1.15       # times the hand-written exchange

# Who is compared with as written by hand, and as what.
BY_HAND = {"hand": "times the hand-written exchange", "hand, read": "times the hand-written one whose receiver reads"}

# Microseconds at most: (path, layout, size).
LATENCIES = {
    ("default", "blocks-8-stride-512", KiB): 22, ("default", "blocks-8-stride-512", 64 * KiB): 26,
    ("default", "blocks-8-stride-512", MiB): 40, ("default", "blocks-8-stride-512", 16 * MiB): 320,
    ("default", "blocks-128-stride-512", MiB): 30, ("default", "blocks-128-stride-512", 16 * MiB): 110,
    ("default", "struct-diic", 10000): 35, ("default", "hindexed-1-to-15", 100000): 100,
    ("host", "blocks-8-stride-512", 64 * KiB): 40, ("host", "blocks-8-stride-512", MiB): 150,
}
# What stock MPICH 4.0.2 takes for them (BASELINES.md), where it ends.
STOCK = {("default", "blocks-8-stride-512", KiB): 44, ("default", "blocks-8-stride-512", 64 * KiB): 46920,
         ("default", "blocks-8-stride-512", MiB): 670911, ("default", "blocks-128-stride-512", MiB): 43637,
         ("default", "blocks-128-stride-512", 16 * MiB): 693162}


def median(cases, way, layout, size, who="heddle"):
    for case in cases:
        if (case["way"], case["layout"], case["size"], case["who"]) == (way, layout, size, who):
            return case["median"]
    return None


def row(way, layout, size, what, value, limit, most):
    return {"way": way, "layout": layout, "size": size, "what": what, "value": value, "limit": limit, "most": most,
            "met": value <= limit if most else value >= limit}


def shares(cases):
    """Rows that compare rates: (path, layout, size, of what, its time, share)."""
    sizes = sorted({case["size"] for case in cases if case["layout"] in ("contiguous", "host")})
    yield "default", "blocks-128-stride-512", 256 * MiB, "of a copy between the GPUs", \
        median(cases, "default", "blocks-128-stride-512", 256 * MiB, "peer copy"), PEER_BLOCKS
    yield "host", "blocks-8-stride-512", 16 * MiB, "of a ping-pong of host buffers", \
        median(cases, "host", "host", 16 * MiB), HOST
    for size in sizes:
        if size >= 64 * MiB:
            yield "default", "contiguous", size, "of a copy between the GPUs", \
                median(cases, "default", "contiguous", size, "peer copy"), PEER
            yield ("host", "contiguous", size, "of a ping-pong of host buffers",
                   median(cases, "host", "host", size), HOST)


def queries(cases):
    """What it costs a call with a host buffer that its memory is asked for: ns. Half a ping-pong has two calls."""
    for layout in ("host", "host, told"):
        with_gpu, without = (median(cases, way, layout, KiB) for way in ("default", "off"))
        if with_gpu and without:
            yield row("default", layout, KiB, "ns a call more than with MPIR_CVAR_ENABLE_GPU=0",
                      1e3 * (with_gpu - without) / 2,
                      QUERY, True)


def halos(cases):
    for case in cases:
        hand = next(each for each in cases if each["who"] == "hand" and each["ranks"] == case["ranks"])
        if case["who"] != "hand":
            yield row(f"{case['ranks']} GPUs", f"halo, {case['who']}", case["size"], "times the hand-written exchange",
                      case["median"] / hand["median"], HALO, True)


def judge(cases, halo):
    rows = [*queries(cases), *halos(halo)]
    for (way, layout, size), limit in LATENCIES.items():
        if mine := median(cases, way, layout, size):
            rows.append(row(way, layout, size, "us", mine, limit, True))
    for way, layout, size, what, time, share in shares(cases):
        mine = median(cases, way, layout, size)
        if mine and time:
            rows.append(row(way, layout, size, what, time / mine, share, False))
    for case in cases:
        if case["way"] == "default" and case["who"] in BY_HAND:
            mine = median(cases, "default", case["layout"], case["size"])
            rows.append(row("default", case["layout"], case["size"], BY_HAND[case["who"]], mine / case["median"], HAND,
                            True))
    return rows


def told(judged):
    return f"{'PASS' if judged['met'] else 'FAIL'}  {judged['way']:8} {judged['layout']:24} {judged['size']:>10}  " \
           f"{judged['value']:.4g} {judged['what']} (at {'most' if judged['most'] else 'least'} {judged['limit']})"
