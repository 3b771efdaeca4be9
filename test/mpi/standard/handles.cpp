/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predefined handles and process sets are what they are wherever they can be given.
 * processes: 1 2
 */
#include "standard_test.hpp"

using namespace standard_test;

namespace {

/* MPI_ERRORS_ABORT can be set and is found again, on every kind of object. */
void errors_abort()
{
    const MPI_Errhandler all[] = {MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN};
    MPI_Errhandler found;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, comm, &win);
    MPI_File_open(comm, "handles.file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    for (const MPI_Errhandler each : all) {
        check_success(MPI_Comm_set_errhandler(comm, each), "MPI_Comm_set_errhandler");
        MPI_Comm_get_errhandler(comm, &found);
        check(found == each, "MPI_Comm_get_errhandler");
        check_success(MPI_Win_set_errhandler(win, each), "MPI_Win_set_errhandler");
        MPI_Win_get_errhandler(win, &found);
        check(found == each, "MPI_Win_get_errhandler");
        check_success(MPI_File_set_errhandler(file, each), "MPI_File_set_errhandler");
        MPI_File_get_errhandler(file, &found);
        check(found == each, "MPI_File_get_errhandler");
    }
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Comm_free(&comm);
}

void sessions()
{
    MPI_Session session;
    char name[MPI_MAX_PSET_NAME_LEN];
    int sets = 0, length = sizeof name;
    for (const MPI_Errhandler each : {MPI_ERRORS_ABORT, MPI_ERRORS_RETURN}) {
        check_success(MPI_Session_init(MPI_INFO_NULL, each, &session), "MPI_Session_init");
        MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
        check(sets >= 2, "there are mpi://WORLD and mpi://SELF");
        for (int n = 0; n < sets; ++n)
            check_success(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name),
                          "MPI_Session_get_nth_pset");
        if (each == MPI_ERRORS_RETURN)
            for (const int n : {sets, sets + 1, -1})
                check_class(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name),
                            MPI_ERR_ARG, "the set number " + std::to_string(n));
        MPI_Session_finalize(&session);
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        errors_abort();
        sessions();
    });
}
