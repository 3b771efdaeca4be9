/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions before the world model, beside it and after it (MPI 4.0, section 11.3), with an error
 * handler of their own.
 * processes: 1 2 3
 */
#include <mpi.h>
#include <stdio.h>

static int wrong, told;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    printf("%s\n", what);
    wrong++;
}

static void tell(MPI_Session *session, int *error, ...)
{
    (void)session;
    MPI_Error_class(*error, &told);
}

static void use(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    int size, one = 1, sum = -1;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size, "the processes of a session do not add up");
    MPI_Comm_free(&comm);
}

/* What a session's calls get wrong is told to its own error handler. */
static void fail(MPI_Session session)
{
    MPI_Group group = MPI_GROUP_NULL;
    told = MPI_SUCCESS;
    check(MPI_Group_from_session_pset(session, "mpi://NOTHING", &group) != MPI_SUCCESS,
          "a process set that there is not is no error");
    check(told != MPI_SUCCESS, "a session's error handler is not told");
}

static void one_session(MPI_Errhandler handler)
{
    MPI_Session session;
    check(MPI_Session_init(MPI_INFO_NULL, handler, &session) == MPI_SUCCESS, "no session");
    use(session);
    fail(session);
    check(MPI_Session_finalize(&session) == MPI_SUCCESS, "a session does not end");
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Session beside;
    int size, one = 1, sum = -1;
    MPI_Session_create_errhandler(tell, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &beside);
    one_session(handler);
    MPI_Init(&argc, &argv);
    use(beside);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == size, "the processes of the world do not add up");
    one_session(handler);
    MPI_Finalize();
    one_session(handler);
    use(beside);
    fail(beside);
    MPI_Session_finalize(&beside);
    MPI_Errhandler_free(&handler);
    return wrong != 0;
}
