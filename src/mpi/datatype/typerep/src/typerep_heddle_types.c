/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's predefined datatypes and operators in the engine's terms.
 *
 * A C type has one engine type. A Fortran type is what its size makes it, which depends on the
 * compiler and its options; the class says what kind of thing it holds. Types that a build lacks
 * are MPI_DATATYPE_NULL there and are skipped.
 */
#include "typerep_internal.h"

/* Whether Fortran's .FALSE. is 0 and its .TRUE. is 1, as they are to the engine. */
#ifdef HAVE_FORTRAN_BINDING
#include "mpii_fortlogical.h"
#define USUAL_LOGICALS (MPII_F_FALSE == 0 && MPII_F_TRUE == 1)
#else
#define USUAL_LOGICALS 0
#endif

heddle_type *MPII_heddle_empty;

/* The element by which the engine may reduce a builtin type, or HEDDLE_MIXED. */
static heddle_predefined builtin_element[MPIR_DATATYPE_N_BUILTIN];

enum type_class {
    EXACT, /* the engine type that stands beside it, whatever MPI says of its size */
    SIGNED_INTEGER,
    REAL,
    COMPLEX,
    LOGICAL,
    INTEGER_PAIR,
    REAL_PAIR
};

static const struct {
    MPI_Datatype type;
    enum type_class class;
    heddle_predefined exact;
} builtin_types[] = {
    {MPI_CHAR, EXACT, HEDDLE_CHAR},
    {MPI_SIGNED_CHAR, EXACT, HEDDLE_INT8},
    {MPI_UNSIGNED_CHAR, EXACT, HEDDLE_UINT8},
    {MPI_BYTE, EXACT, HEDDLE_BYTE},
    {MPI_PACKED, EXACT, HEDDLE_BYTE},
    {MPI_WCHAR, EXACT, HEDDLE_WCHAR},
    {MPI_SHORT, EXACT, HEDDLE_INT16},
    {MPI_UNSIGNED_SHORT, EXACT, HEDDLE_UINT16},
    {MPI_INT, EXACT, HEDDLE_INT32},
    {MPI_UNSIGNED, EXACT, HEDDLE_UINT32},
    {MPI_LONG, EXACT, HEDDLE_LONG},
    {MPI_UNSIGNED_LONG, EXACT, HEDDLE_ULONG},
    {MPI_LONG_LONG, EXACT, HEDDLE_INT64},
    {MPI_UNSIGNED_LONG_LONG, EXACT, HEDDLE_UINT64},
    {MPI_FLOAT, EXACT, HEDDLE_FLOAT},
    {MPI_DOUBLE, EXACT, HEDDLE_DOUBLE},
    {MPI_LONG_DOUBLE, EXACT, HEDDLE_LONG_DOUBLE},
    {MPI_2INT, EXACT, HEDDLE_2INT32},

    {MPI_INT8_T, EXACT, HEDDLE_INT8},
    {MPI_INT16_T, EXACT, HEDDLE_INT16},
    {MPI_INT32_T, EXACT, HEDDLE_INT32},
    {MPI_INT64_T, EXACT, HEDDLE_INT64},
    {MPI_UINT8_T, EXACT, HEDDLE_UINT8},
    {MPI_UINT16_T, EXACT, HEDDLE_UINT16},
    {MPI_UINT32_T, EXACT, HEDDLE_UINT32},
    {MPI_UINT64_T, EXACT, HEDDLE_UINT64},
    {MPI_C_BOOL, EXACT, HEDDLE_BOOL},
    {MPI_C_COMPLEX, EXACT, HEDDLE_COMPLEX_FLOAT},
    {MPI_C_DOUBLE_COMPLEX, EXACT, HEDDLE_COMPLEX_DOUBLE},
    {MPI_C_LONG_DOUBLE_COMPLEX, EXACT, HEDDLE_COMPLEX_LONG_DOUBLE},
    {MPI_AINT, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_OFFSET, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_COUNT, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPIX_C_FLOAT16, EXACT, HEDDLE_FLOAT16},

    {MPI_CHARACTER, EXACT, HEDDLE_CHAR},
    {MPI_LOGICAL, LOGICAL, HEDDLE_MIXED},
    {MPI_INTEGER, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_INTEGER1, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_INTEGER2, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_INTEGER4, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_INTEGER8, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_INTEGER16, SIGNED_INTEGER, HEDDLE_MIXED},
    {MPI_REAL, REAL, HEDDLE_MIXED},
    {MPI_REAL4, REAL, HEDDLE_MIXED},
    {MPI_REAL8, REAL, HEDDLE_MIXED},
    {MPI_REAL16, REAL, HEDDLE_MIXED},
    {MPI_DOUBLE_PRECISION, REAL, HEDDLE_MIXED},
    {MPI_COMPLEX, COMPLEX, HEDDLE_MIXED},
    {MPI_COMPLEX8, COMPLEX, HEDDLE_MIXED},
    {MPI_COMPLEX16, COMPLEX, HEDDLE_MIXED},
    {MPI_COMPLEX32, COMPLEX, HEDDLE_MIXED},
    {MPI_DOUBLE_COMPLEX, COMPLEX, HEDDLE_MIXED},
    {MPI_2INTEGER, INTEGER_PAIR, HEDDLE_MIXED},
    {MPI_2REAL, REAL_PAIR, HEDDLE_MIXED},
    {MPI_2DOUBLE_PRECISION, REAL_PAIR, HEDDLE_MIXED},

    {MPI_CXX_BOOL, EXACT, HEDDLE_BOOL},
    {MPI_CXX_FLOAT_COMPLEX, EXACT, HEDDLE_COMPLEX_FLOAT},
    {MPI_CXX_DOUBLE_COMPLEX, EXACT, HEDDLE_COMPLEX_DOUBLE},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, EXACT, HEDDLE_COMPLEX_LONG_DOUBLE},
};

