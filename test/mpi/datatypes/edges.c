/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types without data, types of absolute addresses, counts beyond 2^31, and what must be refused.
 */
#include "check.h"

#include <stdint.h>

static void send_to_self(const void *from, int count, MPI_Datatype type, void *to,
                         MPI_Datatype to_type)
{
    MPI_Sendrecv(from, count, type, check_rank, 0, to, count, to_type, check_rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void test_without_data(void)
{
    MPI_Datatype empty, other;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    send_to_self(NULL, 3, empty, NULL, empty);
    MPI_Aint external;
    MPI_Pack_external_size("external32", 2, empty, &external);
    CHECK(external == 0);

    const int from[2] = {1, 2};
    int to[2] = {0, 0}, size;
    other = struct_of(2, (struct member[]){{0, empty}, {4, MPI_INT}});
    MPI_Type_size(other, &size);
    CHECK(size == 4);
    send_to_self(from, 1, other, to, other);
    CHECK(to[0] == 0 && to[1] == 2);
    MPI_Type_free(&other);

    MPI_Aint lb, extent;
    MPI_Type_create_resized(empty, -4, 12, &other);
    MPI_Type_get_extent(other, &lb, &extent);
    CHECK(lb == -4 && extent == 12);
    MPI_Type_free(&other);

    MPI_Type_dup(empty, &other);
    send_to_self(NULL, 1, other, NULL, empty);
    MPI_Type_free(&other);
    other = vector_of(3, 0, 5, MPI_INT);
    send_to_self(from, 1, other, to, other);
    CHECK(to[0] == 0 && to[1] == 2);
    MPI_Type_free(&other);
    MPI_Type_free(&empty);
}

static void test_absolute_addresses(void)
{
    int a = 5, b = 6;
    double c = 7;
    struct {
        int a, b;
        double c;
    } there = {0, 0, 0};
    MPI_Aint address[3];
    MPI_Get_address(&a, &address[0]);
    MPI_Get_address(&b, &address[1]);
    MPI_Get_address(&c, &address[2]);
    MPI_Datatype here = struct_of(
        3,
        (struct member[]){{address[0], MPI_INT}, {address[1], MPI_INT}, {address[2], MPI_DOUBLE}});
    MPI_Datatype packed =
        struct_of(3, (struct member[]){{0, MPI_INT}, {4, MPI_INT}, {8, MPI_DOUBLE}});

    send_to_self(MPI_BOTTOM, 1, here, &there, packed);
    CHECK(there.a == 5 && there.b == 6 && there.c == 7);
    there.a = 8;
    there.b = 9;
    there.c = 10;
    send_to_self(&there, 1, packed, MPI_BOTTOM, here);
    CHECK(a == 8 && b == 9 && c == 10);
    MPI_Type_free(&here);
    MPI_Type_free(&packed);
}

static void test_beyond_31_bits(void)
{
    MPI_Datatype type;
    MPI_Count size, lb, extent;
    MPI_Type_contiguous_c(3000000000, MPI_DOUBLE, &type);
    MPI_Type_size_x(committed(type), &size);
    CHECK(size == 24000000000);
    MPI_Type_free(&type);

    MPI_Type_vector_c(2, 1, 4000000000, MPI_INT, &type);
    MPI_Type_get_extent_x(committed(type), &lb, &extent);
    CHECK(lb == 0 && extent == 16000000004);
    MPI_Type_free(&type);
}

static void test_refused(void)
{
    MPI_Datatype type;
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int error = MPI_Type_contiguous_c(INT64_MAX / 4, MPI_DOUBLE, &type);
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    CHECK(class == MPI_ERR_ARG);
    CHECK_NAMED(strstr(text, "63 bits") != NULL, text);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    test_without_data();
    test_absolute_addresses();
    test_beyond_31_bits();
    test_refused();
    return check_end();
}
