// SPDX-License-Identifier: BSD-3-Clause
//
// Times MPI_Pack, MPI_Unpack and the creation of types with whatever MPI it is compiled against,
// beside loops written by hand. Every result is compared with the hand-written loop's before it is
// timed. Times are of the processor, which what else runs on the machine disturbs least. `run`
// compiles this against several MPIs and compares them.
#include "layouts.hpp"

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::Case;
using bench::Layout;

bool all_right = true;

// Page-aligned memory in huge pages where there are any,
// so that runs do not differ by how pages fell.
class Memory {
public:
    explicit Memory(std::size_t bytes) : bytes_((bytes + page - 1) / page * page)
    {
        base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base_ == MAP_FAILED)
            throw std::bad_alloc();
        madvise(base_, bytes_, MADV_HUGEPAGE);
    }
    ~Memory() { munmap(base_, bytes_); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    void *get() const { return base_; }
    std::span<std::uint64_t> words() const
    {
        return {static_cast<std::uint64_t *>(base_), bytes_ / sizeof(std::uint64_t)};
    }

private:
    static constexpr std::size_t page = std::size_t{2} << 20;
    std::size_t bytes_;
    void *base_;
};

std::uint64_t pattern(std::size_t i) { return (i + 1) * 0x9e3779b97f4a7c15u; }

// A case with its buffers, checked.
class Bench {
public:
    explicit Bench(Case made)
        : case_(std::move(made)), user_(case_.span), packed_(case_.packed), other_(case_.packed)
    {
        auto words = user_.words();
        for (std::size_t i = 0; i < words.size(); i++)
            words[i] = pattern(i);
        error_ = check();
    }

    const std::string &error() const { return error_; }
    std::size_t packed_bytes() const { return case_.packed; }

    void mpi_pack() { last_ = pack_into(packed_); }
    void mpi_unpack() { last_ = unpack_from(packed_); }
    void hand_pack() { case_.hand_pack(user_.get(), packed_.get()); }
    void hand_unpack() { case_.hand_unpack(user_.get(), packed_.get()); }
    bool failed() const { return last_ != MPI_SUCCESS; }

private:
    int pack_into(const Memory &to)
    {
        int position = 0, bytes = static_cast<int>(case_.packed);
        int error = MPI_Pack(user_.get(), case_.count, case_.type.get(), to.get(), bytes, &position,
                             MPI_COMM_WORLD);
        return error == MPI_SUCCESS && position != bytes ? MPI_ERR_OTHER : error;
    }
    int unpack_from(const Memory &from)
    {
        int position = 0, bytes = static_cast<int>(case_.packed);
        int error = MPI_Unpack(from.get(), bytes, &position, user_.get(), case_.count,
                               case_.type.get(), MPI_COMM_WORLD);
        return error == MPI_SUCCESS && position != bytes ? MPI_ERR_OTHER : error;
    }
    bool same() const { return std::memcmp(packed_.get(), other_.get(), case_.packed) == 0; }
    static void invert(const Memory &memory)
    {
        for (std::uint64_t &each : memory.words())
            each = ~each;
    }

    // Compares MPI's pack with the loop's, and MPI's unpack of other data with the loop's pack of
    // it. Then the loop puts the old data back, and nothing outside the layout may have been
    // touched.
    std::string check()
    {
        case_.hand_pack(user_.get(), packed_.get());
        if (pack_into(other_) != MPI_SUCCESS)
            return "MPI_Pack failed, or packed another number of bytes";
        if (!same())
            return "MPI_Pack and the hand-written loop differ";
        invert(packed_);
        if (unpack_from(packed_) != MPI_SUCCESS)
            return "MPI_Unpack failed, or read another number of bytes";
        case_.hand_pack(user_.get(), other_.get());
        if (!same())
            return "MPI_Unpack and the hand-written loop differ";
        invert(packed_);
        case_.hand_unpack(user_.get(), packed_.get());
        auto words = user_.words();
        for (std::size_t i = 0; i < words.size(); i++)
            if (words[i] != pattern(i))
                return "MPI_Unpack wrote outside of the layout";
        return {};
    }

