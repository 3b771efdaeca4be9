/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The soak: ranks do random MPI operations on memory of every kind, and look at every byte. All
 * ranks draw the same numbers from the seed, so that each knows what the others do. Each step is
 * drawn by itself: a failing one can be run alone.
 */
#include "resources.hpp"
#include "soak.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

using namespace soak;

namespace {

struct Run {
    uint64_t seed = 1;
    double seconds = 10;
    int64_t first = 0, end = -1; /* steps; -1: until the time is over */
    bool with_files = true, with_one_sided = true, with_threads = true, with_faults = false;
    bool with_a_victim = false;
    /* Beyond what is taken at the start; -1: as many as one likes. */
    int64_t descriptors = -1, memory = -1;
};

constexpr const char *usage =
    "usage: soak [--seed S] [--seconds T | --steps FIRST END] [--most BYTES] [--descriptors MORE] "
    "[--memory MORE_MIB] [--may-fail] [--faults] [--killed] [--host] [--no-files] [--no-one-sided] "
    "[--no-threads]\n";

Run parse(int argc, char **argv)
{
    Run run;
    const auto value = [&](int &i) {
        if (++i >= argc)
            throw std::runtime_error(std::string(argv[i - 1]) + " needs a number");
        return std::strtoll(argv[i], nullptr, 10);
    };
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--seed")
            run.seed = static_cast<uint64_t>(value(i));
        else if (word == "--seconds")
            run.seconds = static_cast<double>(value(i));
        else if (word == "--steps")
            run.first = value(i), run.end = value(i);
        else if (word == "--most")
            options.most = value(i);
        else if (word == "--descriptors")
            run.descriptors = value(i);
        else if (word == "--memory")
            run.memory = value(i);
        else if (word == "--killed")
            run.with_a_victim = true;
        else if (word == "--may-fail")
            options.may_fail = true;
        else if (word == "--faults")
            run.with_faults = true;
        else if (word == "--host")
            options.only_host = true;
        else if (word == "--no-files")
            run.with_files = false;
        else if (word == "--no-one-sided")
            run.with_one_sided = false;
        else if (word == "--no-threads")
            run.with_threads = false;
        else
            throw std::runtime_error(usage);
    }
    return run;
}

void operation(const Run &run, Rng &rng)
{
    const int64_t choice = rng.in(0, 99);
    if (choice < 55)
        exchange(rng);
    else if (choice < 80)
        collective(rng);
    else if (choice < 88 && run.with_one_sided)
        one_sided(rng);
    else if (choice < 92)
        partitioned(rng);
    else if (choice < 96 && run.with_files)
        files(rng);
    else if (run.with_threads)
        threads(rng);
}

/* Where a rank is when somebody ends the job, for it hangs. */
volatile sig_atomic_t current_step;
extern "C" void tell_step(int)
{
    char text[80];
    const int length =
        std::snprintf(text, sizeof text, "ended; the first fault is in step %d of this rank\n",
                      static_cast<int>(current_step));
    if (write(STDOUT_FILENO, text, static_cast<size_t>(length)) < 0)
        _exit(4);
    _exit(3);
}

void step(const Run &run, int64_t number)
{
    current_step = static_cast<sig_atomic_t>(number);
    Rng rng(Rng::mix(run.seed, static_cast<uint64_t>(number)));
    std::optional<Fault> fault;
    if (run.with_faults && rng.percent(60))
        fault.emplace(rng);
    operation(run, rng);
}

/* The first rank's clock decides, and the others hear of it. */
bool goes_on(const Run &run, int64_t number, std::chrono::steady_clock::time_point begun)
{
    if (run.end >= 0)
        return number < run.end;
    int going = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() <
                run.seconds;
    MPI_Bcast(&going, 1, MPI_INT, 0, world);
    return going;
}

/* Caches have limits of some hundred KiB (4096 exported allocations, 152 bytes each); what grows
 * beyond them grows for ever. */
constexpr int64_t caches = 1 << 20;
/* Verified by then; before, pools and caches fill. */
constexpr int64_t warm = 5000;

