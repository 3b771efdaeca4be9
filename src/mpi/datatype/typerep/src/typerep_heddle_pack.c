/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy, pack and unpack. Contiguous data on the host is a memcpy found with a few instructions;
 * everything else is the engine's. The forms that return a request complete before they return.
 */
#include "typerep_internal.h"

static int pack_by_engine(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                          MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                          MPI_Aint *actual_pack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, type,
                     heddle_pack(inbuf, incount, type, inoffset, outbuf, max_pack_bytes, &actual));
    *actual_pack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

static int unpack_by_engine(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                            MPI_Datatype datatype, MPI_Aint outoffset,
                            MPI_Aint *actual_unpack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, type,
                     heddle_unpack(inbuf, insize, outbuf, outcount, type, outoffset, &actual));
    *actual_unpack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

/* A buffer whose instances follow each other without gaps. */
struct run {
    char *start;
    MPI_Aint size;
    MPI_Aint element; /* size of the elements, not positive where they differ */
};

static inline bool is_run(const void *buf, MPI_Aint count, MPI_Datatype datatype, struct run *run)
{
    if (HANDLE_IS_BUILTIN(datatype)) {
        run->start = (char *)buf;
        run->element = MPIR_Datatype_get_basic_size(datatype);
        run->size = count * run->element;
        return true;
    }
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    MPIR_Assert(dtp != NULL);
    if (!dtp->is_contig)
        return false;
    run->start = MPIR_get_contig_ptr(buf, dtp->true_lb);
    run->element = dtp->builtin_element_size;
    run->size = count * dtp->size;
    return true;
}

/* How many bytes to pack where not everything fits: up to an element's end, or else what there is
 * room for. */
static inline MPI_Aint whole_elements(MPI_Aint offset, MPI_Aint room, MPI_Aint element)
{
    MPI_Aint whole = room - (offset + room) % element;
    return whole > 0 ? whole : room;
}

/* `bytes` packed bytes from `inoffset` on, or what there is room for. */
static int pack_on_device(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                          MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                          MPI_Aint *actual_pack_bytes)
{
    MPI_Aint size, element;
    MPIR_Datatype_get_size_macro(datatype, size);
    if (HANDLE_IS_BUILTIN(datatype)) {
        element = size;
    } else {
        MPIR_Datatype *dtp;
        MPIR_Datatype_get_ptr(datatype, dtp);
        element = dtp->builtin_element_size;
    }
    MPI_Aint bytes = incount * size - inoffset;
    if (bytes > max_pack_bytes)
        bytes = element > 0 ? whole_elements(inoffset, max_pack_bytes, element) : max_pack_bytes;
    const heddle_side from = MPII_heddle_side(inbuf, incount, datatype, inoffset);
    const heddle_side to = MPII_heddle_packed(outbuf, bytes);
    *actual_pack_bytes = bytes;
    return MPII_heddle_transfer(&from, &to, bytes, HEDDLE_OP_REPLACE);
}

static inline int pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                       MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                       MPI_Aint *actual_pack_bytes)
{
    if (incount == 0) {
        *actual_pack_bytes = 0;
        return MPI_SUCCESS;
    }
    if (max_pack_bytes < 0) /* SIZE_MAX: UCX's protocols of 1.13 and later say so of what they know
                               to fit */
        max_pack_bytes = PTRDIFF_MAX;

    if (unlikely(MPII_heddle_on_device(inbuf, datatype) || MPII_heddle_on_device(outbuf, MPI_BYTE)))
        return pack_on_device(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,
                              actual_pack_bytes);

    struct run run;
    if (!is_run(inbuf, incount, datatype, &run))
        return pack_by_engine(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,
                              actual_pack_bytes);

    MPI_Aint bytes = run.size - inoffset;
    if (bytes > max_pack_bytes && run.element > 0)
        bytes = whole_elements(inoffset, max_pack_bytes, run.element);
    if (unlikely(bytes > max_pack_bytes || bytes < 0))
        return pack_by_engine(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,
                              actual_pack_bytes);

    MPIR_Memcpy(outbuf, run.start + inoffset, bytes);
    *actual_pack_bytes = bytes;
    return MPI_SUCCESS;
}

/* No transport cuts a message into first pieces as short as this:
 * what is shorter is a whole message. */
#define SHORTEST_PIECE 512

