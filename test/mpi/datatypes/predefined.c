/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every predefined type of C, C++ and Fortran, in a strided layout: its size, pack and unpack,
 * external32 there and back, and a message.
 */
#include "check.h"

#define ENTRY(type)                                                                                \
    {                                                                                              \
        type, #type                                                                                \
    }

static const struct {
    MPI_Datatype type;
    const char *name;
} predefined[] = {
    ENTRY(MPI_CHAR),
    ENTRY(MPI_SIGNED_CHAR),
    ENTRY(MPI_UNSIGNED_CHAR),
    ENTRY(MPI_BYTE),
    ENTRY(MPI_PACKED),
    ENTRY(MPI_WCHAR),
    ENTRY(MPI_SHORT),
    ENTRY(MPI_UNSIGNED_SHORT),
    ENTRY(MPI_INT),
    ENTRY(MPI_UNSIGNED),
    ENTRY(MPI_LONG),
    ENTRY(MPI_UNSIGNED_LONG),
    ENTRY(MPI_LONG_LONG),
    ENTRY(MPI_UNSIGNED_LONG_LONG),
    ENTRY(MPI_FLOAT),
    ENTRY(MPI_DOUBLE),
    ENTRY(MPI_LONG_DOUBLE),
    ENTRY(MPI_INT8_T),
    ENTRY(MPI_INT16_T),
    ENTRY(MPI_INT32_T),
    ENTRY(MPI_INT64_T),
    ENTRY(MPI_UINT8_T),
    ENTRY(MPI_UINT16_T),
    ENTRY(MPI_UINT32_T),
    ENTRY(MPI_UINT64_T),
    ENTRY(MPI_C_BOOL),
    ENTRY(MPI_C_COMPLEX),
    ENTRY(MPI_C_DOUBLE_COMPLEX),
    ENTRY(MPI_C_LONG_DOUBLE_COMPLEX),
    ENTRY(MPI_AINT),
    ENTRY(MPI_OFFSET),
    ENTRY(MPI_COUNT),
    ENTRY(MPI_2INT),
    ENTRY(MPI_FLOAT_INT),
    ENTRY(MPI_DOUBLE_INT),
    ENTRY(MPI_LONG_INT),
    ENTRY(MPI_SHORT_INT),
    ENTRY(MPI_LONG_DOUBLE_INT),
    ENTRY(MPI_COMPLEX),
    ENTRY(MPI_DOUBLE_COMPLEX),
    ENTRY(MPI_LOGICAL),
    ENTRY(MPI_REAL),
    ENTRY(MPI_DOUBLE_PRECISION),
    ENTRY(MPI_INTEGER),
    ENTRY(MPI_2INTEGER),
    ENTRY(MPI_2REAL),
    ENTRY(MPI_2DOUBLE_PRECISION),
    ENTRY(MPI_CHARACTER),
    ENTRY(MPI_REAL4),
    ENTRY(MPI_REAL8),
    ENTRY(MPI_REAL16),
    ENTRY(MPI_COMPLEX8),
    ENTRY(MPI_COMPLEX16),
    ENTRY(MPI_COMPLEX32),
    ENTRY(MPI_INTEGER1),
    ENTRY(MPI_INTEGER2),
    ENTRY(MPI_INTEGER4),
    ENTRY(MPI_INTEGER8),
    ENTRY(MPI_INTEGER16),
    ENTRY(MPI_CXX_BOOL),
    ENTRY(MPI_CXX_FLOAT_COMPLEX),
    ENTRY(MPI_CXX_DOUBLE_COMPLEX),
    ENTRY(MPI_CXX_LONG_DOUBLE_COMPLEX),
    ENTRY(MPIX_C_FLOAT16),
};

/* Types whose every bit pattern of this size survives the way to external32 and back. */
static int external_keeps_all_bits(MPI_Datatype type, MPI_Aint size, MPI_Aint external_size)
{
    return size == external_size && type != MPI_LONG_DOUBLE && type != MPI_C_LONG_DOUBLE_COMPLEX &&
           type != MPI_CXX_LONG_DOUBLE_COMPLEX && type != MPI_LONG_DOUBLE_INT &&
           type != MPI_C_BOOL && type != MPI_CXX_BOOL && type != MPI_LOGICAL;
}

static void test(MPI_Datatype type, const char *name)
{
    int size, vector_size, position;
    MPI_Aint lb, extent;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Datatype vector = vector_of(5, 2, 3, type);
    MPI_Type_size(vector, &vector_size);
    CHECK_NAMED(vector_size == 10 * size, name);

    const size_t bytes = 15 * (size_t)extent;
    unsigned char *from = malloc(bytes), *to = calloc(bytes, 1);
    unsigned char *packed = malloc(bytes), *again = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)(7 * i + 3);

    position = 0;
    MPI_Pack(from, 1, vector, packed, (int)bytes, &position, MPI_COMM_SELF);
    CHECK_NAMED(position == vector_size, name);
    position = 0;
    MPI_Unpack(packed, vector_size, &position, to, 1, vector, MPI_COMM_SELF);
    position = 0;
    MPI_Pack(to, 1, vector, again, (int)bytes, &position, MPI_COMM_SELF);
    CHECK_NAMED(memcmp(packed, again, (size_t)vector_size) == 0, name);

    memset(to, 0, bytes);
    MPI_Sendrecv(from, 1, vector, check_rank, 1, to, 1, vector, check_rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    position = 0;
    MPI_Pack(to, 1, vector, again, (int)bytes, &position, MPI_COMM_SELF);
    CHECK_NAMED(memcmp(packed, again, (size_t)vector_size) == 0, name);

    MPI_Aint one, all, at = 0;
    MPI_Pack_external_size("external32", 1, type, &one);
    MPI_Pack_external_size("external32", 1, vector, &all);
    CHECK_NAMED(one > 0 && all == 10 * one, name);
    if (external_keeps_all_bits(type, size, one)) {
        unsigned char *external = malloc((size_t)all + 1);
        external[all] = 77;
        MPI_Pack_external("external32", from, 1, vector, external, all, &at);
        CHECK_NAMED(at == all && external[all] == 77, name);
        memset(to, 0, bytes);
        at = 0;
        MPI_Unpack_external("external32", external, all, &at, to, 1, vector);
        position = 0;
        MPI_Pack(to, 1, vector, again, (int)bytes, &position, MPI_COMM_SELF);
        CHECK_NAMED(memcmp(packed, again, (size_t)vector_size) == 0, name);
        free(external);
    }
    free(from);
    free(to);
    free(packed);
    free(again);
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (size_t i = 0; i < sizeof(predefined) / sizeof(predefined[0]); i++)
        if (predefined[i].type != MPI_DATATYPE_NULL)
            test(predefined[i].type, predefined[i].name);
    return check_end();
}
