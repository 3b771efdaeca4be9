/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI_T tells of messages between devices.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <heddle.h>

using namespace device_test;

/* A performance variable, read since it was made. */
class Variable {
public:
    explicit Variable(const std::string &name, int variable_class = MPI_T_PVAR_CLASS_COUNTER)
        : name_(name)
    {
        int index, count;
        MPI_T_pvar_session_create(&session_);
        there_ =
            MPI_T_pvar_get_index(name.c_str(), variable_class, &index) == MPI_SUCCESS &&
            MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count) == MPI_SUCCESS &&
            count == 1;
        check(there_, "MPI_T has no variable " + name);
    }
    Variable(const Variable &) = delete;
    ~Variable()
    {
        if (there_)
            MPI_T_pvar_handle_free(session_, &handle_);
        MPI_T_pvar_session_free(&session_);
    }
    long long read() const
    {
        unsigned long long value = 0;
        if (there_)
            check(MPI_T_pvar_read(session_, handle_, &value) == MPI_SUCCESS,
                  "MPI_T cannot read " + name_);
        return static_cast<long long>(value);
    }

private:
    std::string name_;
    MPI_T_pvar_session session_;
    MPI_T_pvar_handle handle_;
    bool there_;
};

/* Each of the engine's counters is a variable. */
static void all_are_there()
{
    heddle_counter counter;
    for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i)
        Variable("heddle_" + std::string(counter.name),
                 counter.is_level ? MPI_T_PVAR_CLASS_LEVEL : MPI_T_PVAR_CLASS_COUNTER)
            .read();
}

static void send(int n, MakeLayout make = strided)
{
    const Layout layout = make(n);
    Buffer buffer(gpu::Kind::device, layout);
    if (rank == 0)
        MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Freed memory may have been open at the other end.
 * Then memory that comes to lie there cannot be opened. */
static void allocate_again()
{
    const Variable fallbacks("heddle_messages_fallbacks");
    for (const int n : {1000, 9000, 150000, 600000, 9000, 150000})
        for (int round = 0; round < 3; ++round) {
            const Layout layout = contiguous(n);
            Buffer buffer(gpu::Kind::device, layout), another(gpu::Kind::device, layout);
            for (int message = 0; message < 12; ++message)
                for (Buffer *const each : {&buffer, &another}) {
                    if (rank == 0) {
                        each->fill(round + message);
                        MPI_Send(each->at(), 1, each->type(), 1, 1, MPI_COMM_WORLD);
                    } else {
                        MPI_Recv(each->at(), 1, each->type(), 0, 1, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
                        each->expect(round + message, 0, n);
                        each->verify("in memory that was others' before");
                    }
                }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    check(fallbacks.read() == 0, std::to_string(fallbacks.read()) +
                                     " messages could not be read where they were said to lie");
}

/* The engine's are MPI's control variables, too, and go before the environment's. Those of the
 * interposer are for programs on other MPIs, and none here. */
static void settings(const Variable &shared)
{
    heddle_setting setting = {};
    setting.bytes = sizeof setting;
    for (int64_t i = 0; heddle_setting_read(i, &setting) == HEDDLE_SUCCESS; ++i) {
        const std::string name = setting.name;
        int index;
        const std::string whole = name.starts_with("MPIR_") ? name : "MPIR_CVAR_" + name;
        const bool is_there = MPI_T_cvar_get_index(whole.c_str(), &index) == MPI_SUCCESS;
        check(is_there == !name.starts_with("HEDDLE_INTERPOSE_"),
              "MPI_T and its control variable " + whole);
    }
    const char *const peer = std::getenv("MPIR_CVAR_HEDDLE_PEER");
    check(!peer || (std::string(peer) == "shared" && shared.read() == 1),
          "MPIR_CVAR_HEDDLE_PEER is not heard");
}

/* Staging memory is held, and in use while somebody has it. */
static void use(const Variable &held, const Variable &used)
{
    constexpr int64_t bytes = 1 << 20;
    const gpu::Memory device(own_device(), 64);
    const auto before = used.read();
    void *staging = nullptr;
    check(heddle_staging_alloc(bytes, device.at(), &staging) == HEDDLE_SUCCESS,
          "there is no staging memory");
    check(used.read() >= before + bytes, "staging memory in use is not counted");
    check(held.read() >= used.read(), "more is in use than is held");
    heddle_staging_free(staging);
    check(used.read() == before, "staging memory that was given back counts as used");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    const int status = run(argc, argv, [] {
        all_are_there();
        const Variable by_value(rank == 0 ? "heddle_messages_sent_by_value"
                                          : "heddle_messages_received_by_value"),
            shared(rank == 0 ? "heddle_messages_sent_shared" : "heddle_messages_received_shared"),
            by_reference(rank == 0 ? "heddle_messages_sent_by_reference"
                                   : "heddle_messages_received_by_reference"),
            whole(rank == 0 ? "heddle_messages_sent_whole" : "heddle_messages_received_whole"),
            bytes_by_value("heddle_messages_bytes_by_value"),
            bytes_shared("heddle_messages_bytes_shared"),
            bytes_by_reference("heddle_messages_bytes_by_reference"),
            bytes_whole("heddle_messages_bytes_whole"),
            slabs("heddle_slabs_pinned", MPI_T_PVAR_CLASS_LEVEL),
            used("heddle_slabs_pinned_used", MPI_T_PVAR_CLASS_LEVEL),
            idle("heddle_pools_idle", MPI_T_PVAR_CLASS_LEVEL), launches("heddle_launches_kernels");
        send(100000);
        const auto counted = by_value.read() + shared.read() + by_reference.read();
        check(counted == 1, "one message was counted " + std::to_string(counted) + " times");
        const long long received = rank == 0 ? 0 : 800000;
        check(bytes_by_value.read() == received * by_value.read(), "bytes by value");
        check(bytes_shared.read() == received * shared.read(), "bytes in shared memory");
        check(bytes_by_reference.read() == received * by_reference.read(), "bytes by reference");
        settings(shared);
        send(10);
        const char *const oneshot = std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT");
        if (!oneshot) {
            check(whole.read() == 1, "a message sent as a whole was counted " +
                                         std::to_string(whole.read()) + " times");
            check(bytes_whole.read() == (rank == 0 ? 0 : 80),
                  std::to_string(bytes_whole.read()) + " bytes as a whole");
            send(16384); /* 128 KiB */
            const char *const peer = std::getenv("HEDDLE_PEER");
            const bool is_whole = peer && std::string(peer) == "value" && shared.read() == 0;
            check(whole.read() == (is_whole ? 2 : 1),
                  "a message of 128 KiB that goes by value is whole, and no other");
        }
        if (!oneshot) /* it may all stay on devices */
            check(slabs.read() > 0, "no pinned memory is counted");
        use(slabs, used);
        indexed(100000); /* its arrays stay when it goes */
        check(idle.read() > 0, "memory that was given back is not counted");
        const auto launched = launches.read();
        send(10, indexed);
        check(rank == 1 || launches.read() > launched, "a launch is not counted");
        allocate_again();
    });
    MPI_T_finalize();
    return status;
}
