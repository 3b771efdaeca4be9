/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of noncontiguous types, of every length at which a transport may do something else with
 * them.
 */
#include "check.h"

enum { MOST = 300000 };

/* Every third double of `from`, to the next process, which has them contiguous,
 * or at the same distance. */
static void pass_on(int n, int spread, double *from, double *to)
{
    const int next = (check_rank + 1) % check_size,
              previous = (check_rank + check_size - 1) % check_size;
    MPI_Datatype type = vector_of(n, 1, 3, MPI_DOUBLE);
    MPI_Status status;
    char name[64];
    int count;
    for (int i = 0; i < 3 * n; i++) {
        from[i] = 1e6 * check_rank + i;
        to[i] = -1;
    }
    MPI_Sendrecv(from, 1, type, next, n, to, spread ? 1 : n, spread ? type : MPI_DOUBLE, previous,
                 n, MPI_COMM_WORLD, &status);
    snprintf(name, sizeof(name), "for %d doubles%s", n, spread ? ", spread" : "");
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK_NAMED(count == n, name);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += to[spread ? 3 * i : i] != 1e6 * previous + 3 * i;
    CHECK_NAMED(wrong == 0, name);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    double *from = malloc(3 * MOST * sizeof(*from)), *to = malloc(3 * MOST * sizeof(*to));
    for (int n = 1; n <= MOST; n += 1 + n / 3)
        for (int spread = 0; spread < 2; spread++)
            pass_on(n, spread, from, to);
    free(from);
    free(to);
    return check_end();
}
