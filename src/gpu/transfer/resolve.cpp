// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/resolve.hpp"

#include "engine/predefined.hpp"
#include "engine/reduce.hpp"
#include "gpu/image/extents.hpp"

#include <algorithm>

namespace heddle::gpu {

namespace {

Error check_operator(const heddle_move &asked, Move &move)
{
    if (static_cast<unsigned>(asked.op) >= HEDDLE_OP_COUNT)
        return HEDDLE_ERR_OP;
    move.op = asked.op;
    if (asked.op == HEDDLE_OP_REPLACE || asked.op == HEDDLE_OP_NO_OP)
        return HEDDLE_SUCCESS;
    const heddle_predefined basic = asked.to.type->basic;
    const heddle_predefined source = asked.from.type->basic;
    if (basic == HEDDLE_MIXED || (source != basic && source != HEDDLE_BYTE) ||
        !reduce_kernel(asked.op, basic))
        return HEDDLE_ERR_OP;
    const int64_t element = predefined_info(basic).size;
    if (asked.bytes % element || asked.from.offset % element || asked.to.offset % element)
        return HEDDLE_ERR_RANGE;
    move.basic = basic;
    return HEDDLE_SUCCESS;
}

// A stretch of packed bytes in one place.
struct Piece {
    int64_t bytes;
    Place memory;
};

// Only absolute addresses can lead into several allocations.
bool in_one_piece(const End &end) { return end.buf || end.dense(); }

// The memory of an end in one piece: of what is moved where that is dense, else of all instances.
const Memory &memory_of(const End &end, int64_t bytes, MemoryMap &map)
{
    const char *const base = end.base();
    const Memory &first = map.at(base);
    if (first.kind != MemoryKind::pinned)
        return first;
    if (end.dense())
        return map.all(base, end.address(), static_cast<uint64_t>(bytes));
    const auto &b = end.type->bounds;
    const Reach reach = Reach{b.true_lb, b.true_ub}.repeated(end.count, end.plan->extent);
    return map.all(base, end.displaced(reach.low),
                   static_cast<uint64_t>(reach.high) - static_cast<uint64_t>(reach.low));
}

std::vector<Piece> pieces_of(const End &end, int64_t bytes, const Backend &backend, MemoryMap &map)
{
    if (in_one_piece(end))
        return {{bytes, memory_of(end, bytes, map)}};
    std::vector<Piece> pieces;
    visit_memory(end, bytes, map, [&](int64_t n, const Memory &m) {
        if (!pieces.empty() && pieces.back().memory.add(m, backend))
            pieces.back().bytes += n;
        else
            pieces.push_back({n, m});
        return true;
    });
    return pieces;
}

bool cuts_elements(const std::vector<Piece> &pieces, int64_t element)
{
    int64_t at = 0;
    return std::any_of(pieces.begin(), pieces.end() - 1,
                       [&](const Piece &piece) { return (at += piece.bytes) % element != 0; });
}

void choose_by_reach(Move &m, Devices *devices)
{
    const Place &from = m.from.memory;
    const Place &to = m.to.memory;
    const bool pageable = from.kind == MemoryKind::host || to.kind == MemoryKind::host;
    // The host reaches managed memory as well as a device does.
    m.on_device = from.kind == MemoryKind::device || to.kind == MemoryKind::device ||
                  (!pageable && (from.of_device() || to.of_device()));
    m.device = nullptr;
    if (!m.on_device)
        return;
    const Backend &backend = devices->backend();
    m.by_host = m.op != HEDDLE_OP_REPLACE && !backend.combines(m.op, m.basic);
    if (m.by_host)
        return;
    // Scattered accesses cost most across a link: so the device of the end that is not contiguous.
    const Place *order[] = {&from, &to};
    if (m.from.dense())
        std::swap(order[0], order[1]);
    const auto take = [&](int d) {
        if (from.is_reached_by(d, backend) && to.is_reached_by(d, backend))
            m.device = &devices->device(d);
        return m.device != nullptr;
    };
    for (const Place *place : order)
        if (place->kind == MemoryKind::managed ? take(std::max(place->device, 0))
                                               : place->any_device(take))
            return;
}

// The device that is best placed to do the move, by the memory that its ends name.
void choose_device(Move &m, Devices *devices)
{
    const Place &from = m.from.memory, &to = m.to.memory;
    if (m.op != HEDDLE_OP_REPLACE || !from.lies_on(to.device) || !to.lies_on(to.device))
        return choose_by_reach(m, devices);
    m.on_device = true; // as most are: nobody has to be asked
    m.device = &devices->device(to.device);
}

} // namespace

Move Move::part(int64_t at, int64_t length) const
{
    Move m = *this;
    m.from = from.after(at);
    m.to = to.after(at);
    m.bytes = length;
    return m;
}

int64_t Move::element() const { return op == HEDDLE_OP_REPLACE ? 1 : predefined_info(basic).size; }

int64_t Move::whole(int64_t length) const
{
    return std::max(length / element(), int64_t{1}) * element();
}

Error check_move(const heddle_move &asked, Move &move)
{
    if (asked.bytes < 0)
        return HEDDLE_ERR_ARG;
    if (const Error e = make_end(asked.from, asked.bytes, move.from))
        return e;
    if (const Error e = make_end(asked.to, asked.bytes, move.to))
        return e;
    move.bytes = asked.bytes;
    return check_operator(asked, move);
}

void place_move(Move &move, Devices *devices, MemoryMap &map)
{
    move.from.memory.be(memory_of(move.from, move.bytes, map));
    move.to.memory.be(memory_of(move.to, move.bytes, map));
    if (devices)
        choose_device(move, devices);
}

void resolve_last(Devices *devices, MemoryMap &map, Moves &moves)
{
    if (!devices || (in_one_piece(moves.back().from) && in_one_piece(moves.back().to)))
        return place_move(moves.back(), devices, map);
    Move move = moves.back();
    moves.pop_back();
    const Backend &backend = devices->backend();
    const std::vector<Piece> from = pieces_of(move.from, move.bytes, backend, map);
    const std::vector<Piece> to = pieces_of(move.to, move.bytes, backend, map);
    if (cuts_elements(from, move.element()) || cuts_elements(to, move.element())) {
        move.on_device = move.by_host = true; // which puts them together
        moves.push_back(move);
        return;
    }
    size_t i = 0, j = 0;
    int64_t in_from = 0, in_to = 0;
    for (int64_t at = 0; at < move.bytes;) {
        const int64_t n = std::min(from[i].bytes - in_from, to[j].bytes - in_to);
        Move part = move.part(at, n);
        part.from.memory = from[i].memory;
        part.to.memory = to[j].memory;
        choose_device(part, devices);
        moves.push_back(part);
        at += n;
        in_from += n;
        in_to += n;
        if (in_from == from[i].bytes)
            ++i, in_from = 0;
        if (in_to == to[j].bytes)
            ++j, in_to = 0;
    }
}

} // namespace heddle::gpu