    Case case_;
    Memory user_, packed_, other_;
    int last_ = MPI_SUCCESS;
    std::string error_;
};

// Google Benchmark calls a benchmark several times over; the case of the last call is kept for the
// next. It holds a datatype, so it has to go before MPI_Finalize.
std::unique_ptr<Bench> kept;

Bench &bench_of(const Layout &layout, std::size_t bytes)
{
    static std::string name;
    std::string wanted = layout.name + '/' + std::to_string(bytes);
    if (!kept || name != wanted) {
        kept.reset(); // first: two of the large ones at once might not fit
        kept = std::make_unique<Bench>(layout.make(bytes));
        name = wanted;
    }
    return *kept;
}

void fail(benchmark::State &state, const std::string &why)
{
    all_right = false;
    std::fprintf(stderr, "datatypes: %s\n", why.c_str());
    state.SkipWithError(why.c_str());
}

void run_move(benchmark::State &state, const Layout &layout, std::size_t bytes,
              void (Bench::*operation)())
{
    Bench &bench = bench_of(layout, bytes);
    if (!bench.error().empty())
        return fail(state, layout.name + ", " + std::to_string(bytes) + " bytes: " + bench.error());
    for (auto _ : state) {
        (bench.*operation)();
        benchmark::ClobberMemory();
    }
    if (bench.failed())
        return fail(state, layout.name + ": an MPI call failed while it was timed");
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bench.packed_bytes()));
    state.counters["bytes"] = static_cast<double>(bench.packed_bytes());
    state.counters["strided"] = layout.strided;
}

double processor_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Times `make` (create and commit), not the freeing, in batches that drown the clock's own cost.
template <class Make> void run_create(benchmark::State &state, int batch, Make make)
{
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(batch));
    for (auto _ : state) {
        double begin = processor_seconds();
        for (MPI_Datatype &type : types) {
            BENCH_CHECK(make(&type));
            BENCH_CHECK(MPI_Type_commit(&type));
        }
        state.SetIterationTime((processor_seconds() - begin) / batch);
        for (MPI_Datatype &type : types)
            BENCH_CHECK(MPI_Type_free(&type));
    }
}

// Times `make` alone, or commit alone.
enum class Timed { make, commit };
template <class Make> void run_part(benchmark::State &state, Timed timed, Make make)
{
    for (auto _ : state) {
        MPI_Datatype type;
        const double begin = processor_seconds();
        BENCH_CHECK(make(&type));
        const double made = processor_seconds();
        BENCH_CHECK(MPI_Type_commit(&type));
        const double committed = processor_seconds();
        state.SetIterationTime(timed == Timed::make ? made - begin : committed - made);
        BENCH_CHECK(MPI_Type_free(&type));
    }
}

// A type made for one message: blocks of 1 to 6 doubles, as many apart.
struct Irregular {
    std::vector<int> lengths, displacements; // in doubles
    std::vector<MPI_Aint> bytes;
    std::vector<MPI_Datatype> members;

    explicit Irregular(int count)
    {
        std::mt19937 random(12345);
        int at = 0;
        for (int i = 0; i < count; i++) {
            at += 1 + static_cast<int>(random() % 6);
            lengths.push_back(1 + static_cast<int>(random() % 6));
            displacements.push_back(at);
            bytes.push_back(MPI_Aint{8} * at);
            members.push_back(i % 2 ? MPI_DOUBLE : MPI_LONG);
            at += lengths.back();
        }
    }
    int count() const { return static_cast<int>(lengths.size()); }
};

