/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided calls between different layouts: pairs and their padding, operators on targets of
 * derived types, MPI_REPLACE and MPI_NO_OP, put and get. On windows of both kinds: allocated, and
 * made of the caller's memory.
 */
#include "check.h"

#include <complex.h>

enum { PAIRS = 12 };

struct pair {
    double value;
    int index;
};

struct window {
    struct pair *base;
    MPI_Win win;
    int peer;
};

static void fence(const struct window *w) { MPI_Win_fence(0, w->win); }

/* Every second pair, from a displacement on. */
static MPI_Datatype every_second_pair(void) { return vector_of(PAIRS / 2, 1, 2, MPI_DOUBLE_INT); }

static void test_pairs(const struct window *w)
{
    const MPI_Datatype strided = every_second_pair();
    struct pair dense[PAIRS / 2], sparse[PAIRS], result[PAIRS / 2];
    for (int i = 0; i < PAIRS; i++) {
        w->base[i] = (struct pair){i, 100 + i};
        sparse[i] = (struct pair){1000 + i, i};
    }
    /* Even ones lose to the target's value, odd ones tie with it: then the smaller index wins. */
    for (int k = 0; k < PAIRS / 2; k++)
        dense[k] = (struct pair){k % 2 ? 2 * k : 2 * k - 1, k};

    fence(w);
    MPI_Accumulate(dense, PAIRS / 2, MPI_DOUBLE_INT, w->peer, 0, 1, strided, MPI_MINLOC, w->win);
    fence(w);
    for (int i = 0; i < PAIRS; i++) {
        const int touched = i % 2 == 0;
        const double value = touched && i / 2 % 2 == 0 ? i - 1 : i;
        CHECK(w->base[i].value == value && w->base[i].index == (touched ? i / 2 : 100 + i));
    }

    fence(w);
    MPI_Accumulate(sparse, 1, strided, w->peer, sizeof(struct pair), 1, strided, MPI_MAXLOC,
                   w->win);
    fence(w);
    for (int i = 1; i < PAIRS; i += 2)
        CHECK(w->base[i].value == 1000 + i - 1 && w->base[i].index == i - 1);

    fence(w);
    MPI_Accumulate(dense, PAIRS / 2, MPI_DOUBLE_INT, w->peer, 0, 1, strided, MPI_REPLACE, w->win);
    fence(w);
    memset(result, 0, sizeof(result));
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, result, PAIRS / 2, MPI_DOUBLE_INT, w->peer, 0, 1,
                       strided, MPI_NO_OP, w->win);
    fence(w);
    for (int k = 0; k < PAIRS / 2; k++) {
        CHECK(w->base[2 * k].value == dense[k].value && w->base[2 * k].index == dense[k].index);
        CHECK(result[k].value == dense[k].value && result[k].index == dense[k].index);
    }
    fence(w);
    MPI_Datatype type = strided;
    MPI_Type_free(&type);
}

/* Elements 0, 2, 4 (1, 3, 5) are added to elements 3, 0, 2 of 10, 20, 30, 40. */
#define TEST_SUM(w, mpi_type, c_type)                                                              \
    do {                                                                                           \
        const c_type from[5] = {1, 2, 3, 4, 5};                                                    \
        c_type *target = (c_type *)(w)->base;                                                      \
        fence(w);                                                                                  \
        for (int i = 0; i < 4; i++)                                                                \
            target[i] = (c_type)(10 * (i + 1));                                                    \
        const MPI_Aint order[3] = {3 * sizeof(c_type), 0, 2 * sizeof(c_type)};                     \
        MPI_Datatype strided = vector_of(3, 1, 2, mpi_type), shuffled;                             \
        MPI_Type_create_hindexed_block(3, 1, order, mpi_type, &shuffled);                          \
        MPI_Type_commit(&shuffled);                                                                \
        fence(w);                                                                                  \
        MPI_Accumulate(from, 1, strided, (w)->peer, 0, 1, shuffled, MPI_SUM, (w)->win);            \
        fence(w);                                                                                  \
        CHECK_NAMED(target[3] == (c_type)41 && target[0] == (c_type)13, #mpi_type);                \
        CHECK_NAMED(target[2] == (c_type)35 && target[1] == (c_type)20, #mpi_type);                \
        MPI_Type_free(&strided);                                                                   \
        MPI_Type_free(&shuffled);                                                                  \
    } while (0)

static void test_sums(const struct window *w)
{
    TEST_SUM(w, MPI_CHAR, char); /* which MPI does not ask for and MPICH has */
    TEST_SUM(w, MPI_UNSIGNED_CHAR, unsigned char);
    TEST_SUM(w, MPI_SHORT, short);
    TEST_SUM(w, MPI_INT, int);
    TEST_SUM(w, MPI_LONG, long);
    TEST_SUM(w, MPI_FLOAT, float);
    TEST_SUM(w, MPI_DOUBLE, double);
    TEST_SUM(w, MPI_LONG_DOUBLE, long double);
    TEST_SUM(w, MPI_C_FLOAT_COMPLEX, float complex);
    TEST_SUM(w, MPI_C_DOUBLE_COMPLEX, double complex);
}

static void test_put_and_get(const struct window *w)
{
    enum { N = 12 };
    double from[N], to[N] = {0}, *target = (double *)w->base;
    for (int i = 0; i < N; i++)
        from[i] = 100 * check_rank + i;
    MPI_Datatype strided = vector_of(N / 2, 1, 2, MPI_DOUBLE);

    fence(w);
    MPI_Put(from, 1, strided, w->peer, sizeof(double), 1, strided, w->win);
    fence(w);
    for (int i = 0; i < N; i += 2)
        CHECK(target[1 + i] == 100 * w->peer + i);
    fence(w);
    MPI_Get(to, 1, strided, w->peer, sizeof(double), 1, strided, w->win);
    fence(w);
    for (int i = 0; i < N; i += 2)
        CHECK(to[i] == from[i] && to[i + 1] == 0);
    MPI_Type_free(&strided);
}

static void test_window(struct window *w)
{
    w->peer = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    test_pairs(w);
    test_sums(w);
    test_put_and_get(w);
    MPI_Win_free(&w->win);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    const MPI_Aint bytes = PAIRS * sizeof(struct pair);
    struct pair mine[PAIRS];
    struct window w;

    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.base, &w.win);
    test_window(&w);
    w.base = mine;
    MPI_Win_create(mine, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
    test_window(&w);
    return check_end();
}
