// SPDX-License-Identifier: BSD-3-Clause
// Astaroth's halo exchange (paper 004, sections 4.6 and 5.9): eight doubles a cell in allocations
// of their own, radius 3, 26 neighbours. In turn: as one message a neighbour, as a message for each
// field and side, and by hand. Then whole steps, with and without overlap. The kernel is that of
// examples/stencil3d, a star of radius 3.
#include "../../../examples/stencil3d/step.hpp"
#include "cells.hpp"
#include "parts.hpp"
#include "rivals.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int kQuantities = 8, kRadius = 3;

stencil::Cells cells_of(const stencil::Box &box)
{
    return {box.extent(0), box.extent(1), box.extent(2)};
}

// A message for each field and side.
class MessagePerField {
public:
    MessagePerField(const stencil::Parts &parts, const stencil::Shape &shape,
                    const stencil::Quantities &quantities)
    {
        using Way = stencil::Types::Way;
        for (int which = 0; which < 2; ++which)
            for (int q = 0; q < quantities.count(); ++q)
                for (const auto *neighbours : {&parts.sources(), &parts.destinations()}) {
                    const bool is_in = neighbours == &parts.sources();
                    for (const auto &each : *neighbours)
                        for (const stencil::Side &side : each.sides) {
                            MPI_Datatype type = stencil::type_of_region(quantities, shape, side,
                                                                        is_in ? Way::in : Way::out);
                            MPI_Request &request = requests_[which].emplace_back();
                            const int tag = stencil::number_of(side) * kQuantities + q;
                            double *const at = quantities.at(which)[q];
                            if (is_in)
                                MPI_Recv_init(at, 1, type, each.part, tag, parts.comm(), &request);
                            else
                                MPI_Send_init(at, 1, type, each.part, tag, parts.comm(), &request);
                            MPI_Type_free(&type);
                        }
                }
    }
    MessagePerField(const MessagePerField &) = delete;
    ~MessagePerField()
    {
        for (auto &requests : requests_)
            for (MPI_Request &request : requests)
                MPI_Request_free(&request);
    }

    void exchange(int which)
    {
        std::vector<MPI_Request> &requests = requests_[which];
        const auto n = static_cast<int>(requests.size());
        std::vector<MPI_Status> statuses(requests.size());
        MPI_Startall(n, requests.data());
        MPI_Waitall(n, requests.data(), statuses.data());
    }

private:
    std::vector<MPI_Request> requests_[2];
};

class Astaroth {
public:
    Astaroth(Job &job, stencil::Device &device, int64_t edge)
        : job_(job),
          edge_(edge),
          shape_("corners", kRadius),
          partition_(stencil::Partition::of_cubes(edge, 1, job.ranks, shape_)),
          parts_(MPI_COMM_WORLD, partition_, shape_, kQuantities, false),
          device_(device),
          quantities_(device, stencil::layout_of(cells_of(box()), shape_), kQuantities),
          alltoallw_(stencil::by_alltoallw(parts_, shape_, quantities_)),
          messages_(stencil::by_messages(parts_, shape_, quantities_)),
          by_alltoallw_(quantities_, *alltoallw_, shape_),
          by_messages_(quantities_, *messages_, shape_),
          overlapping_(quantities_, *messages_, shape_),
          fields_(parts_, shape_, quantities_),
          hand_(halo_by_hand(parts_, shape_, quantities_)),
          copies_(halo_by_copies(parts_, shape_, quantities_))
    {
        const stencil::Shape star("faces", kRadius);
        device.prepare(make_update(star, quantities_.layout(), kQuantities), quantities_.layout());
    }

    void measure_exchange()
    {
        std::vector<Kind> kinds{
            {"alltoallw", [this] { by_alltoallw_.exchange(); }, {}},
            {"messages", [this] { by_messages_.exchange(); }, {}},
            {"message per field", [this] { fields_.exchange(0); }, {}},
        };
        if (hand_) {
            kinds.push_back({"hand", [this] { hand_->exchange(0); }, {}});
            kinds.push_back({"copy per field", [this] { copies_->exchange(0); }, {}});
        }
        for (Kind &kind : kinds)
            check_exchange(kind);
        take_turns(kinds);
        for (Kind &kind : kinds)
            check_exchange(kind);
        print(job_, "exchange", layout(), bytes(), kinds);
    }

    void measure_steps()
    {
        std::vector<Kind> kinds{
            {"alltoallw, then all", [this] { by_alltoallw_.without_overlap(); }, {}},
            {"messages, then all", [this] { by_messages_.without_overlap(); }, {}},
            {"messages, overlapped", [this] { overlapping_.with_overlap(); }, {}},
            {"no exchange", [this] { update(0); }, {}},
        };
        if (hand_)
            kinds.push_back({"hand, then all",
                             [this] {
                                 hand_->exchange(0);
                                 update(0);
                             },
                             {}});
        check_steps(kinds);
        take_turns(kinds);
        print(job_, "step", layout(), bytes(), kinds);
    }

private:
    stencil::Box box() const { return partition_.box(parts_.mine()); }
    std::string layout() const { return std::to_string(edge_) + "^3"; }
    int64_t bytes() const
    {
        int64_t cells = 0;
        for (const auto &each : parts_.destinations())
            cells += each.cells;
        return 8 * kQuantities * cells;
    }
    Block block(int which) const
    {
        Block block{};
        const stencil::Layout &layout = quantities_.layout();
        for (size_t axis = 0; axis < 3; ++axis) {
            block.whole[axis] = layout.whole[axis];
            block.before[axis] = layout.before[axis];
            block.cells[axis] = layout.cells[axis];
            block.first[axis] = box().begin[axis];
            block.grid[axis] = partition_.extents()[axis];
        }
        block.quantities = kQuantities;
        std::copy_n(quantities_.at(which), kQuantities, block.at);
        return block;
    }

    void update(int which)
    {
        device_.update(quantities_.layout().own(), quantities_.at(which),
                       quantities_.at(1 - which));
        device_.wait();
    }

    // Every cell, margins included.
    void check_exchange(Kind &kind)
    {
        fill_cells(device_, block(0), ++round_);
        MPI_Barrier(MPI_COMM_WORLD);
        kind.once();
        kind.right = kind.right && count_wrong(device_, block(0), round_) == 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    // All make the same of one state, but the one that exchanges nothing.
    void check_steps(std::vector<Kind> &kinds)
    {
        uint64_t first = 0;
        for (Kind &kind : kinds) {
            fill_cells(device_, block(0), 1);
            fill_cells(device_, block(1), 2);
            MPI_Barrier(MPI_COMM_WORLD);
            kind.once();
            const uint64_t sum = checksum(device_, block(1));
            first = &kind == kinds.data() ? sum : first;
            const bool is_alone = std::string(kind.who) == "no exchange";
            kind.right = (sum == first) != is_alone;
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

    Job &job_;
    const int64_t edge_;
    const stencil::Shape shape_;
    const stencil::Partition partition_;
    const stencil::Parts parts_;
    stencil::Device &device_;
    stencil::Quantities quantities_;
    std::unique_ptr<stencil::Exchange> alltoallw_, messages_;
    stencil::Stepper by_alltoallw_, by_messages_, overlapping_; // from state 0 on
    MessagePerField fields_;
    std::unique_ptr<Rival> hand_, copies_;
    int round_ = 0;
};

} // namespace

void measure_astaroth(Job &job, stencil::Device &device, int64_t edge)
{
    Astaroth astaroth(job, device, edge);
    astaroth.measure_exchange();
    astaroth.measure_steps();
}

} // namespace bench