/* The least that a process held in the second quarter of the time, and in the last one. */
class Growth {
public:
    explicit Growth(double seconds) : seconds_(seconds) {}

    void look(double spent)
    {
        const int quarter = static_cast<int>(4 * spent / seconds_);
        if (quarter != 1 && quarter < 3)
            return;
        Quarter &q = quarter == 1 ? second_ : last_;
        if (q.samples++ == 0)
            q.least = Resources::now(), q.verified = verified;
        else
            q.least.lower_to(Resources::now());
    }

    void judge() const
    {
        const int64_t messages = last_.verified - second_.verified;
        if (second_.samples == 0 || last_.samples == 0 || second_.verified < warm) {
            std::printf("rank %d: too short to tell whether anything grows\n", rank);
            return;
        }
        const Resources &then = second_.least, &now = last_.least;
        const std::string what = "in the second quarter " + to_text(then) + "; in the last one " +
                                 to_text(now) + "; between them " + std::to_string(messages) +
                                 " verified";
        device_test::check(now.heap - then.heap <= messages + caches, "memory leaks: " + what);
        device_test::check(now.descriptors <= then.descriptors, "descriptors leak: " + what);
        device_test::check(now.resident - then.resident <= messages + (64 << 20),
                           "resident memory grows: " + what);
    }

private:
    struct Quarter {
        Resources least;
        int64_t samples = 0, verified = 0;
    };
    const double seconds_;
    Quarter second_, last_;
};

/* What is opened once is open by then: UCX's connections, the simulated device's memory. */
void limit_resources(const Run &run)
{
    std::vector<int> to(static_cast<size_t>(size) << 16), from(to.size());
    MPI_Alltoall(to.data(), 1 << 16, MPI_INT, from.data(), 1 << 16, MPI_INT, world);
    for (const gpu::Kind kind : device_test::every_kind)
        gpu::Memory({kind, device_test::own_device().device}, 8);
    /* The lowest descriptors are taken first, so a limit beyond the next one holds. */
    if (run.descriptors >= 0) {
        const int next = open("/dev/null", O_RDONLY);
        close(next);
        limit_descriptors(static_cast<rlim_t>(next + run.descriptors));
    }
    if (run.memory >= 0)
        limit_memory(run.memory << 20);
}

void soak_for(const Run &run)
{
    limit_resources(run);
    const auto begun = std::chrono::steady_clock::now();
    Growth growth(run.seconds);
    int64_t number = run.first, failed_at = -1;
    for (; goes_on(run, number, begun); ++number) {
        step(run, number);
        if (device_test::failures > 0 && failed_at < 0) {
            failed_at = number;
            std::printf("rank %d: the first fault is in step %ld of seed %lu\n", rank,
                        static_cast<long>(number), run.seed);
            std::fflush(stdout);
        }
        const double spent =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        if (run.end < 0 && number % 20 == 0)
            growth.look(spent);
        if (rank == 0 && number % 500 == 499) {
            std::printf("%.0f s: %ld steps, %ld verified\n", spent, static_cast<long>(number + 1),
                        static_cast<long>(verified));
            std::fflush(stdout);
        }
    }
    MPI_Barrier(world);
    growth.judge();
    std::printf("rank %d: steps %ld to %ld of seed %lu: %ld verified, %ld errors told; %s\n", rank,
                static_cast<long>(run.first), static_cast<long>(number), run.seed,
                static_cast<long>(verified), static_cast<long>(errors_told),
                to_text(Resources::now()).c_str());
}

} // namespace

int main(int argc, char **argv)
{
    return device_test::run(argc, argv, [&] {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
        for (const int signal : {SIGTERM, SIGSEGV, SIGABRT, SIGALRM})
            std::signal(signal, tell_step);
        const Run run = parse(argc, argv);
        if (run.with_a_victim)
            with_a_victim(run.seed, run.seconds, [&](int64_t number) { step(run, number); });
        else
            soak_for(run);
    });
}
