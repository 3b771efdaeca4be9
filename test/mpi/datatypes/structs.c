/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Structs of different members: extent, external32, MPI_Get_elements, and messages of many.
 */
#include "check.h"

#include <stddef.h>

struct record {
    char c;
    double d;
    int i;
    short s;
};

static MPI_Datatype record_type(void)
{
    return struct_of(4, (struct member[]){{offsetof(struct record, c), MPI_CHAR},
                                          {offsetof(struct record, d), MPI_DOUBLE},
                                          {offsetof(struct record, i), MPI_INT},
                                          {offsetof(struct record, s), MPI_SHORT}});
}

static int same(const struct record *a, const struct record *b)
{
    return a->c == b->c && a->d == b->d && a->i == b->i && a->s == b->s;
}

/* Elements in a message of `bytes` bytes, received as `type`. */
static int elements(MPI_Datatype type, int bytes)
{
    MPI_Status status;
    int n = -1;
    MPI_Status_set_elements(&status, MPI_BYTE, bytes);
    MPI_Get_elements(&status, type, &n);
    return n;
}

static void test_external(MPI_Datatype type)
{
    static const unsigned char expected[15] = {'a', 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
    const struct record from = {'a', 1.5, 0x01020304, 0x0506};
    struct record to = {0};
    unsigned char external[15];
    MPI_Aint size, position = 0;

    MPI_Pack_external_size("external32", 1, type, &size);
    CHECK(size == 15);
    MPI_Pack_external("external32", &from, 1, type, external, sizeof(external), &position);
    CHECK(position == 15 && memcmp(external, expected, sizeof(expected)) == 0);
    position = 0;
    MPI_Unpack_external("external32", external, sizeof(external), &position, &to, 1, type);
    CHECK(position == 15 && same(&from, &to));
}

static void test_elements(MPI_Datatype record)
{
    CHECK(elements(record, 15) == 4);
    CHECK(elements(record, 15 + 9) == 6);
    CHECK(elements(record, 15 + 13) == 7);

    MPI_Datatype int_float = struct_of(2, (struct member[]){{0, MPI_INT}, {4, MPI_FLOAT}});
    CHECK(elements(int_float, 12) == 3);

    MPI_Datatype two_ints = struct_of(2, (struct member[]){{0, MPI_INT}, {8, MPI_INT}});
    MPI_Datatype nested = struct_of(2, (struct member[]){{0, two_ints}, {16, MPI_DOUBLE}});
    CHECK(elements(nested, 32) == 6);
    CHECK(elements(nested, 20) == 4);

    CHECK(elements(MPI_FLOAT_INT, 12) == 3);
    CHECK(elements(MPI_DOUBLE_INT, 20) == 3);
    MPI_Datatype pairs, two_int_pairs;
    MPI_Type_contiguous(3, MPI_FLOAT_INT, &pairs);
    MPI_Type_contiguous(3, MPI_2INT, &two_int_pairs);
    CHECK(elements(committed(pairs), 24) == 6);
    CHECK(elements(committed(two_int_pairs), 24) == 6);

    MPI_Datatype int_and_pair = struct_of(2, (struct member[]){{0, MPI_INT}, {8, MPI_DOUBLE_INT}});
    CHECK(elements(int_and_pair, 16) == 3);
    CHECK(elements(int_and_pair, 16 + 12) == 5);

    MPI_Type_free(&int_and_pair);
    MPI_Type_free(&int_float);
    MPI_Type_free(&nested);
    MPI_Type_free(&two_ints);
    MPI_Type_free(&pairs);
    MPI_Type_free(&two_int_pairs);
}

/* More than fits one fragment, and less than the receiver has room for. */
static void test_messages(MPI_Datatype type)
{
    enum { N = 20000 };
    const int peer = (check_rank ^ 1) < check_size ? check_rank ^ 1 : check_rank;
    struct record *from = calloc(N, sizeof(*from));
    for (int i = 0; i < N; i++)
        from[i] = (struct record){(char)i, i * 1.5, i * 3, (short)i};

    for (int sent = N; sent >= N / 2; sent -= N / 2) {
        struct record *to = calloc(N, sizeof(*to));
        MPI_Status status;
        int received, wrong = 0;
        MPI_Sendrecv(from, sent, type, peer, 2, to, N, type, peer, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &received);
        CHECK(received == sent);
        for (int i = 0; i < N; i++)
            wrong += !same(&to[i], i < sent ? &from[i] : &(struct record){0});
        CHECK(wrong == 0);
        free(to);
    }
    free(from);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Datatype type = record_type();
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(lb == 0 && extent == sizeof(struct record));
    test_external(type);
    test_elements(type);
    test_messages(type);
    MPI_Type_free(&type);
    return check_end();
}
