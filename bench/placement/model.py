# SPDX-License-Identifier: BSD-3-Clause
"""A grid's messages, and machines that carry them: how long the busiest link takes."""
import collections
import itertools

CELLS, RADIUS, BYTES = 256, 3, 8 * 8  # along an edge; of the halo; of a cell


def edges(extents):
    """(from, to, bytes) of all messages of a periodic grid, numbered row by row: x is fastest."""
    nx, ny, nz = extents
    found = []
    for z, y, x in itertools.product(range(nz), range(ny), range(nx)):
        rank = (z * ny + y) * nx + x
        for dz, dy, dx in itertools.product((-1, 0, 1), repeat=3):
            other = ((z + dz) % nz * ny + (y + dy) % ny) * nx + (x + dx) % nx
            sides = abs(dx) + abs(dy) + abs(dz)
            if other != rank:
                found.append((rank, other, RADIUS ** sides * CELLS ** (3 - sides) * BYTES))
    return found


def share(found, slots, gpus):
    """Of the bytes that leave a GPU, those that stay on its node."""
    near = sum(size for a, b, size in found if slots[a] // gpus == slots[b] // gpus)
    return near / sum(size for _, _, size in found)


class Machine:
    """`routes(a, b, gpus)` names the links from slot a to slot b, each with its rate in bytes a microsecond."""

    def __init__(self, name, overhead, routes, between):
        self.name, self.overhead, self.routes, self.between = name, overhead, routes, between

    def rates(self, gpus, nodes):
        """As heddle_place takes them: of one pair alone, in units of the rate between nodes."""
        node = [min(rate for _, rate in self.routes(a, b, gpus)) / self.between if a != b else 1.0
                for a in range(gpus) for b in range(gpus)]
        return node * nodes

    def time(self, found, slots, gpus):
        """Microseconds. Messages of two ranks to each other are one in each direction."""
        load, rates = collections.Counter(), {}
        partners = collections.defaultdict(set)
        for a, b, size in found:
            partners[a].add(b)
            for link, rate in self.routes(slots[a], slots[b], gpus):
                load[link] += size
                rates[link] = rate
        busiest = max(load[link] / rates[link] for link in load)
        return busiest + self.overhead * max(map(len, partners.values()))


GB = 1e3  # a GB/s is so many bytes a microsecond


def summit(a, b, gpus):
    """Two sockets of three GPUs; the network hangs on the node."""
    node_a, node_b = a // gpus, b // gpus
    if node_a != node_b:
        return [(("out", node_a), 25 * GB), (("in", node_b), 25 * GB)]
    socket_a, socket_b = a % gpus // 3, b % gpus // 3
    if socket_a != socket_b:
        return [(("bus", node_a, socket_a), 32 * GB)]
    return [(("link", a, b), 50 * GB)]


def switched(cards):
    """GPUs on a switch; `cards` for each node."""
    def routes(a, b, gpus):
        node_a, node_b = a // gpus, b // gpus
        if node_a == node_b:
            return [(("nvlink out", a), 393 * GB), (("nvlink in", b), 393 * GB)]
        card_a, card_b = a % gpus * cards // gpus, b % gpus * cards // gpus
        return [(("out", node_a, card_a), 50 * GB), (("in", node_b, card_b), 50 * GB)]
    return routes


MACHINES = [Machine("Summit", 6, summit, 25 * GB), Machine("H100, a card a node", 7.7, switched(1), 50 * GB),
            Machine("H100, a card a GPU", 7.7, switched(6), 50 * GB)]
