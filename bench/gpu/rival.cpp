// SPDX-License-Identifier: BSD-3-Clause
#include "rival.hpp"

#include <algorithm>
#include <dlfcn.h>

namespace bench {
namespace {

template <class Function> Function *symbol(void *library, const char *name, const std::string &file)
{
    auto *found = reinterpret_cast<Function *>(dlsym(library, name));
    if (!found)
        throw std::runtime_error(file + " is no adapter: it has no " + name);
    return found;
}

// Empty where it is longer than heddle_type_describe goes.
std::string described(const heddle_type *type)
{
    size_t length = 0;
    const int status = heddle_type_describe(type, nullptr, 0, &length);
    if (status == HEDDLE_ERR_OVERFLOW)
        return {};
    check_heddle(status, "heddle_type_describe");
    std::string text(length + 1, '\0');
    BENCH_HEDDLE(heddle_type_describe(type, text.data(), text.size(), &length));
    return text;
}

} // namespace

Rival::Rival(const std::string &argument)
{
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0)
        throw std::runtime_error("--rival takes NAME=FILE, not " + argument);
    name_ = argument.substr(0, equals);
    const std::string file = argument.substr(equals + 1);
    // stays: engines leave threads and handlers
    void *const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        throw std::runtime_error(why ? why : file + " cannot be loaded");
    }
    make_ = symbol<decltype(rival_make)>(library, "rival_make", file);
    move_ = symbol<decltype(rival_move)>(library, "rival_move", file);
    wait_ = reinterpret_cast<decltype(&rival_wait)>(dlsym(library, "rival_wait"));
    free_ = symbol<decltype(rival_free)>(library, "rival_free", file);
}

Rival::Moves Rival::moves(const Case &made) const
{
    heddle_type_info info{};
    BENCH_HEDDLE(heddle_type_get_info(made.type.get(), &info));
    void *const handle =
        make_(&made.type.recipe(), made.count, described(made.type.get()).c_str(), info.extent);
    if (!handle)
        return {};
    const std::shared_ptr<void> owned(handle, free_);
    const auto check = [name = name_](int error) {
        if (error)
            throw std::runtime_error(name + ": error " + std::to_string(error));
    };
    Moves moves;
    moves.on_stream = [=, move = move_, bytes = made.bytes](const Ends &ends, cudaStream_t stream) {
        check(move(owned.get(), ends.user, ends.packed, bytes, ends.pack, stream));
    };
    if (wait_)
        moves.waits = [=, wait = wait_, bytes = made.bytes](const Ends &ends) {
            check(wait(owned.get(), ends.user, ends.packed, bytes, ends.pack));
        };
    return moves;
}

bool Rival::gave_up(const std::string &kind) const
{
    return std::find(too_slow_.begin(), too_slow_.end(), kind) != too_slow_.end();
}

} // namespace bench
