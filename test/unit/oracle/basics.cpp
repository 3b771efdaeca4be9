/* SPDX-License-Identifier: BSD-3-Clause */
#include "basics.hpp"

#include <complex>
#include <cstddef>
#include <stdexcept>

namespace oracle {
namespace {

template <class T> Basic single(const char *name, heddle_predefined kind)
{
    return {name, {{kind, 0}}, sizeof(T), alignof(T)};
}

template <class V, class I>
Basic pair(const char *name, heddle_predefined value, heddle_predefined index)
{
    struct Pair {
        V value;
        I index;
    };
    return {name, {{value, 0}, {index, offsetof(Pair, index)}}, sizeof(Pair), alignof(Pair)};
}

Basic make(heddle_predefined which)
{
    using float128 = __float128;
    struct Complex128 {
        float128 re, im;
    };
    switch (which) {
    case HEDDLE_BYTE:
        return single<unsigned char>("BYTE", which);
    case HEDDLE_CHAR:
        return single<char>("CHAR", which);
    case HEDDLE_WCHAR:
        return single<wchar_t>("WCHAR", which);
    case HEDDLE_INT8:
        return single<int8_t>("INT8", which);
    case HEDDLE_UINT8:
        return single<uint8_t>("UINT8", which);
    case HEDDLE_INT16:
        return single<int16_t>("INT16", which);
    case HEDDLE_UINT16:
        return single<uint16_t>("UINT16", which);
    case HEDDLE_INT32:
        return single<int32_t>("INT32", which);
    case HEDDLE_UINT32:
        return single<uint32_t>("UINT32", which);
    case HEDDLE_INT64:
        return single<int64_t>("INT64", which);
    case HEDDLE_UINT64:
        return single<uint64_t>("UINT64", which);
    case HEDDLE_LONG:
        return single<long>("LONG", which);
    case HEDDLE_ULONG:
        return single<unsigned long>("ULONG", which);
    case HEDDLE_INT128:
        return single<__int128>("INT128", which);
    case HEDDLE_BOOL:
        return single<bool>("BOOL", which);
    case HEDDLE_LOGICAL:
        return single<int32_t>("LOGICAL", which);
    case HEDDLE_FLOAT16:
        return single<uint16_t>("FLOAT16", which); /* its size and alignment */
    case HEDDLE_FLOAT:
        return single<float>("FLOAT", which);
    case HEDDLE_DOUBLE:
        return single<double>("DOUBLE", which);
    case HEDDLE_LONG_DOUBLE:
        return single<long double>("LONG_DOUBLE", which);
    case HEDDLE_FLOAT128:
        return single<float128>("FLOAT128", which);
    case HEDDLE_COMPLEX_FLOAT:
        return single<std::complex<float>>("COMPLEX_FLOAT", which);
    case HEDDLE_COMPLEX_DOUBLE:
        return single<std::complex<double>>("COMPLEX_DOUBLE", which);
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        return single<std::complex<long double>>("COMPLEX_LONG_DOUBLE", which);
    case HEDDLE_COMPLEX_FLOAT128:
        return single<Complex128>("COMPLEX_FLOAT128", which);
    case HEDDLE_2INT32:
        return pair<int32_t, int32_t>("2INT32", HEDDLE_INT32, HEDDLE_INT32);
    case HEDDLE_2INT64:
        return pair<int64_t, int64_t>("2INT64", HEDDLE_INT64, HEDDLE_INT64);
    case HEDDLE_2FLOAT:
        return pair<float, float>("2FLOAT", HEDDLE_FLOAT, HEDDLE_FLOAT);
    case HEDDLE_2DOUBLE:
        return pair<double, double>("2DOUBLE", HEDDLE_DOUBLE, HEDDLE_DOUBLE);
    case HEDDLE_FLOAT_INT:
        return pair<float, int>("FLOAT_INT", HEDDLE_FLOAT, HEDDLE_INT32);
    case HEDDLE_DOUBLE_INT:
        return pair<double, int>("DOUBLE_INT", HEDDLE_DOUBLE, HEDDLE_INT32);
    case HEDDLE_LONG_INT:
        return pair<long, int>("LONG_INT", HEDDLE_LONG, HEDDLE_INT32);
    case HEDDLE_SHORT_INT:
        return pair<short, int>("SHORT_INT", HEDDLE_INT16, HEDDLE_INT32);
    case HEDDLE_LONG_DOUBLE_INT:
        return pair<long double, int>("LONG_DOUBLE_INT", HEDDLE_LONG_DOUBLE, HEDDLE_INT32);
    case HEDDLE_MIXED:
        break;
    }
    throw std::invalid_argument("no predefined type");
}

} // namespace

const Basic &basic(heddle_predefined which)
{
    static const std::vector<Basic> table = [] {
        std::vector<Basic> all;
        for (const heddle_predefined each : all_basics())
            all.push_back(make(each));
        return all;
    }();
    return table.at(static_cast<size_t>(which));
}

bool is_pair(heddle_predefined which) { return basic(which).primitives.size() == 2; }

int64_t primitive_size(heddle_predefined kind) { return basic(kind).extent; }

int64_t external_size(heddle_predefined kind)
{
    switch (kind) {
    case HEDDLE_LONG:
    case HEDDLE_ULONG:
        return 4;
    case HEDDLE_WCHAR:
        return 2;
    default:
        return primitive_size(kind);
    }
}

const std::vector<heddle_predefined> &all_basics()
{
    static const std::vector<heddle_predefined> all = [] {
        std::vector<heddle_predefined> list;
        for (int i = 0; i < HEDDLE_PREDEFINED_COUNT; ++i)
            list.push_back(static_cast<heddle_predefined>(i));
        return list;
    }();
    return all;
}

} // namespace oracle
