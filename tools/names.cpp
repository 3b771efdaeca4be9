// SPDX-License-Identifier: BSD-3-Clause
#include "names.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle::tools {
namespace {

struct Name {
    std::string_view name;
    heddle_predefined which;
};

// The first name of each is the one that is printed.
constexpr Name names[] = {
    {"byte", HEDDLE_BYTE},
    {"packed", HEDDLE_BYTE},
    {"char", HEDDLE_CHAR},
    {"character", HEDDLE_CHAR},
    {"wchar", HEDDLE_WCHAR},
    {"int8", HEDDLE_INT8},
    {"int8_t", HEDDLE_INT8},
    {"signed_char", HEDDLE_INT8},
    {"uint8", HEDDLE_UINT8},
    {"uint8_t", HEDDLE_UINT8},
    {"unsigned_char", HEDDLE_UINT8},
    {"short", HEDDLE_INT16},
    {"int16", HEDDLE_INT16},
    {"int16_t", HEDDLE_INT16},
    {"unsigned_short", HEDDLE_UINT16},
    {"uint16", HEDDLE_UINT16},
    {"uint16_t", HEDDLE_UINT16},
    {"int", HEDDLE_INT32},
    {"int32", HEDDLE_INT32},
    {"int32_t", HEDDLE_INT32},
    {"integer", HEDDLE_INT32},
    {"unsigned", HEDDLE_UINT32},
    {"uint32", HEDDLE_UINT32},
    {"uint32_t", HEDDLE_UINT32},
    {"int64", HEDDLE_INT64},
    {"int64_t", HEDDLE_INT64},
    {"long_long", HEDDLE_INT64},
    {"long_long_int", HEDDLE_INT64},
    {"aint", HEDDLE_INT64},
    {"count", HEDDLE_INT64},
    {"offset", HEDDLE_INT64},
    {"uint64", HEDDLE_UINT64},
    {"uint64_t", HEDDLE_UINT64},
    {"unsigned_long_long", HEDDLE_UINT64},
    {"long", HEDDLE_LONG},
    {"unsigned_long", HEDDLE_ULONG},
    {"ulong", HEDDLE_ULONG},
    {"int128", HEDDLE_INT128},
    {"integer16", HEDDLE_INT128},
    {"bool", HEDDLE_BOOL},
    {"c_bool", HEDDLE_BOOL},
    {"logical", HEDDLE_LOGICAL},
    {"float16", HEDDLE_FLOAT16},
    {"half", HEDDLE_FLOAT16},
    {"real2", HEDDLE_FLOAT16},
    {"float", HEDDLE_FLOAT},
    {"real", HEDDLE_FLOAT},
    {"double", HEDDLE_DOUBLE},
    {"double_precision", HEDDLE_DOUBLE},
    {"long_double", HEDDLE_LONG_DOUBLE},
    {"float16", HEDDLE_FLOAT16},
    {"float128", HEDDLE_FLOAT128},
    {"real16", HEDDLE_FLOAT128},
    {"complex_float", HEDDLE_COMPLEX_FLOAT},
    {"c_complex", HEDDLE_COMPLEX_FLOAT},
    {"c_float_complex", HEDDLE_COMPLEX_FLOAT},
    {"complex", HEDDLE_COMPLEX_FLOAT},
    {"complex_double", HEDDLE_COMPLEX_DOUBLE},
    {"c_double_complex", HEDDLE_COMPLEX_DOUBLE},
    {"double_complex", HEDDLE_COMPLEX_DOUBLE},
    {"complex_long_double", HEDDLE_COMPLEX_LONG_DOUBLE},
    {"c_long_double_complex", HEDDLE_COMPLEX_LONG_DOUBLE},
    {"complex_float128", HEDDLE_COMPLEX_FLOAT128},
    {"complex32", HEDDLE_COMPLEX_FLOAT128},
    {"2int", HEDDLE_2INT32},
    {"2int32", HEDDLE_2INT32},
    {"2integer", HEDDLE_2INT32},
    {"2int64", HEDDLE_2INT64},
    {"2float", HEDDLE_2FLOAT},
    {"2real", HEDDLE_2FLOAT},
    {"2double", HEDDLE_2DOUBLE},
    {"2double_precision", HEDDLE_2DOUBLE},
    {"float_int", HEDDLE_FLOAT_INT},
    {"double_int", HEDDLE_DOUBLE_INT},
    {"long_int", HEDDLE_LONG_INT},
    {"short_int", HEDDLE_SHORT_INT},
    {"long_double_int", HEDDLE_LONG_DOUBLE_INT},
};

// Levenshtein's distance, row by row.
size_t distance(std::string_view a, std::string_view b)
{
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i + 1);
        for (size_t j = 0; j < b.size(); ++j) {
            const size_t changed = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

} // namespace

std::string lower(std::string_view text)
{
    std::string result(text);
    for (char &each : result)
        if (each >= 'A' && each <= 'Z')
            each = static_cast<char>(each - 'A' + 'a');
    return result;
}

std::optional<heddle_predefined> predefined_named(std::string_view name)
{
    const std::string small = lower(name);
    std::string_view wanted = small;
    if (wanted.starts_with("mpi_"))
        wanted.remove_prefix(4);
    for (const Name &each : names)
        if (each.name == wanted)
            return each.which;
    return std::nullopt;
}

std::string_view name_of(heddle_predefined which)
{
    for (const Name &each : names)
        if (each.which == which)
            return each.name;
    return "mixed";
}

std::vector<std::string_view> predefined_names()
{
    std::vector<std::string_view> all;
    for (const Name &each : names)
        all.push_back(each.name);
    return all;
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view> &candidates)
{
    const std::string small = lower(name);
    std::string_view best;
    size_t least = 1 + std::max<size_t>(1, small.size() / 3);
    for (std::string_view each : candidates)
        if (const size_t steps = distance(small, each); steps < least) {
            least = steps;
            best = each;
        }
    return best;
}

} // namespace heddle::tools
