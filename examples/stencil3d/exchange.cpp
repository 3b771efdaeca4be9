// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

#include <algorithm>

namespace stencil {

namespace {

int64_t halo_cells(const Box &part, const Shape &shape, const Side &side)
{
    int64_t cells = 1;
    for (int axis = 0; axis < 3; ++axis)
        cells *= side[static_cast<size_t>(axis)] ? shape.halo(side) : part.extent(axis);
    return cells;
}

void add(std::vector<Neighbour> &neighbours, int part, const Side &side, int64_t cells)
{
    auto found = std::find_if(neighbours.begin(), neighbours.end(),
                              [&](const Neighbour &each) { return each.part == part; });
    if (found == neighbours.end())
        found = neighbours.insert(neighbours.end(), {part, {}, 0});
    found->sides.push_back(side);
    found->cells += cells;
}

// Long messages begin first: short ones travel beside them.
void sort(std::vector<Neighbour> &neighbours)
{
    std::stable_sort(neighbours.begin(), neighbours.end(),
                     [](const Neighbour &a, const Neighbour &b) { return a.cells > b.cells; });
}

std::vector<int> parts_of(const std::vector<Neighbour> &neighbours)
{
    std::vector<int> parts;
    for (const Neighbour &each : neighbours)
        parts.push_back(each.part);
    return parts;
}

// Values, for they are what fits an int.
std::vector<int> weights_of(const std::vector<Neighbour> &neighbours, int quantities)
{
    std::vector<int> weights;
    for (const Neighbour &each : neighbours)
        weights.push_back(static_cast<int>(each.cells) * quantities);
    return weights;
}

} // namespace

Parts::Parts(MPI_Comm comm, const Partition &partition, const Shape &shape, int quantities,
             bool reorder)
{
    // What is said of a rank concerns the part of its number: whoever gets that rank has the part.
    MPI_Comm_rank(comm, &mine_);
    find_neighbours(partition, shape);
    const std::vector<int> from = parts_of(sources_), to = parts_of(destinations_),
                           weights_in = weights_of(sources_, quantities),
                           weights_out = weights_of(destinations_, quantities);
    MPI_Dist_graph_create_adjacent(comm, static_cast<int>(from.size()), from.data(),
                                   weights_in.data(), static_cast<int>(to.size()), to.data(),
                                   weights_out.data(), MPI_INFO_NULL, reorder, &comm_);
    MPI_Comm_rank(comm_, &mine_);
    find_neighbours(partition, shape);
}

void Parts::find_neighbours(const Partition &partition, const Shape &shape)
{
    sources_.clear();
    destinations_.clear();
    for (int i = 0; i < kSides; ++i) {
        const Side side = side_of(i);
        if (i == kMiddle || shape.halo(side) == 0)
            continue;
        // Who shares a side has the same extents along it.
        const int64_t cells = halo_cells(partition.box(mine_), shape, side);
        add(sources_, partition.neighbour(mine_, side), side, cells);
        add(destinations_, partition.neighbour(mine_, opposite(side)), side, cells);
    }
    sort(sources_);
    sort(destinations_);
}

double Parts::share_within_nodes(MPI_Comm comm) const
{
    int rank, ranks, node = 0;
    MPI_Comm on_node;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on_node);
    MPI_Allreduce(&rank, &node, 1, MPI_INT, MPI_MIN, on_node);
    MPI_Comm_free(&on_node);
    std::vector<int> nodes(static_cast<size_t>(ranks));
    MPI_Allgather(&node, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm);
    int64_t cells[2] = {0, 0}; // within nodes, all
    for (const Neighbour &each : destinations_) {
        if (each.part == mine_)
            continue;
        const bool is_near =
            nodes[static_cast<size_t>(each.part)] == nodes[static_cast<size_t>(mine_)];
        cells[0] += is_near ? each.cells : 0;
        cells[1] += each.cells;
    }
    MPI_Allreduce(MPI_IN_PLACE, cells, 2, MPI_INT64_T, MPI_SUM, comm_);
    return cells[1] ? static_cast<double>(cells[0]) / static_cast<double>(cells[1]) : 1;
}

Box halo_of(const Layout &layout, const Shape &shape, const Side &side)
{
    Box box = layout.own();
    for (size_t axis = 0; axis < 3; ++axis) {
        if (side[axis] > 0) {
            box.begin[axis] = box.end[axis];
            box.end[axis] += shape.halo(side);
        } else if (side[axis] < 0) {
            box.end[axis] = box.begin[axis];
            box.begin[axis] -= shape.halo(side);
        }
    }
    return box;
}

Box sent_for(const Layout &layout, const Shape &shape, const Side &side)
{
    Box box = layout.own();
    for (size_t axis = 0; axis < 3; ++axis) {
        if (side[axis] > 0)
            box.end[axis] = box.begin[axis] + shape.halo(side);
        if (side[axis] < 0)
            box.begin[axis] = box.end[axis] - shape.halo(side);
    }
    return box;
}

