// SPDX-License-Identifier: BSD-3-Clause
#include "facts.hpp"

#include "sectors.hpp"

#include <algorithm>

namespace heddle::tools {
namespace {

int describe(const heddle_type *type, std::string &text)
{
    size_t length = 0;
    if (const int status = heddle_type_describe(type, nullptr, 0, &length);
        status != HEDDLE_SUCCESS)
        return status;
    text.resize(length + 1);
    const int status = heddle_type_describe(type, text.data(), text.size(), &length);
    text.resize(length);
    return status;
}

// Where `count` instances lie.
bool bounds(const heddle_type_info &info, Facts &facts)
{
    int64_t last = 0, first_of_last = 0, end_of_last = 0;
    const int64_t true_ub = info.true_lb + info.true_extent;
    if (facts.count == 0 || info.size == 0)
        return true;
    if (__builtin_mul_overflow(facts.count - 1, info.extent, &last) ||
        __builtin_add_overflow(last, info.true_lb, &first_of_last) ||
        __builtin_add_overflow(last, true_ub, &end_of_last))
        return false;
    facts.begin = std::min(info.true_lb, first_of_last);
    facts.end = std::max(true_ub, end_of_last);
    return true;
}

} // namespace

std::variant<Facts, TextError> facts_of(const Type &type, int64_t count)
{
    const auto wrong = [](const std::string &call, int status) {
        return TextError{0, call + ": " + heddle_strerror(status)};
    };
    Facts facts;
    facts.count = count;
    if (const int status = heddle_type_commit(type.get()); status != HEDDLE_SUCCESS)
        return wrong("commit", status);
    if (const int status = heddle_type_get_info(type.get(), &facts.info); status != HEDDLE_SUCCESS)
        return wrong("get_info", status);
    if (const int status = heddle_type_device_memory(type.get(), &facts.device_memory);
        status != HEDDLE_SUCCESS)
        return wrong("device_memory", status);
    if (const int status = describe(type.get(), facts.layout); status != HEDDLE_SUCCESS)
        return wrong("describe", status);
    if (__builtin_mul_overflow(count, facts.info.size, &facts.bytes) || !bounds(facts.info, facts))
        return wrong(std::to_string(count) + " instances", HEDDLE_ERR_OVERFLOW);
    facts.touched = touched_bytes(type, count);
    return facts;
}

std::string_view name_of_plan(int plan)
{
    switch (plan) {
    case HEDDLE_PLAN_CONTIGUOUS:
        return "contiguous";
    case HEDDLE_PLAN_STRIDED:
        return "strided";
    case HEDDLE_PLAN_GENERAL:
        return "general";
    default:
        return "none";
    }
}

} // namespace heddle::tools
