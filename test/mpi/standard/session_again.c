/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Session_init once the process has finalized all of MPI: a session that works, or an error
 * that returns as its error handler says (MPI 4.0, section 11.3.1).
 * processes: 1 2
 */
#include <mpi.h>
#include <stdio.h>

static int failures;

static void check(int right, const char *what)
{
    if (!right) {
        printf("FAILED: %s\n", what);
        failures++;
    }
}

static void use(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, sum = -1;
    check(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "the group");
    check(MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
              MPI_SUCCESS,
          "the communicator");
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size * (size - 1) / 2, "the sum of all ranks");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    check(MPI_Session_finalize(&session) == MPI_SUCCESS, "MPI_Session_finalize");
}

int main(void)
{
    for (int turn = 0; turn < 3; turn++) {
        MPI_Session session = MPI_SESSION_NULL;
        const int error = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        check(turn > 0 || error == MPI_SUCCESS, "the first MPI_Session_init");
        if (error == MPI_SUCCESS)
            use(session);
    }
    return failures != 0;
}
