// SPDX-License-Identifier: BSD-3-Clause
//
// stencil3d: sound in a gas, on a periodic 3-D grid that is split among GPUs, one process each. It
// shows how far plain MPI goes: MPI places the parts of the grid (exchange.cpp), sends all
// quantities of a neighbour as one message out of device memory (Types), and moves them while the
// inner cells are updated (step.cpp). README.md says in which order to read.
//
// Exit status: 0 all right, 1 wrong cells, 2 wrong usage or no device; MPI's errors end the job.
#include "explosion.hpp"
#include "picture.hpp"
#include "step.hpp"

#include <getopt.h>
#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace stencil;

namespace {

constexpr char kUsage[] =
    "usage: mpiexec -n N stencil3d [options]\n"
    "Sound in a gas on a periodic grid that is split among N processes, a GPU each.\n"
    "\n"
    "  --each N             cells of each process along each axis (default 32)\n"
    "  --size NX,NY,NZ      cells of the whole grid, in place of --each\n"
    "  --steps N            of time (default 20)\n"
    "  --quantities N       density, three velocities, and dyes (default 8; 4 to 16)\n"
    "  --shape WORD         a cell looks over faces, edges or corners (default faces)\n"
    "  --radius N           how far (default 3)\n"
    "  --radius-of X,Y,Z=N  how far in one direction, for example 1,0,0=2 (may be given again)\n"
    "  --memory WHERE       host, or device: a GPU's, or the simulated device's (default host)\n"
    "  --exchange HOW       messages, or alltoallw: one collective call (default messages)\n"
    "  --no-overlap         update all cells when the whole halo has come\n"
    "  --no-reorder         MPI must not move parts to other processes\n"
    "  --check              compute every part again without neighbours, and compare all bits\n"
    "  --test               --check with an explosion on every boundary in turn, both exchanges\n"
    "  --break N            spoil N values of part 0 before they are compared, to see it fail\n"
    "  --picture FILE.png   a slice of the density at the end\n"
    "  --help               this text\n";

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    int64_t each = 32;
    Cells size{}; // 0: by --each
    int steps = 20, quantities = 8, radius = 3, broken = 0;
    std::string shape = "faces", memory = "host", exchange = "messages", picture;
    struct OfDirection {
        Side side;
        int radius;
    };
    std::vector<OfDirection> radii;
    bool overlaps = true, reorders = true, checks = false, tests = false, helps = false;
};

// Whole numbers between commas.
template <class Number> std::array<Number, 3> three(const std::string &text, const char **rest)
{
    std::array<Number, 3> numbers{};
    const char *at = text.c_str();
    for (size_t i = 0; i < 3; ++i) {
        char *end;
        numbers[i] = static_cast<Number>(std::strtol(at, &end, 10));
        if (end == at || (i < 2 && *end != ','))
            throw UsageError("three numbers were expected: " + text);
        at = i < 2 ? end + 1 : end;
    }
    *rest = at;
    return numbers;
}

int number(const std::string &text, int least, int most)
{
    char *end;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < least || value > most)
        throw UsageError("a number from " + std::to_string(least) + " to " + std::to_string(most) +
                         " was expected: " + text);
    return static_cast<int>(value);
}

std::string word(const std::string &text, std::initializer_list<const char *> words)
{
    for (const char *each : words)
        if (text == each)
            return text;
    throw UsageError("not known: " + text);
}

Options::OfDirection radius_of(const std::string &text)
{
    const char *rest;
    const Side side = three<int>(text, &rest);
    for (const int component : side)
        if (std::abs(component) > 1)
            throw UsageError("a direction has components of -1, 0 and 1: " + text);
    if (*rest != '=' || number_of(side) == kMiddle)
        throw UsageError("a direction and a radius were expected: " + text);
    return {side, number(rest + 1, 0, 64)};
}

Cells size_of(const std::string &text)
{
    const char *rest;
    const Cells size = three<int64_t>(text, &rest);
    if (*rest != '\0' || *std::min_element(size.begin(), size.end()) < 1)
        throw UsageError("not a size: " + text);
    return size;
}

Options parse(int argc, char **argv)
{
    static const option known[] = {{"each", 1, nullptr, 'e'},       {"size", 1, nullptr, 'z'},
                                   {"steps", 1, nullptr, 's'},      {"quantities", 1, nullptr, 'q'},
                                   {"shape", 1, nullptr, 'S'},      {"radius", 1, nullptr, 'r'},
                                   {"radius-of", 1, nullptr, 'R'},  {"memory", 1, nullptr, 'm'},
                                   {"exchange", 1, nullptr, 'x'},   {"no-overlap", 0, nullptr, 'o'},
                                   {"no-reorder", 0, nullptr, 'n'}, {"check", 0, nullptr, 'c'},
                                   {"test", 0, nullptr, 't'},       {"picture", 1, nullptr, 'p'},
                                   {"break", 1, nullptr, 'b'},      {"help", 0, nullptr, 'h'},
                                   {nullptr, 0, nullptr, 0}};
    Options options;
    opterr = 0;
    for (int which; (which = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
        const std::string value = optarg ? optarg : "";
        switch (which) {
        case 'e':
            options.each = number(value, 1, 1 << 12);
            break;
        case 'z':
            options.size = size_of(value);
            break;
        case 's':
            options.steps = number(value, 0, 1 << 30);
            break;
        case 'q':
            options.quantities = number(value, kFewestQuantities, kMostQuantities);
            break;
        case 'S':
            options.shape = word(value, {"faces", "edges", "corners"});
            break;
        case 'r':
            options.radius = number(value, 1, 64);
            break;
        case 'R':
            options.radii.push_back(radius_of(value));
            break;
        case 'm':
            options.memory = word(value, {"host", "device"});
            break;
        case 'x':
            options.exchange = word(value, {"messages", "alltoallw"});
            break;
        case 'o':
            options.overlaps = false;
            break;
        case 'n':
            options.reorders = false;
            break;
        case 'c':
            options.checks = true;
            break;
        case 't':
            options.tests = true;
            break;
        case 'b':
            options.broken = number(value, 0, 1 << 20);
            break;
        case 'p':
            options.picture = value;
            break;
        case 'h':
            options.helps = true;
            break;
        default:
            throw UsageError(std::string("not known: ") + argv[optind - 1]);
        }
    }
    if (optind != argc)
        throw UsageError(std::string("not known: ") + argv[optind]);
    if (!options.picture.empty() && !has_pictures())
        throw UsageError("--picture: this program was built without libpng");
    return options;
}

Shape shape_of(const Options &options)
{
    Shape shape(options.shape, options.radius);
    for (const auto &each : options.radii)
        shape.set(each.side, each.radius);
    return shape;
}

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
    Parts parts;
    Box box; // of this process's part
    std::unique_ptr<Device> device;
    Quantities quantities;

    Setup(const Options &options, const Job &job)
        : shape(shape_of(options)),
          partition(partition_of(options, job, shape)),
          parts(MPI_COMM_WORLD, partition, shape, options.quantities, options.reorders),
          box(partition.box(parts.mine())),
          device(device_of(options, job.turn)),
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
                std::cout << kUsage;
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
