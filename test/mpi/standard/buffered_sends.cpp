// SPDX-License-Identifier: BSD-3-Clause
// MPI_Buffer_attach: memory of any kind is taken, or refused with an error, and messages of any
// memory go through it.
// memory: host device managed mixed
#include "standard_test.hpp"

using namespace standard_test;

namespace {

constexpr int kInts = 1000;
constexpr int kRoom = 4 * kInts * static_cast<int>(sizeof(int)) + 4 * MPI_BSEND_OVERHEAD;

void exchange(const std::string &what)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const Memory sent(2 * kInts * sizeof(int)), received(2 * kInts * sizeof(int));
    std::vector<int> values(2 * kInts);
    for (int i = 0; i < 2 * kInts; ++i)
        values[static_cast<size_t>(i)] = 10000 * rank + i;
    sent.put(values);
    MPI_Datatype type;
    MPI_Type_vector(kInts, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    check_success(MPI_Bsend(sent.at(), 1, type, to, 1, MPI_COMM_WORLD), what + ": strided");
    check_success(MPI_Bsend(sent.at(), kInts, MPI_INT, to, 2, MPI_COMM_WORLD),
                  what + ": contiguous");
    check_success(MPI_Recv(received.at(), 1, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  what + ": strided");
    const std::vector<int> found = received.get<int>();
    for (int i = 0; i < 2 * kInts; i += 2)
        check_equal(found[static_cast<size_t>(i)], 10000 * from + i,
                    what + ": int " + std::to_string(i));
    check_success(
        MPI_Recv(received.at(), kInts, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        what + ": contiguous");
    check_equal(received.get<int>()[kInts - 1], 10000 * from + kInts - 1, what + ": the last int");
    MPI_Type_free(&type);
}

/* More than the attached buffer holds, though its count's low bits say less. */
void test_large(const void *from)
{
    const MPI_Count count = (MPI_Count{1} << 32) + 1;
    MPI_Request request = MPI_REQUEST_NULL;
    check_class(MPI_Bsend_c(from, count, MPI_CHAR, rank, 3, MPI_COMM_WORLD), MPI_ERR_BUFFER,
                "MPI_Bsend_c of 4 GiB");
    check_class(MPI_Ibsend_c(from, count, MPI_CHAR, rank, 3, MPI_COMM_WORLD, &request),
                MPI_ERR_BUFFER, "MPI_Ibsend_c of 4 GiB");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::vector<char> ordinary(kRoom);
        const Memory other(kRoom);
        void *detached = nullptr;
        int bytes = 0;
        check_success(MPI_Buffer_attach(ordinary.data(), kRoom), "host memory is attached");
        exchange("through host memory");
        test_large(ordinary.data());
        check_success(MPI_Buffer_detach(&detached, &bytes), "MPI_Buffer_detach");
        check(detached == ordinary.data() && bytes == kRoom, "host memory is detached");

        int all = 0;
        const int error = MPI_Buffer_attach(other.at(), kRoom);
        int attached = error == MPI_SUCCESS;
        if (!attached)
            check_class(error, MPI_ERR_BUFFER, "memory of this kind is refused");
        MPI_Allreduce(&attached, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (all)
            exchange("through memory of this kind");
        if (attached) {
            check_success(MPI_Buffer_detach(&detached, &bytes), "MPI_Buffer_detach");
            check(detached == other.at(), "it is detached");
        }
    });
}