static heddle_predefined integer_of_size(MPI_Aint size)
{
    switch (size) {
    case 1:
        return HEDDLE_INT8;
    case 2:
        return HEDDLE_INT16;
    case 4:
        return HEDDLE_INT32;
    case 8:
        return HEDDLE_INT64;
    case 16:
        return HEDDLE_INT128;
    default:
        return HEDDLE_MIXED;
    }
}

/* A Fortran real of 16 bytes is IEEE's binary128, never the x87's 80 bits in 16 bytes. */
static heddle_predefined real_of_size(MPI_Aint size)
{
    return size == 4    ? HEDDLE_FLOAT
           : size == 8  ? HEDDLE_DOUBLE
           : size == 16 ? HEDDLE_FLOAT128
                        : HEDDLE_MIXED;
}

static heddle_predefined complex_of_size(MPI_Aint size)
{
    return size == 8    ? HEDDLE_COMPLEX_FLOAT
           : size == 16 ? HEDDLE_COMPLEX_DOUBLE
           : size == 32 ? HEDDLE_COMPLEX_FLOAT128
                        : HEDDLE_MIXED;
}

/* The engine's LOGICAL has 4 bytes; one of another size or other values is MPICH's to reduce. */
static heddle_predefined logical_of_size(MPI_Aint size)
{
    return USUAL_LOGICALS && size == 4 ? HEDDLE_LOGICAL : HEDDLE_MIXED;
}

static heddle_predefined element_of(enum type_class class, MPI_Aint size)
{
    switch (class) {
    case SIGNED_INTEGER:
        return integer_of_size(size);
    case REAL:
        return real_of_size(size);
    case COMPLEX:
        return complex_of_size(size);
    case LOGICAL:
        return logical_of_size(size);
    case INTEGER_PAIR:
        return size == 8 ? HEDDLE_2INT32 : size == 16 ? HEDDLE_2INT64 : HEDDLE_MIXED;
    case REAL_PAIR:
        return size == 8 ? HEDDLE_2FLOAT : size == 16 ? HEDDLE_2DOUBLE : HEDDLE_MIXED;
    default:
        return HEDDLE_MIXED;
    }
}

/* An engine type that holds `size` bytes, aligned and byte-swapped as one number where there is an
 * integer of that size. */
static heddle_type *opaque_type(MPI_Aint size)
{
    heddle_predefined integer = integer_of_size(size);
    if (integer != HEDDLE_MIXED)
        return heddle_type_predefined(integer);

    heddle_type *bytes = NULL;
    int rc = heddle_type_contiguous(size, heddle_type_predefined(HEDDLE_BYTE), &bytes);
    if (rc == HEDDLE_SUCCESS)
        rc = heddle_type_commit(bytes);
    MPIR_Assertp(rc == HEDDLE_SUCCESS);
    return bytes;
}

