// SPDX-License-Identifier: BSD-3-Clause
// Calls of MPI 4.1 that the mpi.h at hand may not know, though the process's MPI may have them.
// They are weak: where the MPI lacks them, no program that runs on it calls them.
#pragma once

#include "interpose/handles.hpp"

#define HEDDLE_NEWER(name, ...)                                                                    \
    extern "C" int MPI_##name(__VA_ARGS__);                                                        \
    extern "C" __attribute__((weak)) int PMPI_##name(__VA_ARGS__);

#pragma GCC visibility push(default)
HEDDLE_NEWER(Request_get_status_all, int n, const MPI_Request *requests, int *flag,
             MPI_Status *statuses)
HEDDLE_NEWER(Request_get_status_any, int n, const MPI_Request *requests, int *index, int *flag,
             MPI_Status *status)
HEDDLE_NEWER(Request_get_status_some, int n, const MPI_Request *requests, int *found, int *indices,
             MPI_Status *statuses)
HEDDLE_NEWER(Buffer_flush)
HEDDLE_NEWER(Buffer_iflush, MPI_Request *request)
HEDDLE_NEWER(Comm_detach_buffer, MPI_Comm comm, void *buffer, int *size)
HEDDLE_NEWER(Comm_detach_buffer_c, MPI_Comm comm, void *buffer, MPI_Count *size)
HEDDLE_NEWER(Comm_flush_buffer, MPI_Comm comm)
HEDDLE_NEWER(Comm_iflush_buffer, MPI_Comm comm, MPI_Request *request)
#if MPI_VERSION >= 4 // MPI_Session
HEDDLE_NEWER(Session_detach_buffer, MPI_Session session, void *buffer, int *size)
HEDDLE_NEWER(Session_detach_buffer_c, MPI_Session session, void *buffer, MPI_Count *size)
HEDDLE_NEWER(Session_flush_buffer, MPI_Session session)
HEDDLE_NEWER(Session_iflush_buffer, MPI_Session session, MPI_Request *request)
#endif
#pragma GCC visibility pop

#undef HEDDLE_NEWER
