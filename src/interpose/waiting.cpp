// SPDX-License-Identifier: BSD-3-Clause
// Calls that may wait for other processes, and move no data of the program's. What is being packed
// goes to MPI first: the other process may wait for that (operation.hpp).
#include "interpose/held.hpp"
#include "interpose/newer_calls.hpp"
#include "interpose/operation.hpp"
#include "interpose/peers.hpp"
#include "interpose/persistent.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"
#include "interpose/together.hpp"
#include "interpose/watched.hpp"

using namespace heddle::interpose;

namespace {

template <auto down, class... Arguments> int flushed(Arguments... arguments)
{
    const CollectsAtEnd collects;
    flush();
    return down(arguments...);
}

// For those that wait for nothing.
template <auto down, class... Arguments> int begun(Arguments... arguments)
{
    flush();
    return down(arguments...);
}

// For those that give a communicator up.
template <auto down> int gone(MPI_Comm *comm)
{
    const CollectsAtEnd collects;
    flush();
    forget_communicator(*comm);
    forget_communicator_of_persistent(*comm);
    forget_communicator_of_watched(*comm);
    forget_held(*comm);
    forget_members(*comm);
    return down(comm);
}

// For probes, which are called again and again until there is something: only then are windows
// compared.
template <class Try> int once(const int *flag, Try try_now)
{
    if (!is_idle())
        progress();
    const int result = try_now();
    if (result != MPI_SUCCESS || *flag)
        collect_all();
    return result;
}
// Where envelopes may come (held.hpp).
template <class Try> int repeated(Try try_now)
{
    int flag = 0, error = MPI_SUCCESS;
    flush();
    for (Patience patience; error == MPI_SUCCESS; patience.wait()) {
        error = once(&flag, [&] { return try_now(&flag); });
        if (flag)
            break;
    }
    return error;
}

} // namespace

extern "C" {

// ---- Communicators, processes and topologies ----
int MPI_Barrier(MPI_Comm comm) { return flushed<PMPI_Barrier>(comm); }
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return begun<PMPI_Ibarrier>(comm, request);
}
int MPI_Buffer_detach(void *buffer_addr, int *size)
{
    return flushed<PMPI_Buffer_detach>(buffer_addr, size);
}
int MPI_Buffer_flush() { return flushed<PMPI_Buffer_flush>(); }
int MPI_Buffer_iflush(MPI_Request *request) { return begun<PMPI_Buffer_iflush>(request); }
int MPI_Comm_detach_buffer(MPI_Comm comm, void *buffer, int *size)
{
    return flushed<PMPI_Comm_detach_buffer>(comm, buffer, size);
}
int MPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count *size)
{
    return flushed<PMPI_Comm_detach_buffer_c>(comm, buffer, size);
}
int MPI_Comm_flush_buffer(MPI_Comm comm) { return flushed<PMPI_Comm_flush_buffer>(comm); }
int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    return begun<PMPI_Comm_iflush_buffer>(comm, request);
}
int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    return flushed<PMPI_Comm_set_info>(comm, info);
}
int MPI_Comm_accept(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                    MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_accept>(port_name, info, root, comm, newcomm);
}
int MPI_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_connect>(port_name, info, root, comm, newcomm);
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_create>(comm, group, newcomm);
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_create_group>(comm, group, tag, newcomm);
}
int MPI_Comm_disconnect(MPI_Comm *comm) { return gone<PMPI_Comm_disconnect>(comm); }
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm) { return flushed<PMPI_Comm_dup>(comm, newcomm); }
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_dup_with_info>(comm, info, newcomm);
}
int MPI_Comm_free(MPI_Comm *comm) { return gone<PMPI_Comm_free>(comm); }
int MPI_Comm_join(int fd, MPI_Comm *intercomm) { return flushed<PMPI_Comm_join>(fd, intercomm); }
int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[])
{
    return flushed<PMPI_Comm_spawn>(command, argv, maxprocs, info, root, comm, intercomm,
                                    array_of_errcodes);
}
int MPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                            const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                            MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[])
{
    return flushed<PMPI_Comm_spawn_multiple>(count, array_of_commands, array_of_argv,
                                             array_of_maxprocs, array_of_info, root, comm,
                                             intercomm, array_of_errcodes);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_split>(comm, color, key, newcomm);
}
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_split_type>(comm, split_type, key, info, newcomm);
}
int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                         int remote_leader, int tag, MPI_Comm *newintercomm)
{
    return flushed<PMPI_Intercomm_create>(local_comm, local_leader, peer_comm, remote_leader, tag,
                                          newintercomm);
}
int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    return flushed<PMPI_Intercomm_merge>(intercomm, high, newintracomm);
}
int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    return flushed<PMPI_Cart_sub>(comm, remain_dims, newcomm);
}
#if MPI_VERSION >= 4
int MPI_Session_detach_buffer(MPI_Session session, void *buffer, int *size)
{
    return flushed<PMPI_Session_detach_buffer>(session, buffer, size);
}
int MPI_Session_detach_buffer_c(MPI_Session session, void *buffer, MPI_Count *size)
{
    return flushed<PMPI_Session_detach_buffer_c>(session, buffer, size);
}
int MPI_Session_flush_buffer(MPI_Session session)
{
    return flushed<PMPI_Session_flush_buffer>(session);
}
int MPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    return begun<PMPI_Session_iflush_buffer>(session, request);
}
int MPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    return flushed<PMPI_Buffer_detach_c>(buffer_addr, size);
}
int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                       void *baseptr, MPI_Win *win)
{
    return flushed<PMPI_Win_allocate_c>(size, disp_unit, info, comm, baseptr, win);
}
int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                              void *baseptr, MPI_Win *win)
{
    return flushed<PMPI_Win_allocate_shared_c>(size, disp_unit, info, comm, baseptr, win);
}
int MPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                               MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    return flushed<PMPI_Comm_create_from_group>(group, stringtag, info, errhandler, newcomm);
}
int MPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                     MPI_Group remote_group, int remote_leader,
                                     const char *stringtag, MPI_Info info,
                                     MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    return flushed<PMPI_Intercomm_create_from_groups>(local_group, local_leader, remote_group,
                                                      remote_leader, stringtag, info, errhandler,
                                                      newintercomm);
}
#endif

