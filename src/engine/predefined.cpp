// SPDX-License-Identifier: BSD-3-Clause
#include "engine/predefined.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>

namespace heddle {
namespace {

using Table = std::array<PredefinedInfo, HEDDLE_PREDEFINED_COUNT>;

template <heddle_predefined kind>
constexpr void set_basic(Table &table, const char *name, int external_size)
{
    using T = Stored<kind>;
    table[kind] = {name,  sizeof(T), sizeof(T),    alignof(T), external_size,
                   false, kind,      HEDDLE_MIXED, 0};
}

// Relies on the members' entries being set.
template <heddle_predefined kind, heddle_predefined value, heddle_predefined index>
constexpr void set_pair(Table &table, const char *name)
{
    using T = Pair<value, index>;
    static_assert(std::is_same_v<T, Stored<kind>>);
    table[kind] = {name,
                   table[value].size + table[index].size,
                   sizeof(T),
                   alignof(T),
                   table[value].external_size + table[index].external_size,
                   true,
                   value,
                   index,
                   offsetof(T, index)};
}

constexpr Table make_table()
{
    Table table{};
    set_basic<HEDDLE_BYTE>(table, "BYTE", 1);
    set_basic<HEDDLE_CHAR>(table, "CHAR", 1);
    set_basic<HEDDLE_WCHAR>(table, "WCHAR", 2);
    set_basic<HEDDLE_INT8>(table, "INT8", 1);
    set_basic<HEDDLE_UINT8>(table, "UINT8", 1);
    set_basic<HEDDLE_INT16>(table, "INT16", 2);
    set_basic<HEDDLE_UINT16>(table, "UINT16", 2);
    set_basic<HEDDLE_INT32>(table, "INT32", 4);
    set_basic<HEDDLE_UINT32>(table, "UINT32", 4);
    set_basic<HEDDLE_INT64>(table, "INT64", 8);
    set_basic<HEDDLE_UINT64>(table, "UINT64", 8);
    set_basic<HEDDLE_LONG>(table, "LONG", 4);
    set_basic<HEDDLE_ULONG>(table, "ULONG", 4);
    set_basic<HEDDLE_INT128>(table, "INT128", 16);
    set_basic<HEDDLE_BOOL>(table, "BOOL", 1);
    set_basic<HEDDLE_LOGICAL>(table, "LOGICAL", 4);
    set_basic<HEDDLE_FLOAT16>(table, "FLOAT16", 2);
    set_basic<HEDDLE_FLOAT>(table, "FLOAT", 4);
    set_basic<HEDDLE_DOUBLE>(table, "DOUBLE", 8);
    set_basic<HEDDLE_LONG_DOUBLE>(table, "LONG_DOUBLE", 16);
    set_basic<HEDDLE_FLOAT128>(table, "FLOAT128", 16);
    set_basic<HEDDLE_COMPLEX_FLOAT>(table, "COMPLEX_FLOAT", 8);
    set_basic<HEDDLE_COMPLEX_DOUBLE>(table, "COMPLEX_DOUBLE", 16);
    set_basic<HEDDLE_COMPLEX_LONG_DOUBLE>(table, "COMPLEX_LONG_DOUBLE", 32);
    set_basic<HEDDLE_COMPLEX_FLOAT128>(table, "COMPLEX_FLOAT128", 32);
    set_pair<HEDDLE_2INT32, HEDDLE_INT32, HEDDLE_INT32>(table, "2INT32");
    set_pair<HEDDLE_2INT64, HEDDLE_INT64, HEDDLE_INT64>(table, "2INT64");
    set_pair<HEDDLE_2FLOAT, HEDDLE_FLOAT, HEDDLE_FLOAT>(table, "2FLOAT");
    set_pair<HEDDLE_2DOUBLE, HEDDLE_DOUBLE, HEDDLE_DOUBLE>(table, "2DOUBLE");
    set_pair<HEDDLE_FLOAT_INT, HEDDLE_FLOAT, HEDDLE_INT32>(table, "FLOAT_INT");
    set_pair<HEDDLE_DOUBLE_INT, HEDDLE_DOUBLE, HEDDLE_INT32>(table, "DOUBLE_INT");
    set_pair<HEDDLE_LONG_INT, HEDDLE_LONG, HEDDLE_INT32>(table, "LONG_INT");
    set_pair<HEDDLE_SHORT_INT, HEDDLE_INT16, HEDDLE_INT32>(table, "SHORT_INT");
    set_pair<HEDDLE_LONG_DOUBLE_INT, HEDDLE_LONG_DOUBLE, HEDDLE_INT32>(table, "LONG_DOUBLE_INT");
    return table;
}

constexpr Table predefined_table = make_table();

static_assert(std::all_of(predefined_table.begin(), predefined_table.end(),
                          [](const PredefinedInfo &info) { return info.name != nullptr; }),
              "a predefined type has no entry");

} // namespace

const PredefinedInfo &predefined_info(heddle_predefined which)
{
    assert(static_cast<size_t>(which) < predefined_table.size());
    return predefined_table[which];
}

} // namespace heddle
