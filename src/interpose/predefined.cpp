// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/predefined.hpp"

#include <unordered_map>

namespace heddle::interpose {

heddle_predefined integer_of(int64_t bytes)
{
    switch (bytes) {
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

heddle_predefined real_of(int64_t bytes)
{
    switch (bytes) {
    case 2:
        return HEDDLE_FLOAT16;
    case 4:
        return HEDDLE_FLOAT;
    case 8:
        return HEDDLE_DOUBLE;
    case 16:
        return HEDDLE_FLOAT128;
    default:
        return HEDDLE_MIXED;
    }
}

heddle_predefined complex_of(int64_t bytes)
{
    switch (bytes) {
    case 8:
        return HEDDLE_COMPLEX_FLOAT;
    case 16:
        return HEDDLE_COMPLEX_DOUBLE;
    case 32:
        return HEDDLE_COMPLEX_FLOAT128;
    default:
        return HEDDLE_MIXED;
    }
}

namespace {

class Table {
public:
    Table()
    {
        add_c();
        add_sized();
        add_pairs();
        add_fortran();
    }
    heddle_predefined find(MPI_Datatype type) const
    {
        const auto found = types_.find(key_of(type));
        return found == types_.end() ? HEDDLE_MIXED : found->second;
    }

private:
    void add(MPI_Datatype type, heddle_predefined predefined)
    {
        if (type != MPI_DATATYPE_NULL && predefined != HEDDLE_MIXED)
            types_.emplace(key_of(type), predefined);
    }
    // Fortran's types have the size that its compiler gave them; without a compiler they have none.
    void add(MPI_Datatype type, heddle_predefined (*of_size)(int64_t))
    {
        int bytes = 0;
        if (type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &bytes) == MPI_SUCCESS)
            add(type, of_size(bytes));
    }

    void add_c()
    {
        add(MPI_BYTE, HEDDLE_BYTE);
        add(MPI_PACKED, HEDDLE_BYTE);
        add(MPI_CHAR, HEDDLE_CHAR);
        add(MPI_SIGNED_CHAR, HEDDLE_INT8);
        add(MPI_UNSIGNED_CHAR, HEDDLE_UINT8);
        add(MPI_WCHAR, HEDDLE_WCHAR);
        add(MPI_SHORT, HEDDLE_INT16);
        add(MPI_UNSIGNED_SHORT, HEDDLE_UINT16);
        add(MPI_INT, HEDDLE_INT32);
        add(MPI_UNSIGNED, HEDDLE_UINT32);
        add(MPI_LONG, HEDDLE_LONG);
        add(MPI_UNSIGNED_LONG, HEDDLE_ULONG);
        add(MPI_LONG_LONG_INT, HEDDLE_INT64);
        add(MPI_LONG_LONG, HEDDLE_INT64);
        add(MPI_UNSIGNED_LONG_LONG, HEDDLE_UINT64);
        add(MPI_FLOAT, HEDDLE_FLOAT);
        add(MPI_DOUBLE, HEDDLE_DOUBLE);
        add(MPI_LONG_DOUBLE, HEDDLE_LONG_DOUBLE);
        add(MPI_C_BOOL, HEDDLE_BOOL);
        add(MPI_C_COMPLEX, HEDDLE_COMPLEX_FLOAT);
        add(MPI_C_FLOAT_COMPLEX, HEDDLE_COMPLEX_FLOAT);
        add(MPI_C_DOUBLE_COMPLEX, HEDDLE_COMPLEX_DOUBLE);
        add(MPI_C_LONG_DOUBLE_COMPLEX, HEDDLE_COMPLEX_LONG_DOUBLE);
        add(MPI_CXX_BOOL, HEDDLE_BOOL);
        add(MPI_CXX_FLOAT_COMPLEX, HEDDLE_COMPLEX_FLOAT);
        add(MPI_CXX_DOUBLE_COMPLEX, HEDDLE_COMPLEX_DOUBLE);
        add(MPI_CXX_LONG_DOUBLE_COMPLEX, HEDDLE_COMPLEX_LONG_DOUBLE);
    }
    void add_sized()
    {
        add(MPI_INT8_T, HEDDLE_INT8);
        add(MPI_INT16_T, HEDDLE_INT16);
        add(MPI_INT32_T, HEDDLE_INT32);
        add(MPI_INT64_T, HEDDLE_INT64);
        add(MPI_UINT8_T, HEDDLE_UINT8);
        add(MPI_UINT16_T, HEDDLE_UINT16);
        add(MPI_UINT32_T, HEDDLE_UINT32);
        add(MPI_UINT64_T, HEDDLE_UINT64);
        add(MPI_AINT, integer_of);
        add(MPI_OFFSET, integer_of);
        add(MPI_COUNT, integer_of);
    }
    void add_pairs()
    {
        add(MPI_FLOAT_INT, HEDDLE_FLOAT_INT);
        add(MPI_DOUBLE_INT, HEDDLE_DOUBLE_INT);
        add(MPI_LONG_INT, HEDDLE_LONG_INT);
        add(MPI_SHORT_INT, HEDDLE_SHORT_INT);
        add(MPI_2INT, HEDDLE_2INT32);
        add(MPI_LONG_DOUBLE_INT, HEDDLE_LONG_DOUBLE_INT);
        add(MPI_2REAL, [](int64_t n) { return n == 8 ? HEDDLE_2FLOAT : HEDDLE_2DOUBLE; });
        add(MPI_2DOUBLE_PRECISION,
            [](int64_t n) { return n == 16 ? HEDDLE_2DOUBLE : HEDDLE_MIXED; });
        add(MPI_2INTEGER, [](int64_t n) { return n == 8 ? HEDDLE_2INT32 : HEDDLE_2INT64; });
    }
    void add_fortran()
    {
        add(MPI_CHARACTER, HEDDLE_CHAR);
        add(MPI_LOGICAL, [](int64_t n) { return n == 4 ? HEDDLE_LOGICAL : integer_of(n); });
        for (const MPI_Datatype type :
             {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
            add(type, integer_of);
#if defined(MPI_INTEGER16) // Open MPI has these only where its Fortran compiler does
        add(MPI_INTEGER16, integer_of);
#endif
#if defined(OPEN_MPI)
        add_fortran_of_open_mpi();
#endif
        for (const MPI_Datatype type :
             {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8, MPI_REAL16})
            add(type, real_of);
        for (const MPI_Datatype type :
             {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32})
            add(type, complex_of);
    }

#if defined(OPEN_MPI)
    void add_fortran_of_open_mpi()
    {
#if defined(MPI_LOGICAL1)
        add(MPI_LOGICAL1, integer_of);
#endif
#if defined(MPI_LOGICAL2)
        add(MPI_LOGICAL2, integer_of);
#endif
#if defined(MPI_LOGICAL4)
        add(MPI_LOGICAL4, HEDDLE_LOGICAL);
#endif
#if defined(MPI_LOGICAL8)
        add(MPI_LOGICAL8, integer_of);
#endif
#if defined(MPI_REAL2)
        add(MPI_REAL2, real_of);
#endif
    }
#endif

    std::unordered_map<HandleKey, heddle_predefined> types_;
};

} // namespace

heddle_predefined predefined_of(MPI_Datatype type)
{
    static const Table table; // made after MPI's start: sizes are asked for
    return table.find(type);
}

} // namespace heddle::interpose
