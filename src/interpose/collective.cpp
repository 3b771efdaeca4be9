// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/collective.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::interpose {

namespace {

bool comes_before(Role role) { return role == Role::in || role == Role::both; }
bool comes_after(Role role) { return role == Role::out || role == Role::both; }

} // namespace

void Side::stage(std::vector<Data> blocks, Role role)
{
    blocks_ = std::move(blocks);
    is_staged_ = true;
    int64_t bytes = 0;
    for (const Data &each : blocks_)
        bytes += each.bytes();
    const void *const near = blocks_.front().near();
    bytes_ = bytes;
    staging_ = Staging(bytes, near, method_for(bytes, near));
    if (staging_.failed())
        return clear();
    int64_t place = 0;
    for (const Data &each : blocks_) {
        std::byte *const at = staging_.at() + place;
        if (each.bytes() > 0 && comes_before(role))
            before_.push_back(pack_move(each, at));
        if (each.bytes() > 0 && comes_after(role))
            after_.push_back(unpack_move(each, at, each.bytes()));
        place += each.bytes();
    }
}

void Side::clear()
{
    const auto bytes = static_cast<size_t>(std::max<int64_t>(bytes_, 1));
    if (staging_.failed()) {
        zeros_.assign(bytes, std::byte{});
        fail(MPI_ERR_NO_MEM);
    } else if (is_staged_ && !staging_.is_on_device()) {
        std::memset(staging_.at(), 0, bytes);
    }
}

void *Side::stage_twin(Data data, Role role, int64_t received)
{
    constexpr int64_t alignment = 64; // of staging memory; elements keep theirs
    const int64_t low = data.low(), high = data.high();
    const int64_t shift = ((low % alignment) + alignment) % alignment;
    is_staged_ = true;
    bytes_ = shift + high - low;
    staging_ = Staging(bytes_, data.near());
    clear(); // operators see gaps
    std::byte *const twin = at() + shift - low;
    if (staging_.failed())
        return twin;
    const heddle_side theirs = data.side(), ours{twin, data.count, data.shape->type(), 0};
    if (comes_before(role))
        before_.push_back({theirs, ours, data.bytes(), HEDDLE_OP_REPLACE});
    if (const int64_t bytes = received * data.shape->info().size; comes_after(role) && bytes > 0)
        after_.push_back({ours, theirs, bytes, HEDDLE_OP_REPLACE});
    blocks_.push_back(std::move(data));
    return twin;
}

bool is_to_be_staged(const One<int64_t> &block, Staged when)
{
    if (!device_is_open())
        return false;
    if (when == Staged::with_gaps) {
        const ShapePtr shape = shape_of(block.type);
        if (shape && !shape->info().contiguous)
            return true;
    }
    return device_data(block.buffer, block.count, block.type).has_value();
}

std::vector<Data> data_of(const std::vector<One<int64_t>> &blocks)
{
    std::vector<Data> all;
    for (const One<int64_t> &each : blocks) {
        // A block of nothing needs no type.
        const bool is_empty = each.count == 0 && each.type == MPI_DATATYPE_NULL;
        ShapePtr shape = shape_of(is_empty ? MPI_BYTE : each.type);
        if (!shape)
            return {};
        all.push_back({each.buffer, each.count, std::move(shape)});
    }
    return all;
}

FarTypes::~FarTypes()
{
    for (const MPI_Datatype type : types_)
        free_type_later(type);
}

MPI_Datatype FarTypes::at(int64_t place, MPI_Datatype dense)
{
    constexpr int one = 1;
    const MPI_Aint away = place;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (PMPI_Type_create_hindexed(1, &one, &away, dense, &type) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    types_.push_back(type);
    return PMPI_Type_commit(&type) == MPI_SUCCESS ? type : MPI_DATATYPE_NULL;
}

Group::Group(MPI_Comm comm) : comm_(comm)
{
    int between = 0;
    PMPI_Comm_test_inter(comm, &between);
    is_between_ = between != 0;
}

int Group::rank() const
{
    int rank = 0;
    PMPI_Comm_rank(comm_, &rank);
    return rank;
}

int Group::size() const
{
    int size = 0;
    PMPI_Comm_size(comm_, &size);
    return size;
}

int Group::peers() const
{
    int size = 0;
    if (!is_between_)
        return this->size();
    PMPI_Comm_remote_size(comm_, &size);
    return size;
}

Neighbours::Neighbours(MPI_Comm comm)
{
    int topology = MPI_UNDEFINED, weighted = 0, rank = 0;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &sources, &targets, &weighted);
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &sources);
        targets = sources;
    } else if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &sources);
        std::vector<int> sizes(static_cast<size_t>(sources)), are_periodic(sizes), place(sizes);
        PMPI_Cart_get(comm, sources, sizes.data(), are_periodic.data(), place.data());
        may_lack_some = std::count(are_periodic.begin(), are_periodic.end(), 0) > 0;
        targets = sources *= 2;
    }
}

} // namespace heddle::interpose
