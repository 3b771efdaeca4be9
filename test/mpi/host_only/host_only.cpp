/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI that takes host memory only (--with-device=ch4:ofi): each call that moves data refuses a
 * buffer in a device's memory by MPI_ERR_BUFFER, and does what it should with one in host memory.
 * MPI_Pack and files take both. One process.
 */
#include "device_test.hpp"

#include <functional>
#include <vector>

using namespace device_test;

namespace {

constexpr int elements = 1000, tag = 3;
const MPI_Comm self = MPI_COMM_SELF;

struct Call {
    const char *name;
    std::function<int(void *)> make; /* of a buffer of so many doubles */
};

/* Host memory, at the other end of a call. */
double *other()
{
    static std::vector<double> memory(elements);
    return memory.data();
}

int send_and_receive(void *buf, bool sends)
{
    MPI_Request request;
    if (sends)
        MPI_Irecv(other(), elements, MPI_DOUBLE, 0, tag, self, &request);
    else
        MPI_Isend(other(), elements, MPI_DOUBLE, 0, tag, self, &request);
    const int error = sends ? MPI_Send(buf, elements, MPI_DOUBLE, 0, tag, self)
                            : MPI_Recv(buf, elements, MPI_DOUBLE, 0, tag, self, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) { /* nobody came */
        std::vector<double> anywhere(elements);
        if (sends)
            MPI_Cancel(&request);
        else
            MPI_Recv(anywhere.data(), elements, MPI_DOUBLE, 0, tag, self, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return error;
}

int access(void *buf, bool puts)
{
    MPI_Win win;
    MPI_Win_create(other(), sizeof(double) * elements, 8, MPI_INFO_NULL, self, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    const int error = puts ? MPI_Put(buf, elements, MPI_DOUBLE, 0, 0, elements, MPI_DOUBLE, win)
                           : MPI_Get(buf, elements, MPI_DOUBLE, 0, 0, elements, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    return error;
}

int make_window(void *buf)
{
    MPI_Win win;
    const int error = MPI_Win_create(buf, sizeof(double) * elements, 8, MPI_INFO_NULL, self, &win);
    if (error == MPI_SUCCESS)
        MPI_Win_free(&win);
    return error;
}

int write_file(void *buf)
{
    MPI_File file;
    MPI_File_open(self, "host_only.data",
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    const int error = MPI_File_write_at(file, 0, buf, elements, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return error;
}

const Call calls[] = {
    {"MPI_Send", [](void *buf) { return send_and_receive(buf, true); }},
    {"MPI_Recv", [](void *buf) { return send_and_receive(buf, false); }},
    {"MPI_Bcast", [](void *buf) { return MPI_Bcast(buf, elements, MPI_DOUBLE, 0, self); }},
    {"MPI_Allreduce, from it",
     [](void *buf) { return MPI_Allreduce(buf, other(), elements, MPI_DOUBLE, MPI_SUM, self); }},
    {"MPI_Allreduce, into it",
     [](void *buf) { return MPI_Allreduce(other(), buf, elements, MPI_DOUBLE, MPI_SUM, self); }},
    {"MPI_Alltoall",
     [](void *buf) {
         return MPI_Alltoall(buf, elements, MPI_DOUBLE, other(), elements, MPI_DOUBLE, self);
     }},
    {"MPI_Put", [](void *buf) { return access(buf, true); }},
    {"MPI_Get", [](void *buf) { return access(buf, false); }},
    {"MPI_Win_create", make_window},
};

void expect(const Call &call, void *buf, int expected)
{
    int of = MPI_SUCCESS;
    const int error = call.make(buf);
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &of);
    check(of == expected, std::string(call.name) + ": class " + std::to_string(of) +
                              ", expected was " + std::to_string(expected));
}

void pack(const Buffer &buffer)
{
    std::vector<char> packed(sizeof(double) * elements);
    int at = 0;
    check(MPI_Pack(buffer.at(), 1, buffer.type(), packed.data(), static_cast<int>(packed.size()),
                   &at, self) == MPI_SUCCESS &&
              at == static_cast<int>(packed.size()),
          "MPI_Pack of device memory fails");
}

void run_test()
{
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    const Layout layout = contiguous(elements);
    Buffer device(gpu::Kind::device, layout), host(gpu::Kind::pageable, layout);
    device.fill(1);
    host.fill(1);
    for (const Call &call : calls) {
        expect(call, host.at(), MPI_SUCCESS);
        expect(call, device.at(), MPI_ERR_BUFFER);
    }
    pack(device);
    check(write_file(device.at()) == MPI_SUCCESS, "MPI_File_write_at of device memory fails");
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, run_test); }
