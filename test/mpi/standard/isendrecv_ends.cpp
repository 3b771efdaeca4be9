// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isendrecv and MPI_Isendrecv_replace: their status, errors, MPI_PROC_NULL at either end, and
// the types of their caller, which stay the caller's.
// memory: host device managed mixed
#include "standard_test.hpp"

using namespace standard_test;

namespace {

constexpr int kTag = 3;

struct Call {
    const char *name;
    bool replaces, large;
};
constexpr Call kCalls[] = {{"MPI_Isendrecv", false, false},
                           {"MPI_Isendrecv_c", false, true},
                           {"MPI_Isendrecv_replace", true, false},
                           {"MPI_Isendrecv_replace_c", true, true}};

/* `count` of `type` go to `to`, and as many come. */
int begin(const Call &call, const Memory &sent, const Memory &received, int count,
          MPI_Datatype type, int to, int from, MPI_Request *request)
{
    if (call.replaces)
        return call.large ? MPI_Isendrecv_replace_c(received.at(), count, type, to, kTag, from,
                                                    kTag, MPI_COMM_WORLD, request)
                          : MPI_Isendrecv_replace(received.at(), count, type, to, kTag, from, kTag,
                                                  MPI_COMM_WORLD, request);
    return call.large ? MPI_Isendrecv_c(sent.at(), count, type, to, kTag, received.at(), count,
                                        type, from, kTag, MPI_COMM_WORLD, request)
                      : MPI_Isendrecv(sent.at(), count, type, to, kTag, received.at(), count, type,
                                      from, kTag, MPI_COMM_WORLD, request);
}

std::vector<int> values(int of, int count)
{
    std::vector<int> ints(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
        ints[static_cast<size_t>(i)] = 1000 * of + i;
    return ints;
}

void check_status(const MPI_Status &status, int source, int tag, MPI_Datatype type, int count,
                  const std::string &what)
{
    int found = -1;
    check_equal(status.MPI_SOURCE, source, what + ": source");
    check_equal(status.MPI_TAG, tag, what + ": tag");
    MPI_Get_count(&status, type, &found);
    check_equal(found, count, what + ": count");
    int cancelled = -1;
    MPI_Test_cancelled(&status, &cancelled);
    check_equal(cancelled, 0, what + ": cancelled");
}

/* Along a chain of all processes: the first receives from nobody, and the last sends to nobody.
 * `step` 0: both ends are nobody. Every second int is moved. */
void test_chain(const Call &call, int count, int step)
{
    const std::string what =
        std::string(call.name) + " of " + std::to_string(count) + (step ? "" : ", alone");
    const int from = step && rank > 0 ? rank - 1 : MPI_PROC_NULL,
              to = step && rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Datatype type;
    MPI_Type_vector(count, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    const Memory sent(sizeof(int) * 2 * static_cast<size_t>(count)), received(sent.size());
    sent.put(values(rank, 2 * count));
    received.put(call.replaces ? values(rank, 2 * count) : values(77, 2 * count));
    MPI_Request request;
    MPI_Status status;
    std::memset(&status, 0x7b, sizeof status);
    check_success(begin(call, sent, received, 1, type, to, from, &request), what);
    check_success(MPI_Wait(&request, &status), what + ": MPI_Wait");
    const bool comes = from != MPI_PROC_NULL;
    check_status(status, from, comes ? kTag : MPI_ANY_TAG, type, comes ? 1 : 0, what);
    std::vector<int> expected = values(call.replaces ? rank : 77, 2 * count);
    for (int i = 0; comes && i < 2 * count; i += 2)
        expected[static_cast<size_t>(i)] = 1000 * from + i;
    check(received.get<int>() == expected, what + ": data");
    check_success(MPI_Type_free(&type), what + ": the type is its caller's");
}

/* A type is used again, while others are made, and freed before the request is over. */
void test_types(const Call &call)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const Memory sent(64), received(64);
    MPI_Datatype type;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < 4; ++turn) {
        sent.put(values(rank, 16));
        received.put(values(rank, 16));
        MPI_Request request;
        check_success(begin(call, sent, received, 1, type, to, from, &request), call.name);
        if (turn == 3)
            check_success(MPI_Type_free(&type), "a type is freed early");
        check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), call.name);
        for (int i = 0; i < 5; i += 2)
            check_equal(received.get<int>()[static_cast<size_t>(i)], 1000 * from + i,
                        std::string(call.name) + ": data");
        if (turn == 3)
            break;
        MPI_Datatype other;
        MPI_Type_contiguous(7, MPI_DOUBLE, &other);
        check(other != type,
              std::string(call.name) + ": the handle of a type in use was given away");
        MPI_Type_free(&other);
        int bytes = 0;
        check_success(MPI_Type_size(type, &bytes), std::string(call.name) + ": the type is gone");
        check_equal(bytes, 12, std::string(call.name) + ": the type's size");
    }
}

/* More comes than is expected. */
void test_truncation(const Call &call)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const Memory sent(64), received(64);
    MPI_Request request, other;
    MPI_Status status;
    check_success(MPI_Isend(sent.at(), 16, MPI_INT, to, kTag, MPI_COMM_WORLD, &other), "MPI_Isend");
    check_success(begin(call, sent, received, 8, MPI_INT, to, from, &request), call.name);
    check_class(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE,
                std::string(call.name) + ", truncated");
    check_success(MPI_Recv(received.at(), 16, MPI_INT, from, kTag, MPI_COMM_WORLD, &status),
                  "MPI_Recv");
    check_success(MPI_Wait(&other, MPI_STATUS_IGNORE), "MPI_Isend's end");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const Call &call : kCalls) {
            for (const int count : {1, 50, 40000})
                for (const int step : {0, 1})
                    test_chain(call, count, step);
            test_types(call);
            test_truncation(call);
        }
    });
}
