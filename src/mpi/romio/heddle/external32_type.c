/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A datatype as it lies in a file in external32, where some elements have other sizes than in
 * memory (MPI 4.0, 14.5.1). Displacements in extents follow. Displacements in bytes are the
 * program's, and stay.
 */
#include "adio.h"
#include "heddle_files.h"

#include <stdlib.h>

/* What a type was made of. Numbers are in the order of the constructor's arguments, but for arrays:
 * there those that may be large stand alone. */
struct contents {
    MPI_Count integers, addresses, counts, types;
    int combiner;
    int *integer;
    MPI_Aint *address;
    MPI_Count *number;
    MPI_Datatype *type;
};

static void drop_contents(struct contents *c)
{
    for (MPI_Count i = 0; c->type != NULL && i < c->types; i++)
        MPIO_Drop_type(&c->type[i]);
    MPL_free(c->integer);
    MPL_free(c->address);
    MPL_free(c->number);
    MPL_free(c->type);
}

/* The large numbers of small constructors are integers and addresses: they are moved to where those
 * of large ones are. */
static void unify(struct contents *c)
{
    if (c->counts > 0)
        return;
    MPI_Count n = 0;
    if (c->combiner == MPI_COMBINER_SUBARRAY) {
        const int dims = c->integer[0];
        for (int i = 0; i < 3 * dims; i++)
            c->number[n++] = c->integer[1 + i];
        c->integer[1] = c->integer[1 + 3 * dims];
    } else if (c->combiner == MPI_COMBINER_DARRAY) {
        const int dims = c->integer[2];
        for (int i = 0; i < dims; i++)
            c->number[n++] = c->integer[3 + i];
        for (int i = 3; i < 3 + 3 * dims + 1; i++)
            c->integer[i] = c->integer[i + dims];
    } else {
        for (MPI_Count i = 0; i < c->integers; i++)
            c->number[n++] = c->integer[i];
        for (MPI_Count i = 0; i < c->addresses; i++)
            c->number[n++] = c->address[i];
    }
}

static int get_contents(MPI_Datatype type, struct contents *c)
{
    *c = (struct contents){0};
    int err = PMPI_Type_get_envelope_c(type, &c->integers, &c->addresses, &c->counts, &c->types,
                                       &c->combiner);
    if (err != MPI_SUCCESS || c->combiner == MPI_COMBINER_NAMED)
        return err;
    c->integer = MPL_calloc(c->integers + 1, sizeof *c->integer, MPL_MEM_IO);
    c->address = MPL_calloc(c->addresses + 1, sizeof *c->address, MPL_MEM_IO);
    c->number =
        MPL_calloc(c->integers + c->addresses + c->counts + 1, sizeof *c->number, MPL_MEM_IO);
    MPI_Datatype *types = MPL_calloc(c->types + 1, sizeof *types, MPL_MEM_IO);
    err = MPI_ERR_NO_MEM;
    if (c->integer != NULL && c->address != NULL && c->number != NULL && types != NULL)
        err = PMPI_Type_get_contents_c(type, c->integers, c->addresses, c->counts, c->types,
                                       c->integer, c->address, c->number, types);
    if (err != MPI_SUCCESS) {
        MPL_free(types);
        return err;
    }
    c->type = types;
    unify(c);
    return MPI_SUCCESS;
}

/* The same constructor on other types. */
static int rebuild(const struct contents *c, const MPI_Datatype *types, MPI_Datatype *newtype)
{
    const MPI_Count *n = c->number, *rest = n + 1;
    const int *i = c->integer;
    int dims;
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return PMPI_Type_contiguous_c(n[0], types[0], newtype);
    case MPI_COMBINER_VECTOR:
        return PMPI_Type_vector_c(n[0], n[1], n[2], types[0], newtype);
    case MPI_COMBINER_HVECTOR:
        return PMPI_Type_create_hvector_c(n[0], n[1], n[2], types[0], newtype);
    case MPI_COMBINER_INDEXED:
        return PMPI_Type_indexed_c(n[0], rest, rest + n[0], types[0], newtype);
    case MPI_COMBINER_HINDEXED:
        return PMPI_Type_create_hindexed_c(n[0], rest, rest + n[0], types[0], newtype);
    case MPI_COMBINER_INDEXED_BLOCK:
        return PMPI_Type_create_indexed_block_c(n[0], n[1], rest + 1, types[0], newtype);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return PMPI_Type_create_hindexed_block_c(n[0], n[1], rest + 1, types[0], newtype);
    case MPI_COMBINER_STRUCT:
        return PMPI_Type_create_struct_c(n[0], rest, rest + n[0], types, newtype);
    case MPI_COMBINER_RESIZED:
        return PMPI_Type_create_resized_c(types[0], n[0], n[1], newtype);
    case MPI_COMBINER_SUBARRAY:
        dims = i[0];
        return PMPI_Type_create_subarray_c(dims, n, n + dims, n + 2 * dims, i[1], types[0],
                                           newtype);
    case MPI_COMBINER_DARRAY:
        dims = i[2];
        return PMPI_Type_create_darray_c(i[0], i[1], dims, n, i + 3, i + 3 + dims, i + 3 + 2 * dims,
                                         i[3 + 3 * dims], types[0], newtype);
    default: /* MPI_COMBINER_DUP */
        return PMPI_Type_contiguous_c(1, types[0], newtype);
    }
}

static int convert_parts(const struct contents *c, MPI_Datatype *newtype)
{
    MPI_Datatype *parts = MPL_calloc(c->types, sizeof *parts, MPL_MEM_IO);
    MPI_Count made = 0;
    int err = parts != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    while (err == MPI_SUCCESS && made < c->types) {
        err = MPIO_External32_type(c->type[made], &parts[made]);
        made += err == MPI_SUCCESS;
    }
    if (err == MPI_SUCCESS)
        err = rebuild(c, parts, newtype);
    while (made > 0)
        MPIO_Drop_type(&parts[--made]);
    MPL_free(parts);
    return err;
}

int MPIO_External32_type(MPI_Datatype native, MPI_Datatype *external)
{
    MPI_Count size;
    MPI_Aint external_size = 0;
    struct contents c;
    MPI_Type_size_x(native, &size);
    int err = PMPI_Pack_external_size("external32", 1, native, &external_size);
    if (err == MPI_SUCCESS)
        err = get_contents(native, &c);
    if (err != MPI_SUCCESS)
        return err;

    if (c.types > 0)
        err = size == external_size ? PMPI_Type_contiguous_c(1, native, external)
                                    : convert_parts(&c, external);
    else if (size == external_size && c.combiner == MPI_COMBINER_NAMED)
        *external = native;
    else
        err = PMPI_Type_contiguous_c(external_size, MPI_BYTE, external);
    drop_contents(&c);
    return err;
}
