// SPDX-License-Identifier: BSD-3-Clause
// What is not done: windows on device memory. An MPI that knows nothing of devices would read where
// the processor has no access, so these calls end with an error.
#include "interpose/data.hpp"
#include "interpose/operation.hpp"
#include "interpose/report.hpp"

using namespace heddle::interpose;

namespace {

int refuse(MPI_Win win)
{
    complain_once("windows and one-sided operations take no device memory");
    PMPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

bool is_on_device(const void *buffer, int64_t n, MPI_Datatype type)
{
    return device_data(buffer, n, type).has_value();
}

} // namespace

extern "C" {

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    flush();
    if (size == 0 || !device_is_open() || !is_device_memory(base))
        return PMPI_Win_create(base, size, unit, info, comm, win);
    complain_once("windows and one-sided operations take no device memory");
    return raise(comm, MPI_ERR_OTHER);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    if (size == 0 || !device_is_open() || !is_device_memory(base))
        return PMPI_Win_attach(win, base, size);
    return refuse(win);
}

int MPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
            MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, win);
}

int MPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, win);
}

int MPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, int target_count,
                   MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Accumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                 target_disp, target_count, target_datatype, op, win);
}

int MPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                       void *result_addr, int result_count, MPI_Datatype result_datatype,
                       int target_rank, MPI_Aint target_disp, int target_count,
                       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype) ||
                   is_on_device(result_addr, result_count, result_datatype)
               ? refuse(win)
               : PMPI_Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                     result_count, result_datatype, target_rank, target_disp,
                                     target_count, target_datatype, op, win);
}

int MPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                     int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    return is_on_device(origin_addr, 1, datatype) || is_on_device(result_addr, 1, datatype)
               ? refuse(win)
               : PMPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op,
                                   win);
}

int MPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                         MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    return is_on_device(origin_addr, 1, datatype) || is_on_device(result_addr, 1, datatype) ||
                   is_on_device(compare_addr, 1, datatype)
               ? refuse(win)
               : PMPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype,
                                       target_rank, target_disp, win);
}

int MPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
             int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
             MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, win, request);
}

int MPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, win, request);
}

int MPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Raccumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                  target_disp, target_count, target_datatype, op, win, request);
}

int MPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                        void *result_addr, int result_count, MPI_Datatype result_datatype,
                        int target_rank, MPI_Aint target_disp, int target_count,
                        MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype) ||
                   is_on_device(result_addr, result_count, result_datatype)
               ? refuse(win)
               : PMPI_Rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                      result_count, result_datatype, target_rank, target_disp,
                                      target_count, target_datatype, op, win, request);
}

#if MPI_VERSION >= 4
int MPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                     MPI_Win *win)
{
    flush();
    if (size == 0 || !device_is_open() || !is_device_memory(base))
        return PMPI_Win_create_c(base, size, unit, info, comm, win);
    complain_once("windows and one-sided operations take no device memory");
    return raise(comm, MPI_ERR_OTHER);
}

int MPI_Put_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, MPI_Count target_count,
              MPI_Datatype target_datatype, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Put_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                            target_count, target_datatype, win);
}

int MPI_Get_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, MPI_Count target_count,
              MPI_Datatype target_datatype, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Get_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                            target_count, target_datatype, win);
}

int MPI_Accumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                     int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                     MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Accumulate_c(origin_addr, origin_count, origin_datatype, target_rank,
                                   target_disp, target_count, target_datatype, op, win);
}

int MPI_Get_accumulate_c(const void *origin_addr, MPI_Count origin_count,
                         MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count,
                         MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                         MPI_Win win)
{
    return is_on_device(origin_addr, origin_count, origin_datatype) ||
                   is_on_device(result_addr, result_count, result_datatype)
               ? refuse(win)
               : PMPI_Get_accumulate_c(origin_addr, origin_count, origin_datatype, result_addr,
                                       result_count, result_datatype, target_rank, target_disp,
                                       target_count, target_datatype, op, win);
}

int MPI_Rput_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Rput_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype, win, request);
}

int MPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Rget_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype, win, request);
}

int MPI_Raccumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype)
               ? refuse(win)
               : PMPI_Raccumulate_c(origin_addr, origin_count, origin_datatype, target_rank,
                                    target_disp, target_count, target_datatype, op, win, request);
}

int MPI_Rget_accumulate_c(const void *origin_addr, MPI_Count origin_count,
                          MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count,
                          MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                          MPI_Win win, MPI_Request *request)
{
    return is_on_device(origin_addr, origin_count, origin_datatype) ||
                   is_on_device(result_addr, result_count, result_datatype)
               ? refuse(win)
               : PMPI_Rget_accumulate_c(origin_addr, origin_count, origin_datatype, result_addr,
                                        result_count, result_datatype, target_rank, target_disp,
                                        target_count, target_datatype, op, win, request);
}

#endif
}