// ---- Probes ----
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (has_met_peers())
        return repeated([=](int *flag) { return probe_now({source, tag, comm}, flag, status); });
    return flushed<PMPI_Probe>(source, tag, comm, status);
}
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    if (has_met_peers())
        return repeated([=](int *flag) {
            return take_now({source, tag, comm}, flag, message, status);
        });
    return flushed<PMPI_Mprobe>(source, tag, comm, message, status);
}
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    return once(flag, [=] {
        return has_met_peers() ? probe_now({source, tag, comm}, flag, status)
                               : PMPI_Iprobe(source, tag, comm, flag, status);
    });
}
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    return once(flag, [=] {
        return has_met_peers() ? take_now({source, tag, comm}, flag, message, status)
                               : PMPI_Improbe(source, tag, comm, flag, message, status);
    });
}

// ---- Windows: see windows.cpp, too ----
int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                     MPI_Win *win)
{
    return flushed<PMPI_Win_allocate>(size, disp_unit, info, comm, baseptr, win);
}
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                            void *baseptr, MPI_Win *win)
{
    return flushed<PMPI_Win_allocate_shared>(size, disp_unit, info, comm, baseptr, win);
}

// ---- Files ----
int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    return flushed<PMPI_File_open>(comm, filename, amode, info, fh);
}
int MPI_File_close(MPI_File *fh) { return flushed<PMPI_File_close>(fh); }
int MPI_Win_set_info(MPI_Win win, MPI_Info info) { return flushed<PMPI_Win_set_info>(win, info); }
int MPI_File_set_info(MPI_File fh, MPI_Info info) { return flushed<PMPI_File_set_info>(fh, info); }
int MPI_File_set_atomicity(MPI_File fh, int flag)
{
    return flushed<PMPI_File_set_atomicity>(fh, flag);
}
int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    return flushed<PMPI_File_seek_shared>(fh, offset, whence);
}
int MPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    return flushed<PMPI_File_set_size>(fh, size);
}
int MPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    return flushed<PMPI_File_preallocate>(fh, size);
}
int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char *datarep, MPI_Info info)
{
    return flushed<PMPI_File_set_view>(fh, disp, etype, filetype, datarep, info);
}
int MPI_File_sync(MPI_File fh) { return flushed<PMPI_File_sync>(fh); }
}
