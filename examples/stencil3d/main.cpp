// SPDX-License-Identifier: BSD-3-Clause
//
// stencil3d: sound in a gas, on a periodic 3-D grid that is split among GPUs, one process each. It
// shows how far plain MPI goes: MPI places the parts of the grid (exchange.cpp), sends all
// quantities of a neighbour as one message out of device memory (Types), and moves them while the
// inner cells are updated (step.cpp). README.md says in which order to read.
//
// Exit status: 0 all right, 1 wrong cells, 2 wrong usage or no device; MPI's errors end the job.
#include "explosion.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "step.hpp"

#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace stencil;

namespace {

// How the job lies on nodes, where all have as many processes; otherwise all are one node's.
struct Job {
    int rank, ranks, turn; // among the processes of the node
    int nodes, gpus;
};

Job job_of(MPI_Comm comm)
{
    Job job{};
    MPI_Comm node;
    int here, range[2];
    MPI_Comm_rank(comm, &job.rank);
    MPI_Comm_size(comm, &job.ranks);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &job.turn);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    range[0] = here, range[1] = -here;
    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MIN, comm);
    job.gpus = range[0] == -range[1] ? here : job.ranks;
    job.nodes = job.ranks / job.gpus;
    return job;
}

Partition partition_of(const Options &options, const Job &job, const Shape &shape)
{
    return options.size == Cells{} ? Partition::of_cubes(options.each, job.nodes, job.gpus, shape)
                                   : Partition(options.size, job.nodes, job.gpus, shape);
}

std::unique_ptr<Device> device_of(const Options &options, int turn)
{
    if (options.memory == "host")
        return host_device();
    auto device = cuda_device(turn);
    return device ? std::move(device) : memory_device(turn);
}

std::unique_ptr<Exchange> exchange_of(const std::string &how, const Parts &parts,
                                      const Shape &shape, const Quantities &quantities)
{
    return how == "messages" ? by_messages(parts, shape, quantities)
                             : by_alltoallw(parts, shape, quantities);
}

int64_t everywhere(int64_t value, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm);
    return value;
}

// What all runs of the program have.
struct Setup {
    Shape shape;
    Partition partition;
    std::unique_ptr<Device> device; // before the parts: MPI looks at the links between devices
    Parts parts;
    Box box; // of this process's part
    Quantities quantities;

    Setup(const Options &options, const Job &job)
        : shape(shape_of(options)),
          partition(partition_of(options, job, shape)),
          device(device_of(options, job.turn)),
          parts(MPI_COMM_WORLD, partition, shape, options.quantities, options.reorders),
          box(partition.box(parts.mine())),
          quantities(*device, layout_of(layout_cells(), shape), options.quantities)
    {
        device->prepare(make_update(shape, quantities.layout(), options.quantities),
                        quantities.layout());
    }

private:
    Cells layout_cells() const { return {box.extent(0), box.extent(1), box.extent(2)}; }
};

void tell_setup(const Setup &setup, const Options &options, const Job &job)
{
    const double before = setup.parts.share_within_nodes(MPI_COMM_WORLD),
                 after = setup.parts.share_within_nodes(setup.parts.comm());
    int64_t cells = 0;
    for (const Neighbour &each : setup.parts.destinations())
        cells += each.cells;
    if (setup.parts.mine() != 0)
        return;
    const Cells &all = setup.partition.extents(), &nodes = setup.partition.nodes(),
                &gpus = setup.partition.gpus();
    std::printf("%" PRId64 " x %" PRId64 " x %" PRId64 " cells of %d quantities, on %" PRId64
                " x %" PRId64 " x %" PRId64 " nodes of %" PRId64 " x %" PRId64 " x %" PRId64
                " processes; %s\n",
                all[0], all[1], all[2], options.quantities, nodes[0], nodes[1], nodes[2], gpus[0],
                gpus[1], gpus[2], setup.device->name().c_str());
    std::printf("each exchanges %.2f MB with %zu neighbours in a step\n",
                1e-6 * 8 * static_cast<double>(cells * options.quantities),
                setup.parts.destinations().size());
    if (job.nodes > 1)
        std::printf("%.1f %% of the data stay on their node; without reorder %.1f %%\n",
                    100 * after, 100 * before);
}