void MPII_heddle_types_init(void)
{
    for (int i = 0; i < MPIR_DATATYPE_N_BUILTIN; i++)
        builtin_element[i] = HEDDLE_MIXED;

    for (size_t i = 0; i < sizeof(builtin_types) / sizeof(builtin_types[0]); i++) {
        MPI_Datatype type = builtin_types[i].type;
        if (type == MPI_DATATYPE_NULL)
            continue;

        int index = type & 0xff;
        MPI_Aint size = MPIR_Datatype_get_basic_size(type);
        enum type_class class = builtin_types[i].class;
        heddle_predefined element =
            class == EXACT ? builtin_types[i].exact : element_of(class, size);

        heddle_type_info info = {.bytes = sizeof info};
        if (element != HEDDLE_MIXED) {
            heddle_type *exact = heddle_type_predefined(element);
            if (heddle_type_get_info(exact, &info) == HEDDLE_SUCCESS && info.size == size) {
                MPIR_Datatype_builtin[index].typerep.handle = exact;
                builtin_element[index] = element;
                continue;
            }
        }
        MPIR_Datatype_builtin[index].typerep.handle = opaque_type(size);
    }

    int rc = heddle_type_contiguous(0, heddle_type_predefined(HEDDLE_BYTE), &MPII_heddle_empty);
    if (rc == HEDDLE_SUCCESS)
        rc = heddle_type_commit(MPII_heddle_empty);
    MPIR_Assertp(rc == HEDDLE_SUCCESS);
}

void MPII_heddle_types_finalize(void)
{
    for (int i = 0; i < MPIR_DATATYPE_N_BUILTIN; i++) {
        heddle_type_release(MPIR_Datatype_builtin[i].typerep.handle); /* the predefined ones stay */
        MPIR_Datatype_builtin[i].typerep.handle = NULL;
    }
    heddle_type_release(MPII_heddle_empty);
    MPII_heddle_empty = NULL;
}

heddle_predefined MPII_heddle_element(MPI_Datatype predefined)
{
    if (HANDLE_IS_BUILTIN(predefined))
        return builtin_element[predefined & 0xff];
    if (predefined == MPI_FLOAT_INT)
        return HEDDLE_FLOAT_INT;
    if (predefined == MPI_DOUBLE_INT)
        return HEDDLE_DOUBLE_INT;
    if (predefined == MPI_LONG_INT)
        return HEDDLE_LONG_INT;
    if (predefined == MPI_SHORT_INT)
        return HEDDLE_SHORT_INT;
    if (predefined == MPI_LONG_DOUBLE_INT)
        return HEDDLE_LONG_DOUBLE_INT;
    return HEDDLE_MIXED;
}

static heddle_op operator_of(MPI_Op op)
{
    switch (op) {
    case MPI_REPLACE:
        return HEDDLE_OP_REPLACE;
    case MPI_NO_OP:
        return HEDDLE_OP_NO_OP;
    case MPI_SUM:
        return HEDDLE_OP_SUM;
    case MPI_PROD:
        return HEDDLE_OP_PROD;
    case MPI_MAX:
        return HEDDLE_OP_MAX;
    case MPI_MIN:
        return HEDDLE_OP_MIN;
    case MPI_LAND:
        return HEDDLE_OP_LAND;
    case MPI_LOR:
        return HEDDLE_OP_LOR;
    case MPI_LXOR:
        return HEDDLE_OP_LXOR;
    case MPI_BAND:
        return HEDDLE_OP_BAND;
    case MPI_BOR:
        return HEDDLE_OP_BOR;
    case MPI_BXOR:
        return HEDDLE_OP_BXOR;
    case MPI_MAXLOC:
        return HEDDLE_OP_MAXLOC;
    case MPI_MINLOC:
        return HEDDLE_OP_MINLOC;
    default:
        return HEDDLE_OP_COUNT;
    }
}

heddle_op MPII_heddle_op(MPI_Op op, MPI_Datatype predefined)
{
    const heddle_op engine_op = operator_of(op);
    const heddle_predefined element = MPII_heddle_element(predefined);
    const bool defined = engine_op != HEDDLE_OP_COUNT && element != HEDDLE_MIXED &&
                         heddle_op_is_defined(engine_op, element);
    return defined ? engine_op : HEDDLE_OP_COUNT;
}
