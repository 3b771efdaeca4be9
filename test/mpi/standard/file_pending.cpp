/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several nonblocking collective file calls are under way at a time. They are waited for in another
 * order on each process, or while another call waits. The file's own pointer goes on at once. The
 * file's error handler tells of a failure, not the communicator's.
 *
 * processes: 1 2 3 5
 * memory: host device
 */
#include "file_calls.hpp"

#include <csignal>
#include <sys/resource.h>

using namespace standard_test;

namespace {

constexpr int calls = 6, numbers = 50;

std::vector<int> own_numbers(int call)
{
    std::vector<int> n(numbers);
    for (int i = 0; i < numbers; ++i)
        n[static_cast<size_t>(i)] = 100000 * (rank + 1) + 1000 * call + i;
    return n;
}

MPI_Info pieces_of(int bytes, const char *buffering)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", std::to_string(bytes).c_str());
    MPI_Info_set(info, "romio_cb_write", buffering);
    MPI_Info_set(info, "romio_cb_read", buffering);
    return info;
}

/* Each process has every `size`-th number. */
void set_view(MPI_File file)
{
    MPI_Datatype in_turns;
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &in_turns);
    MPI_Type_commit(&in_turns);
    check_success(MPI_File_set_view(file, 4 * rank, MPI_INT, in_turns, "native", MPI_INFO_NULL),
                  "set_view");
    MPI_Type_free(&in_turns);
}

/* Waits for all, beginning with another one on each process. */
void wait_for_all(std::vector<MPI_Request> &requests, const std::string &what)
{
    const size_t n = requests.size();
    for (size_t i = 0; i < n; ++i)
        check_success(MPI_Wait(&requests[(i + static_cast<size_t>(rank)) % n], MPI_STATUS_IGNORE),
                      what);
}

void in_any_order(const File &file, const std::string &what)
{
    file.put({});
    set_view(file);
    std::vector<Memory> written, read;
    std::vector<MPI_Request> requests(calls);
    for (int c = 0; c < calls; ++c) {
        written.emplace_back(numbers * sizeof(int));
        read.emplace_back(numbers * sizeof(int));
        written.back().put(own_numbers(c));
    }
    MPI_Offset position = -1;
    for (size_t c = 0; c < calls; ++c) {
        MPI_File_iwrite_all(file, written[c].at(), numbers, MPI_INT, &requests[c]);
        MPI_File_get_position(file, &position);
        check_equal(position, static_cast<MPI_Offset>(c + 1) * numbers, what + ": position");
    }
    wait_for_all(requests, what + ": write");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    for (size_t c = 0; c < calls; ++c)
        MPI_File_iread_all(file, read[c].at(), numbers, MPI_INT, &requests[c]);
    wait_for_all(requests, what + ": read");
    for (int c = 0; c < calls; ++c)
        check(read[static_cast<size_t>(c)].get<int>() == own_numbers(c), what + ": other data");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A blocking call comes after those under way. */
void before_a_blocking_call(const File &file, const std::string &what)
{
    const Memory first(numbers * sizeof(int)), second(numbers * sizeof(int)),
        back(numbers * sizeof(int));
    first.put(own_numbers(1));
    second.put(own_numbers(2));
    set_view(file);
    MPI_Request request;
    MPI_File_iwrite_all(file, first.at(), numbers, MPI_INT, &request);
    check_success(MPI_File_write_all(file, second.at(), numbers, MPI_INT, MPI_STATUS_IGNORE),
                  what + ": write_all");
    check_success(MPI_File_read_at_all(file, 0, back.at(), numbers, MPI_INT, MPI_STATUS_IGNORE),
                  what + ": read_at_all");
    check(back.get<int>() == own_numbers(1), what + ": other data before a blocking call");
    check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ": wait");
}

/* The others end while the first process waits for their messages. */
void while_another_call_waits(const File &file, const std::string &what)
{
    const Memory memory(numbers * sizeof(int));
    memory.put(own_numbers(3));
    set_view(file);
    MPI_Request request;
    MPI_File_iwrite_all(file, memory.at(), numbers, MPI_INT, &request);
    if (rank == 0)
        for (int from = 1; from < size; ++from)
            MPI_Recv(nullptr, 0, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ": wait");
    if (rank != 0)
        MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

int of_files, of_communicators;
void count_file(MPI_File *, int *, ...) { ++of_files; }
void count_communicator(MPI_Comm *, int *, ...) { ++of_communicators; }

/* Nothing can be written beyond 64 bytes. */
void told_by_the_file(const File &file, const std::string &what)
{
    MPI_Errhandler handlers[2];
    MPI_File_create_errhandler(count_file, &handlers[0]);
    MPI_Comm_create_errhandler(count_communicator, &handlers[1]);
    MPI_File_set_errhandler(file, handlers[0]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[1]);
    file.put({});
    set_view(file);
    const Memory memory(numbers * sizeof(int));
    rlimit before{}, limit{};
    getrlimit(RLIMIT_FSIZE, &before);
    limit = {64, before.rlim_max};
    for (const bool waits_for_many : {false, true}) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        of_files = of_communicators = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        setrlimit(RLIMIT_FSIZE, &limit);
        MPI_File_iwrite_at_all(file, 20, memory.at(), numbers, MPI_INT, &requests[0]);
        const int error = waits_for_many ? MPI_Waitall(2, requests, statuses)
                                         : MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        setrlimit(RLIMIT_FSIZE, &before);
        check_class(error, waits_for_many ? MPI_ERR_IN_STATUS : MPI_ERR_IO, what + ": no room");
        check_equal(of_files, 1, what + ": calls of the file's error handler");
        check_equal(of_communicators, 0, what + ": calls of the communicator's error handler");
    }
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    check_equal(of_communicators, 1, what + ": the communicator's own error");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (MPI_Errhandler &handler : handlers)
        MPI_Errhandler_free(&handler);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::signal(SIGXFSZ, SIG_IGN);
        for (const char *buffering : {"automatic", "enable", "disable"}) {
            MPI_Info info = pieces_of(64, buffering);
            const File file("file_pending", info);
            MPI_Info_free(&info);
            in_any_order(file, std::string("in any order, ") + buffering);
            before_a_blocking_call(file, std::string("before a blocking call, ") + buffering);
            while_another_call_waits(file, std::string("while another call waits, ") + buffering);
            told_by_the_file(file, std::string("told by the file, ") + buffering);
        }
    });
}
