/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where buffers lie: datatypes that say it (heddle_mpi.h), and memory of which nobody needs to be
 * asked.
 */
#include "device_test.hpp"

#include <heddle.h>
#include <heddle_mpi.h>

#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <vector>

using namespace device_test;

/* Messages of device buffers that this process has sent or received in chunks, in whatever way. */
static int64_t messages()
{
    int64_t all = 0;
    heddle_counter counter;
    for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i) {
        const std::string_view name = counter.name;
        if (name.starts_with("messages_sent_by_") || name.starts_with("messages_received_by_") ||
            name == "messages_sent_shared" || name == "messages_received_shared")
            all += counter.value;
    }
    return all;
}

/* Rank 0's buffer to rank 1's; how many such messages that was, for this end. */
static int64_t sent(gpu::Kind kind, const Layout &layout, MPI_Datatype type,
                    const std::string &what)
{
    Buffer buffer(kind, layout);
    const int64_t before = messages();
    if (rank == 0) {
        buffer.fill(7);
        MPI_Send(buffer.at(), 1, type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer.at(), 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        buffer.expect(7, 0, layout.elements());
        buffer.verify(what);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return messages() - before;
}

/* The attribute of a predefined type holds for no message, because MPI passes on contiguous data of
 * other types as predefined ones. */
static void broadcast(int key)
{
    const Layout layout = contiguous(100000);
    Buffer buffer(gpu::Kind::device, layout);
    for (const MPI_Datatype type : {MPI_BYTE, MPI_DOUBLE})
        MPI_Type_set_attr(type, key, MPIX_MEMORY_HOST);
    if (rank == 0)
        buffer.fill(3);
    MPI_Bcast(buffer.at(), 1, layout.type, 0, MPI_COMM_WORLD);
    buffer.expect(3, 0, layout.elements());
    buffer.verify("a broadcast, predefined types being told");
    for (const MPI_Datatype type : {MPI_BYTE, MPI_DOUBLE})
        MPI_Type_delete_attr(type, key);
}

/* How often the device's library was asked about memory, for a message of `buffer`. */
static int64_t asked(void *buffer, MPI_Datatype type = MPI_INT)
{
    const int64_t before = gpu::Machine::get().count("query");
    if (rank == 0)
        MPI_Send(buffer, 4, type, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, 4, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return gpu::Machine::get().count("query") - before;
}

/* Nothing a device could own lies in the program, in its heap, or on its stack. */
static void ask(int key)
{
    static int data[4];
    int local[4] = {};
    const auto heap = std::make_unique<int[]>(4);
    void *const mapped =
        mmap(nullptr, sizeof data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(asked(data) == 0, "the program's own data were asked about");
    check(asked(heap.get()) == 0, "its heap was asked about");
    check(asked(local) == 0, "its stack was asked about");
    check(asked(mapped) == 1, "memory that may be anybody's was not asked about");
    MPI_Datatype told;
    MPI_Type_dup(MPI_INT, &told);
    MPI_Type_set_attr(told, key, MPIX_MEMORY_HOST);
    check(asked(mapped, told) == 0, "memory was asked about of which the type says what it is");
    MPI_Type_free(&told);
    munmap(mapped, sizeof data);
}

/* How often a message of a device's buffer asks about memory, by the way it is received: posted
 * before it comes, after it, and through a probe. */
enum class Way { posted, unexpected, probed };
static int64_t asked_once(const Layout &layout, Way way)
{
    constexpr int n = 4;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < n; ++i)
        buffers.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
    MPI_Request requests[n];
    const auto token = [](int from) {
        if (rank == from)
            MPI_Send(nullptr, 0, MPI_INT, 1 - from, 9, MPI_COMM_WORLD);
        else
            MPI_Recv(nullptr, 0, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (const auto &buffer : buffers)
            buffer->fill(5);
        if (way == Way::posted)
            token(1);
    }
    const int64_t before = gpu::Machine::get().count("query");
    if (rank == 0) {
        for (int i = 0; i < n; ++i)
            MPI_Issend(buffers[i]->at(), 1, layout.type, 1, i, MPI_COMM_WORLD, &requests[i]);
        if (way != Way::posted)
            token(0);
    } else {
        if (way != Way::posted)
            token(0);
        for (int i = 0; i < n; ++i) {
            MPI_Message message;
            if (way == Way::probed) {
                MPI_Mprobe(0, i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
                MPI_Imrecv(buffers[i]->at(), 1, layout.type, &message, &requests[i]);
            } else {
                MPI_Irecv(buffers[i]->at(), 1, layout.type, 0, i, MPI_COMM_WORLD, &requests[i]);
            }
        }
        if (way == Way::posted)
            token(1);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    const int64_t asked = gpu::Machine::get().count("query") - before;
    for (const auto &buffer : buffers)
        if (rank == 1) {
            buffer->expect(5, 0, layout.elements());
            buffer->verify("a message whose questions are counted");
        }
    return asked - n;
}

/* The buffer of a short one is asked about once, when it is sent or received: the answer travels
 * with it. */
static void ask_once()
{
    for (const int elements : {3, 100})
        for (const Layout &layout : {contiguous(elements), strided(elements)})
            for (const Way way : {Way::posted, Way::unexpected, Way::probed})
                check(asked_once(layout, way) == 0,
                      "a message of " + std::to_string(elements) +
                          " elements did not ask about its buffer once");
}

static void add_all(void *in, void *inout, int *count, MPI_Datatype *)
{
    for (int i = 0; i < *count; ++i)
        static_cast<double *>(inout)[i] += static_cast<double *>(in)[i];
}

/* A type's attribute is about a program's buffers. It does not hold for MPI's own memory, which MPI
 * uses with a program's operator. */
static void reduce(int key)
{
    constexpr int n = 1000;
    const Layout layout = contiguous(n);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    MPI_Datatype told;
    MPI_Op add;
    MPI_Type_dup(MPI_DOUBLE, &told);
    MPI_Type_set_attr(told, key, MPIX_MEMORY_DEVICE);
    MPI_Op_create(add_all, 1, &add);
    for (int i = 0; i < n; ++i) {
        from.put(i, rank + i);
        to.put(i, 0);
    }
    from.store();
    to.store();
    MPI_Allreduce(from.at(), to.at(), n, told, add, MPI_COMM_WORLD);
    MPI_Reduce_local(from.at(), to.at(), n, told, add);
    for (int i = 0; i < n; ++i)
        to.put(i, size * (size - 1) / 2 + size * i + rank + i);
    to.verify("reductions of a told type");
    MPI_Op_free(&add);
    MPI_Type_free(&told);
}

int main(int argc, char **argv)
{
    int key = MPI_KEYVAL_INVALID;
    check(MPIX_Type_memory_keyval(&key) == MPI_ERR_OTHER, "there is a key before MPI_Init");
    const int status = run(argc, argv, [&] {
        int others[20]; /* more than MPICH has room for without allocating */
        for (int &other : others)
            MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &other, nullptr);
        const Layout layout = strided(100000);
        check(MPIX_Type_memory_keyval(nullptr) == MPI_ERR_ARG, "a null pointer was taken");
        check(MPIX_Type_memory_keyval(&key) == MPI_SUCCESS, "there is no key");
        MPI_Datatype told, again;
        MPI_Type_dup(layout.type, &told);
        check(sent(gpu::Kind::device, layout, told, "nothing told") == 1,
              "a type without the attribute");
        MPI_Type_set_attr(told, key, MPIX_MEMORY_DEVICE);
        check(sent(gpu::Kind::device, layout, told, "told to be a device's") == 1,
              "device memory, told");
        MPI_Type_set_attr(told, key, MPIX_MEMORY_HOST);
        check(sent(gpu::Kind::pageable, layout, told, "told to be the host's") == 0,
              "host memory, told");
        MPI_Type_dup(told, &again);
        if (gpu::Machine::get().is_simulated()) { /* the host reaches its managed memory: who
                                                     believes sees no device */
            check(sent(gpu::Kind::managed, layout, told, "told wrongly") == 0,
                  "it was not believed");
            check(sent(gpu::Kind::managed, layout, again, "told wrongly, a copy") == 0,
                  "MPI_Type_dup did not copy it");
        }
        MPI_Type_delete_attr(told, key);
        check(sent(gpu::Kind::managed, layout, told, "told no more") == 1, "it is still believed");
        MPI_Type_free(&told);
        MPI_Type_free(&again);
        broadcast(key);
        reduce(key);
        if (gpu::Machine::get().is_simulated()) {
            ask(key);
            ask_once();
        }
        for (int &other : others)
            MPI_Type_free_keyval(&other);
    });
    check(MPIX_Type_memory_keyval(&key) == MPI_ERR_OTHER, "there is a key after MPI_Finalize");
    return status || failures;
}
