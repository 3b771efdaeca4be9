/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an MPI says of its GPUs and of the memory that it takes, printed by rank 0 for
 * test/mpi/run-says. Every rank finds the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void print(const char *what, const char *value)
{
    if (rank == 0)
        printf("%s=%s\n", what, value);
}

static void print_key(const char *object, MPI_Info info, const char *key)
{
    char what[128], value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0, length = sizeof value;
    snprintf(what, sizeof what, "%s %s", object, key);
    MPI_Info_get_string(info, key, &length, value, &flag);
    print(what, flag ? value : "-");
}

static void print_kinds(const char *object, MPI_Info info)
{
    print_key(object, info, "mpi_memory_alloc_kinds");
    print_key(object, info, "mpi_assert_memory_alloc_kinds");
    MPI_Info_free(&info);
}

static MPI_Info info_with(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static void queries(void)
{
    int flag = -1;
    char text[16];
    const int types[] = {MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_ZE, MPIX_GPU_SUPPORT_HIP};
    const char *const names[] = {"support cuda", "support ze", "support hip"};
    for (int i = 0; i < 3; i++) {
        MPIX_GPU_query_support(types[i], &flag);
        print(names[i], flag ? "yes" : "no");
    }
    snprintf(text, sizeof text, "%d %d %d", MPIX_Query_cuda_support(), MPIX_Query_ze_support(),
             MPIX_Query_hip_support());
    print("query cuda, ze, hip", text);
}

static void communicators(const char *asserted)
{
    MPI_Comm comm, again;
    MPI_Info info, said = info_with("mpi_assert_memory_alloc_kinds", asserted);
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    print_kinds("world", info);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, said, &comm);
    MPI_Comm_get_info(comm, &info);
    print_kinds("dup_with_info", info);
    MPI_Comm_dup(comm, &again);
    MPI_Comm_get_info(again, &info);
    print_kinds("dup", info);
    MPI_Comm_set_info(again, said);
    MPI_Comm_free(&comm);
    MPI_Comm_get_info(again, &info);
    print_kinds("set_info", info);
    MPI_Comm_free(&again);
    MPI_Comm_dup(MPI_COMM_WORLD, &again); /* by the handle of one that was freed */
    MPI_Comm_get_info(again, &info);
    print_kinds("another", info);
    MPI_Comm_free(&again);
    MPI_Info_free(&said);
}

static void windows(const char *asserted)
{
    MPI_Win win;
    int *memory;
    MPI_Info info, said = info_with("mpi_assert_memory_alloc_kinds", asserted);
    MPI_Win_allocate(sizeof(int), 1, said, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_get_info(win, &info);
    print_kinds("win_allocate", info);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_info(win, &info);
    print_kinds("win_create_dynamic", info);
    MPI_Win_free(&win);
    MPI_Info_free(&said);
}

static void files(const char *asserted)
{
    MPI_File file;
    MPI_Info info, said = info_with("mpi_assert_memory_alloc_kinds", asserted);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File_open(MPI_COMM_WORLD, "says.file", mode, MPI_INFO_NULL, &file);
    MPI_File_get_info(file, &info);
    print_kinds("file", info);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", said);
    MPI_File_get_info(file, &info);
    print_kinds("file set_view", info);
    MPI_File_set_info(file, said);
    MPI_File_get_info(file, &info);
    print_kinds("file set_info", info);
    MPI_File_close(&file);
    MPI_Info_free(&said);
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Info info, said = info_with("mpi_memory_alloc_kinds",
                                    "mpi:alloc_mem:win_allocate,rocm:device,nonsense");
    MPI_Session_init(said, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_info(session, &info);
    print_kinds("session", info);
    MPI_Session_finalize(&session);
    MPI_Info_free(&said);
}

int main(int argc, char **argv)
{
    const char *const asserted = argc > 1 ? argv[1] : "system,mpi";
    MPI_Info env;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    queries();
    MPI_Info_dup(MPI_INFO_ENV, &env);
    print_kinds("env", env);
    communicators(asserted);
    windows(asserted);
    files(asserted);
    sessions();
    MPI_Finalize();
    return 0;
}
