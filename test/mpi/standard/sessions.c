/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions without the world model, two at a time, each with a communicator of its own. Their error
 * handlers are made before the first of them begins (MPI 4.0, section 11.4.1).
 * processes: 1 2 3
 */
#include <mpi.h>
#include <stdio.h>

static int wrong;

static int told;

static void tell(MPI_Session *session, int *error, ...)
{
    (void)session;
    MPI_Error_class(*error, &told);
}

static MPI_Session begin(MPI_Errhandler handler)
{
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, handler, &session) != MPI_SUCCESS)
        wrong++;
    return session;
}

/* All processes add up their ranks. */
static void use(MPI_Session session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, sum = -1;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != size * (size - 1) / 2) {
        printf("rank %d, %s: the sum is %d\n", rank, name, sum);
        wrong++;
    }
    MPI_Comm_free(&comm);
}

int main(void)
{
    MPI_Errhandler handler, unused;
    if (MPI_Session_create_errhandler(tell, &handler) != MPI_SUCCESS ||
        MPI_Session_create_errhandler(tell, &unused) != MPI_SUCCESS ||
        MPI_Errhandler_free(&unused) != MPI_SUCCESS || unused != MPI_ERRHANDLER_NULL)
        wrong++;
    MPI_Session one = begin(handler);
    use(one, "one");
    MPI_Session other = begin(MPI_ERRORS_ARE_FATAL);
    use(other, "other");
    MPI_Session_call_errhandler(one, MPI_ERR_ARG);
    if (told != MPI_ERR_ARG && ++wrong)
        printf("the session's error handler was told %d\n", told);
    MPI_Session_finalize(&one);
    use(other, "again");
    MPI_Session_finalize(&other);
    if (MPI_Errhandler_free(&handler) != MPI_SUCCESS)
        wrong++;
    return wrong != 0;
}