double run(Setup &setup, Stepper &stepper, const Start &start, int steps, bool overlaps)
{
    fill(setup.quantities, stepper.now(), setup.box, start);
    MPI_Barrier(setup.parts.comm());
    const double begin = MPI_Wtime();
    for (int i = 0; i < steps; ++i)
        overlaps ? stepper.with_overlap() : stepper.without_overlap();
    double seconds = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, setup.parts.comm());
    return seconds;
}

int64_t check(const Setup &setup, int which, const Start &start, const Options &options)
{
    const Layout &layout = setup.quantities.layout();
    const Box own = layout.own();
    for (int i = 0; setup.parts.mine() == 0 && i < options.broken; ++i) {
        const double wrong = -1;
        setup.device->write(setup.quantities.at(which)[kDensity] +
                                layout.index(own.begin[0], own.begin[1], own.begin[2]) +
                                i % layout.cells[0],
                            &wrong, 1);
    }
    return count_wrong(setup.quantities, which, setup.box, setup.shape, start, options.steps);
}

// An explosion on every boundary between parts that the shape looks over; all cells checked.
int64_t test(Setup &setup, const Options &options)
{
    int64_t wrong = 0;
    int runs = 0;
    for (const char *how : {"messages", "alltoallw"}) {
        const auto exchange = exchange_of(how, setup.parts, setup.shape, setup.quantities);
        Stepper stepper(setup.quantities, *exchange, setup.shape);
        for (int i = 0; i < kSides; ++i) {
            if (i == kMiddle || setup.shape.halo(side_of(i)) == 0)
                continue;
            const Start start(setup.partition.extents(),
                              on_boundaries(setup.partition, side_of(i)));
            run(setup, stepper, start, options.steps, options.overlaps);
            wrong += check(setup, stepper.now(), start, options);
            ++runs;
        }
    }
    if (setup.parts.mine() == 0)
        std::printf("%d explosions, each on a boundary of every part\n", runs);
    return wrong;
}

int64_t simulate(Setup &setup, const Options &options)
{
    const auto exchange = exchange_of(options.exchange, setup.parts, setup.shape, setup.quantities);
    Stepper stepper(setup.quantities, *exchange, setup.shape);
    Explosion in_the_corner; // which all kinds of boundaries meet
    in_the_corner.radius = static_cast<double>(setup.partition.extents()[0]) / 8;
    const Start start(setup.partition.extents(), {in_the_corner});
    const double seconds = run(setup, stepper, start, options.steps, options.overlaps);
    if (setup.parts.mine() == 0 && options.steps > 0)
        std::printf("%d steps, %.1f us each\n", options.steps, 1e6 * seconds / options.steps);
    if (!options.picture.empty())
        write_picture(options.picture, setup.parts.comm(), setup.quantities, stepper.now(),
                      kDensity, setup.partition, setup.box);
    return options.checks ? check(setup, stepper.now(), start, options) : 0;
}

int run_program(const Options &options)
{
    const Job job = job_of(MPI_COMM_WORLD);
    Setup setup(options, job);
    tell_setup(setup, options, job);
    const int64_t wrong = everywhere(
        options.tests ? test(setup, options) : simulate(setup, options), setup.parts.comm());
    if (setup.parts.mine() == 0 && (options.tests || options.checks)) {
        if (wrong)
            std::printf("FAILED: %" PRId64 " wrong values\n", wrong);
        else
            std::printf("every value has the same bits as without neighbours: all right\n");
    }
    return wrong != 0;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, status = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        const Options options = parse(argc, argv);
        if (options.helps) {
            if (rank == 0)
                std::cout << usage;
        } else {
            status = run_program(options);
        }
    } catch (const UsageError &error) {
        if (rank == 0)
            std::cerr << "stencil3d: " << error.what() << "; see --help\n";
        status = 2;
    } catch (const std::invalid_argument &error) {
        if (rank == 0)
            std::cerr << "stencil3d: " << error.what() << '\n';
        status = 2;
    } catch (const std::exception &error) { // others may be in MPI already
        std::cerr << "stencil3d: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return status;
}