namespace {

MPI_Datatype type_of(const Layout &layout, const Box &box)
{
    // MPI's C order: the slowest axis first.
    int whole[3], extents[3], starts[3];
    for (size_t axis = 0; axis < 3; ++axis) {
        whole[2 - axis] = static_cast<int>(layout.whole[axis]);
        extents[2 - axis] = static_cast<int>(box.extent(static_cast<int>(axis)));
        starts[2 - axis] = static_cast<int>(box.begin[axis]);
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(3, whole, extents, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

} // namespace

MPI_Datatype type_of_region(const Quantities &quantities, const Shape &shape, const Side &side,
                            Types::Way way)
{
    const Layout &layout = quantities.layout();
    MPI_Datatype type = type_of(layout, way == Types::Way::out ? sent_for(layout, shape, side)
                                                               : halo_of(layout, shape, side));
    MPI_Type_commit(&type);
    return type;
}

namespace {

// All quantities of all sides that are shared with a neighbour.
MPI_Datatype type_of(const Neighbour &neighbour, const Shape &shape, const Quantities &quantities,
                     int which, Types::Way way)
{
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Aint> addresses;
    for (const Side &side : neighbour.sides) {
        const MPI_Datatype region = type_of_region(quantities, shape, side, way);
        for (int q = 0; q < quantities.count(); ++q) {
            MPI_Aint address;
            MPI_Get_address(quantities.at(which)[q], &address);
            addresses.push_back(address);
            types.push_back(region);
        }
    }
    const std::vector<int> ones(types.size(), 1);
    MPI_Datatype all;
    MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), addresses.data(),
                           types.data(), &all);
    MPI_Type_commit(&all);
    for (size_t i = 0; i < types.size(); i += static_cast<size_t>(quantities.count()))
        MPI_Type_free(&types[i]);
    return all;
}

} // namespace

Types::Types(const std::vector<Neighbour> &neighbours, const Shape &shape,
             const Quantities &quantities, int which, Way way)
{
    for (const Neighbour &each : neighbours)
        types_.push_back(type_of(each, shape, quantities, which, way));
}

Types::~Types()
{
    for (MPI_Datatype &type : types_)
        MPI_Type_free(&type);
}

namespace {

class Alltoallw final : public Exchange {
public:
    Alltoallw(const Parts &parts, const Shape &shape, const Quantities &quantities)
        : ones_(std::max(parts.sources().size(), parts.destinations().size()), 1),
          zeros_(ones_.size(), 0)
    {
        types_.reserve(4); // no request outlives them
        for (const int which : {0, 1}) {
            const Types &out = types_.emplace_back(parts.destinations(), shape, quantities, which,
                                                   Types::Way::out);
            const Types &in =
                types_.emplace_back(parts.sources(), shape, quantities, which, Types::Way::in);
            MPI_Neighbor_alltoallw_init(MPI_BOTTOM, ones_.data(), zeros_.data(), out.get().data(),
                                        MPI_BOTTOM, ones_.data(), zeros_.data(), in.get().data(),
                                        parts.comm(), MPI_INFO_NULL,
                                        &requests_[static_cast<size_t>(which)]);
        }
        for (const Neighbour &each : parts.sources())
            sides_.insert(sides_.end(), each.sides.begin(), each.sides.end());
    }
    ~Alltoallw() override
    {
        for (MPI_Request &request : requests_)
            MPI_Request_free(&request);
    }

    void start(int which) override
    {
        active_ = &requests_[static_cast<size_t>(which)];
        MPI_Start(active_);
    }
    std::vector<Side> wait_some() override
    {
        if (!active_)
            return {};
        MPI_Wait(active_, MPI_STATUS_IGNORE);
        active_ = nullptr;
        return sides_;
    }

private:
    std::vector<int> ones_;
    std::vector<MPI_Aint> zeros_;
    std::vector<Types> types_;
    std::array<MPI_Request, 2> requests_;
    MPI_Request *active_ = nullptr;
    std::vector<Side> sides_;
};

class Messages final : public Exchange {
public:
    Messages(const Parts &parts, const Shape &shape, const Quantities &quantities)
        : sources_(parts.sources())
    {
        for (const int which : {0, 1}) {
            std::vector<MPI_Request> &requests = requests_[static_cast<size_t>(which)];
            const Types in(parts.sources(), shape, quantities, which, Types::Way::in);
            const Types out(parts.destinations(), shape, quantities, which, Types::Way::out);
            for (size_t i = 0; i < parts.sources().size(); ++i)
                MPI_Recv_init(MPI_BOTTOM, 1, in.get()[i], parts.sources()[i].part, which,
                              parts.comm(), &requests.emplace_back());
            for (size_t i = 0; i < parts.destinations().size(); ++i)
                MPI_Send_init(MPI_BOTTOM, 1, out.get()[i], parts.destinations()[i].part, which,
                              parts.comm(), &requests.emplace_back());
        }
    }
    ~Messages() override
    {
        for (auto &requests : requests_)
            for (MPI_Request &request : requests)
                MPI_Request_free(&request);
    }

    void start(int which) override
    {
        active_ = &requests_[static_cast<size_t>(which)];
        MPI_Startall(static_cast<int>(active_->size()), active_->data());
    }
    std::vector<Side> wait_some() override
    {
        std::vector<Side> sides;
        std::vector<int> ended(active_->size());
        while (sides.empty()) {
            int count;
            MPI_Waitsome(static_cast<int>(active_->size()), active_->data(), &count, ended.data(),
                         MPI_STATUSES_IGNORE);
            if (count == MPI_UNDEFINED)
                break;
            for (size_t i = 0; i < static_cast<size_t>(count); ++i)
                if (const auto which = static_cast<size_t>(ended[i]); which < sources_.size())
                    sides.insert(sides.end(), sources_[which].sides.begin(),
                                 sources_[which].sides.end());
        }
        return sides;
    }

private:
    std::vector<Neighbour> sources_;
    std::array<std::vector<MPI_Request>, 2> requests_; // receives, then sends
    std::vector<MPI_Request> *active_ = nullptr;
};

} // namespace

std::unique_ptr<Exchange> by_alltoallw(const Parts &parts, const Shape &shape,
                                       const Quantities &quantities)
{
    return std::make_unique<Alltoallw>(parts, shape, quantities);
}

std::unique_ptr<Exchange> by_messages(const Parts &parts, const Shape &shape,
                                      const Quantities &quantities)
{
    return std::make_unique<Messages>(parts, shape, quantities);
}

} // namespace stencil