/* A message that ends within a primitive was sent as other primitives. Its receiver looks for that:
 * it reports an error where fewer bytes were unpacked than came. */
static void keep_whole_elements(MPI_Datatype datatype, MPI_Aint *bytes)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    if (dtp->builtin_element_size > 0)
        *bytes -= *bytes % dtp->builtin_element_size;
}

static int unpack_on_device(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                            MPI_Datatype datatype, MPI_Aint outoffset,
                            MPI_Aint *actual_unpack_bytes)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    const MPI_Aint bytes = MPL_MIN(outcount * size - outoffset, insize);
    const heddle_side from = MPII_heddle_packed(inbuf, bytes);
    const heddle_side to = MPII_heddle_side(outbuf, outcount, datatype, outoffset);
    *actual_unpack_bytes = bytes;
    return MPII_heddle_transfer(&from, &to, bytes, HEDDLE_OP_REPLACE);
}

static inline int unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                         MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint *actual_unpack_bytes)
{
    if (insize == 0) {
        *actual_unpack_bytes = 0;
        return MPI_SUCCESS;
    }

    const bool on_device =
        MPII_heddle_on_device(inbuf, MPI_BYTE) || MPII_heddle_on_device(outbuf, datatype);
    struct run run;
    if (unlikely(on_device) || !is_run(outbuf, outcount, datatype, &run)) {
        int rc = (on_device ? unpack_on_device : unpack_by_engine)(
            inbuf, insize, outbuf, outcount, datatype, outoffset, actual_unpack_bytes);
        if (outoffset == 0 && insize < SHORTEST_PIECE)
            keep_whole_elements(datatype, actual_unpack_bytes);
        return rc;
    }

    MPI_Aint bytes = MPL_MIN(run.size - outoffset, insize);
    if (unlikely(bytes < 0))
        return unpack_by_engine(inbuf, insize, outbuf, outcount, datatype, outoffset,
                                actual_unpack_bytes);

    MPIR_Memcpy(run.start + outoffset, inbuf, bytes);
    *actual_unpack_bytes = bytes;
    return MPI_SUCCESS;
}

int MPIR_Typerep_copy(void *outbuf, const void *inbuf, MPI_Aint num_bytes)
{
    if (unlikely(MPII_heddle_on_device(inbuf, MPI_BYTE) ||
                 MPII_heddle_on_device(outbuf, MPI_BYTE))) {
        const heddle_side from = MPII_heddle_packed(inbuf, num_bytes),
                          to = MPII_heddle_packed(outbuf, num_bytes);
        return MPII_heddle_transfer(&from, &to, num_bytes, HEDDLE_OP_REPLACE);
    }
    if (num_bytes > 0)
        MPIR_Memcpy(outbuf, inbuf, num_bytes);
    return MPI_SUCCESS;
}

int MPIR_Typerep_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, MPI_Aint inoffset,
                      void *outbuf, MPI_Aint max_pack_bytes, MPI_Aint *actual_pack_bytes)
{
    return pack(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes, actual_pack_bytes);
}

int MPIR_Typerep_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                        MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint *actual_unpack_bytes)
{
    return unpack(inbuf, insize, outbuf, outcount, datatype, outoffset, actual_unpack_bytes);
}

int MPIR_Typerep_icopy(void *outbuf, const void *inbuf, MPI_Aint num_bytes,
                       MPIR_Typerep_req *typerep_req)
{
    *typerep_req = MPIR_TYPEREP_REQ_NULL;
    return MPIR_Typerep_copy(outbuf, inbuf, num_bytes);
}

int MPIR_Typerep_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                       MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                       MPI_Aint *actual_pack_bytes, MPIR_Typerep_req *typerep_req)
{
    *typerep_req = MPIR_TYPEREP_REQ_NULL;
    return pack(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes, actual_pack_bytes);
}

int MPIR_Typerep_iunpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                         MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint *actual_unpack_bytes,
                         MPIR_Typerep_req *typerep_req)
{
    *typerep_req = MPIR_TYPEREP_REQ_NULL;
    return unpack(inbuf, insize, outbuf, outcount, datatype, outoffset, actual_unpack_bytes);
}

int MPIR_Typerep_wait(MPIR_Typerep_req typerep_req)
{
    MPIR_Assert(typerep_req == MPIR_TYPEREP_REQ_NULL);
    return MPI_SUCCESS;
}
