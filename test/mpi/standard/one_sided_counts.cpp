/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The large-count forms of one-sided operations, with more than 2^31 elements. What an origin reads
 * is nowhere written but at its end, so that it takes little memory. MPICH's accumulate holds the
 * data three times: with the window that is 8 GiB.
 *
 * processes: 1
 */
#include "standard_test.hpp"

#include <sys/mman.h>

using namespace standard_test;

namespace {

constexpr MPI_Count elements = (MPI_Count{1} << 31) + 8;
constexpr size_t last = elements - 1;

class Pages {
public:
    Pages()
        : at_(mmap(nullptr, elements, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
    {
        if (at_ == MAP_FAILED)
            throw std::runtime_error("mmap");
        madvise(at_, elements, MADV_HUGEPAGE); /* for speed */
    }
    ~Pages() { munmap(at_, elements); }
    Pages(const Pages &) = delete;
    Pages &operator=(const Pages &) = delete;
    signed char &operator[](size_t i) { return static_cast<signed char *>(at_)[i]; }
    void *at() { return at_; }

private:
    void *at_;
};

/* By the first process, at the last; `memory` is the own part of the window. */
template <class Call> void operate(const char *what, MPI_Win win, Call call)
{
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
        check_success(call(), what);
        check_success(MPI_Win_unlock(size - 1, win), what);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void expect_last(const char *what, signed char found, int expected)
{
    check_equal(found, expected, std::string(what) + ": the last element");
}

void run_test()
{
    Pages memory;
    MPI_Win win;
    MPI_Win_create(memory.at(), elements, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    {
        Pages origin;
        origin[last] = 5;
        operate("MPI_Put_c", win, [&] {
            return MPI_Put_c(origin.at(), elements, MPI_SIGNED_CHAR, size - 1, 0, elements,
                             MPI_SIGNED_CHAR, win);
        });
        if (rank == size - 1)
            expect_last("MPI_Put_c", memory[last], 5);
        operate("MPI_Accumulate_c", win, [&] {
            return MPI_Accumulate_c(origin.at(), elements, MPI_SIGNED_CHAR, size - 1, 0, elements,
                                    MPI_SIGNED_CHAR, MPI_SUM, win);
        });
        if (rank == size - 1)
            expect_last("MPI_Accumulate_c", memory[last], 10);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    {
        Pages result;
        operate("MPI_Get_c", win, [&] {
            return MPI_Get_c(result.at(), elements, MPI_SIGNED_CHAR, size - 1, 0, elements,
                             MPI_SIGNED_CHAR, win);
        });
        if (rank == 0)
            expect_last("MPI_Get_c", result[last], 10);
    }
    MPI_Win_free(&win);
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, run_test); }
