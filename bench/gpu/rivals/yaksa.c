/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adapter to yaksa 0.4: cc -shared -fPIC -I.. -I../../../include -IPREFIX/include yaksa.c
 * -LPREFIX/lib -lyaksa
 */
#include "rival.h"

#include <stdlib.h>
#include <yaksa.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != YAKSA_SUCCESS)                                                               \
            return 1;                                                                              \
    } while (0)

struct made {
    yaksa_type_t type;
    uintptr_t count;
};

static int ready(void)
{
    static int done;
    if (!done)
        CHECK(yaksa_init(NULL));
    done = 1;
    return 0;
}

static yaksa_type_t predefined(heddle_predefined which)
{
    switch (which) {
    case HEDDLE_DOUBLE:
        return YAKSA_TYPE__DOUBLE;
    case HEDDLE_INT32:
        return YAKSA_TYPE__INT32_T;
    case HEDDLE_CHAR:
        return YAKSA_TYPE__CHAR;
    case HEDDLE_BYTE:
        return YAKSA_TYPE__BYTE;
    default:
        return YAKSA_TYPE__NULL;
    }
}

/* Types that others are made of are kept: the benchmark makes few. */
static int build(const struct rival_type *t, yaksa_type_t *type)
{
    yaksa_type_t old = YAKSA_TYPE__NULL;
    if (t->maker == RIVAL_PREDEFINED) {
        *type = predefined(t->predefined);
        return *type == YAKSA_TYPE__NULL;
    }
    if (t->maker == RIVAL_STRUCT) {
        yaksa_type_t *members = malloc((size_t)t->count * sizeof *members);
        int error = !members;
        for (int64_t i = 0; !error && i < t->count; ++i)
            error = build(t->old[i], &members[i]);
        if (!error)
            error = yaksa_type_create_struct(t->count, t->lengths, t->displs, members, NULL, type);
        free(members);
        return error;
    }
    if (build(t->old[0], &old))
        return 1;
    switch (t->maker) {
    case RIVAL_CONTIGUOUS:
        return yaksa_type_create_contig(t->count, old, NULL, type);
    case RIVAL_HVECTOR:
        return yaksa_type_create_hvector(t->count, t->blocklength, t->hstride, old, NULL, type);
    case RIVAL_INDEXED:
        return yaksa_type_create_indexed(t->count, t->lengths, t->displs, old, NULL, type);
    case RIVAL_HINDEXED:
        return yaksa_type_create_hindexed(t->count, t->lengths, t->displs, old, NULL, type);
    case RIVAL_HINDEXED_BLOCK:
        return yaksa_type_create_hindexed_block(t->count, t->blocklength, t->displs, old, NULL,
                                                type);
    case RIVAL_RESIZED:
        return yaksa_type_create_resized(old, t->lb, t->extent, NULL, type);
    case RIVAL_SUBARRAY:
        return yaksa_type_create_subarray((int)t->count, t->sizes, t->subsizes, t->starts,
                                          YAKSA_SUBARRAY_ORDER__C, old, NULL, type);
    default:
        return 1;
    }
}

void *rival_make(const struct rival_type *type, int64_t count, const char *layout, int64_t extent)
{
    (void)layout, (void)extent;
    struct made *made = malloc(sizeof *made);
    if (made && (ready() || build(type, &made->type))) {
        free(made);
        return NULL;
    }
    if (made)
        made->count = (uintptr_t)count;
    return made;
}

int rival_move(void *handle, void *user, void *packed, int64_t bytes, int pack, void *stream)
{
    const struct made *made = handle;
    uintptr_t moved = 0;
    if (pack)
        CHECK(yaksa_pack_stream(user, made->count, made->type, 0, packed, (uintptr_t)bytes, &moved,
                                NULL, YAKSA_OP__REPLACE, &stream));
    else
        CHECK(yaksa_unpack_stream(packed, (uintptr_t)bytes, user, made->count, made->type, 0,
                                  &moved, NULL, YAKSA_OP__REPLACE, &stream));
    return moved == (uintptr_t)bytes ? 0 : 2;
}

void rival_free(void *handle)
{
    struct made *made = handle;
    if (made)
        yaksa_type_free(made->type);
    free(made);
}