void register_irregular(int count)
{
    static std::vector<std::unique_ptr<const Irregular>> all;
    all.push_back(std::make_unique<const Irregular>(count));
    const Irregular *const of = all.back().get();
    const auto add = [&](const std::string &name, auto make) {
        for (const auto &[timed, suffix] :
             {std::pair(Timed::make, "/alone"), std::pair(Timed::commit, "/commit")})
            benchmark::RegisterBenchmark(
                ("create/" + name + '-' + std::to_string(count) + suffix).c_str(),
                [timed = timed, make](benchmark::State &state) { run_part(state, timed, make); })
                ->UseManualTime();
    };
    add("indexed", [of](MPI_Datatype *type) {
        return MPI_Type_indexed(of->count(), of->lengths.data(), of->displacements.data(),
                                MPI_DOUBLE, type);
    });
    add("hindexed", [of](MPI_Datatype *type) {
        return MPI_Type_create_hindexed(of->count(), of->lengths.data(), of->bytes.data(),
                                        MPI_DOUBLE, type);
    });
    add("indexed_block", [of](MPI_Datatype *type) {
        return MPI_Type_create_indexed_block(of->count(), 1, of->displacements.data(), MPI_DOUBLE,
                                             type);
    });
    add("hindexed_block", [of](MPI_Datatype *type) {
        return MPI_Type_create_hindexed_block(of->count(), 1, of->bytes.data(), MPI_DOUBLE, type);
    });
    add("struct", [of](MPI_Datatype *type) {
        return MPI_Type_create_struct(of->count(), of->lengths.data(), of->bytes.data(),
                                      of->members.data(), type);
    });
}

void register_all()
{
    struct Operation {
        const char *name;
        void (Bench::*run)();
    };
    static const Operation operations[] = {{"pack/mpi", &Bench::mpi_pack},
                                           {"pack/hand", &Bench::hand_pack},
                                           {"unpack/mpi", &Bench::mpi_unpack},
                                           {"unpack/hand", &Bench::hand_unpack}};
    static const std::vector<Layout> layouts = bench::layouts();
    for (const Layout &layout : layouts)
        for (std::size_t bytes : {1u << 10, 64u << 10, 1u << 20, 64u << 20}) {
            if (bytes < layout.least)
                continue;
            for (const Operation &operation : operations)
                benchmark::RegisterBenchmark(
                    (layout.name + '/' + std::to_string(bytes) + '/' + operation.name).c_str(),
                    [&layout, bytes, &operation](benchmark::State &state) {
                        run_move(state, layout, bytes, operation.run);
                    });
        }

    benchmark::RegisterBenchmark("create/vector", [](benchmark::State &state) {
        run_create(state, 100, [](MPI_Datatype *type) {
            return MPI_Type_vector(1000, 2, 64, MPI_DOUBLE, type);
        });
    })->UseManualTime();
    register_irregular(10000);
    register_irregular(100000);
    static const bench::Hindexed blocks = bench::irregular_blocks(10000);
    benchmark::RegisterBenchmark("create/hindexed-10000", [](benchmark::State &state) {
        run_create(state, 4, [](MPI_Datatype *type) {
            return MPI_Type_create_hindexed(static_cast<int>(blocks.lengths.size()),
                                            blocks.lengths.data(), blocks.displacements.data(),
                                            MPI_DOUBLE, type);
        });
    })->UseManualTime();
}

} // namespace

int main(int argc, char **argv)
{
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); // failing type constructors call it
    std::size_t ran = 0;
    try {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(version, &length);
        benchmark::AddCustomContext("mpi", std::string(version, std::strcspn(version, "\n")));
        benchmark::Initialize(&argc, argv);
        if (benchmark::ReportUnrecognizedArguments(argc, argv))
            all_right = false;
        else {
            register_all();
            ran = benchmark::RunSpecifiedBenchmarks();
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "datatypes: %s\n", error.what());
        all_right = false;
    }
    kept.reset();
    MPI_Finalize();
    return all_right && ran ? 0 : 1;
}
