/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Error_string and MPI_Error_class take any integer: of what no call returned they tell
 * something, or fail. Before there are error codes of the program, and after.
 * processes: 1
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int wrong;

static void ask(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1, class = -1;
    memset(text, 'x', sizeof text);
    if (MPI_Error_string(code, text, &length) == MPI_SUCCESS &&
        (length < 0 || length >= MPI_MAX_ERROR_STRING || text[length] != '\0') && wrong++ < 20)
        printf("the text of %d has no end\n", code);
    MPI_Error_class(code, &class);
}

static void ask_many(void)
{
    unsigned code = 1;
    for (int i = -1000; i < 3000; i++)
        ask(i);
    for (int i = 0; i < 100000; i++) {
        code = code * 1664525u + 1013904223u;
        ask((int)code);
    }
}

int main(int argc, char **argv)
{
    int class, code, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ask_many();
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "ours");
    ask_many();
    MPI_Error_string(code, text, &length);
    if (strcmp(text, "ours") != 0 && ++wrong)
        printf("the program's code has the text '%s'\n", text);
    MPI_Error_string(MPI_ERR_REQUEST, text, &length);
    if (strstr(text, "nvalid") == NULL && ++wrong)
        printf("MPI_ERR_REQUEST has the text '%s'\n", text);
    MPI_Finalize();
    return wrong != 0;
}
