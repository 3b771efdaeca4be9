// SPDX-License-Identifier: BSD-3-Clause
// The start and the end of MPI.
#include "interpose/bindings.hpp"
#include "interpose/chunks.hpp"
#include "interpose/held.hpp"
#include "interpose/operation.hpp"
#include "interpose/reference.hpp"
#include "interpose/report.hpp"
#include "interpose/shape.hpp"
#include "interpose/together.hpp"
#include "interpose/watched.hpp"

using namespace heddle::interpose;

namespace {

// Behind PMPI_Init.
void start(int error)
{
    if (error == MPI_SUCCESS) {
        int level = MPI_THREAD_MULTIPLE;
        PMPI_Query_thread(&level);
        set_threads(level == MPI_THREAD_MULTIPLE);
        meet_peers();
        prepare_to_hold();
        prepare_to_watch();
    }
    print_start(device_is_open());
}

} // namespace

#if MPI_VERSION >= 4
using Session = MPI_Session;
#elif defined(HEDDLE_MPI_4)
using Session = struct ompi_instance_t *; // Open MPI 5's, whose header is of MPI 3.1
#pragma GCC visibility push(default)
extern "C" {
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, Session *session);
int MPI_Session_finalize(Session *session);
__attribute__((weak)) int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler,
                                            Session *session);
__attribute__((weak)) int PMPI_Session_finalize(Session *session);
}
#pragma GCC visibility pop
#endif

extern "C" {

int MPI_Init(int *argc, char ***argv)
{
    bind_all();
    const int error = PMPI_Init(argc, argv);
    start(error);
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    bind_all();
    const int error = PMPI_Init_thread(argc, argv, required, provided);
    start(error);
    return error;
}

int MPI_Finalize()
{
    finish_all();
    end_watching();
    forget_all_members();
    forget_held();
    release_imports();
    finish_chunks();
    part_from_peers(drop_what_comes);
    forget_shapes();
    free_what_waits();
    print_counters();
    return PMPI_Finalize();
}

#if defined(HEDDLE_MPI_4)
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, Session *session)
{
    bind_all();
    has_sessions.store(true);
    set_threads(true);
    return PMPI_Session_init(info, handler, session);
}

int MPI_Session_finalize(Session *session)
{
    flush();
    return PMPI_Session_finalize(session);
}
#endif
}
