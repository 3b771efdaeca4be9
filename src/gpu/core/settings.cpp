// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/settings.hpp"

#include "engine/guard.hpp"
#include "engine/immortal.hpp"
#include "engine/sized.hpp"
#include "gpu/core/method.hpp"
#include "gpu/core/settings_table.hpp"
#include "gpu/core/warnings.hpp"

#include <heddle_message.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unistd.h>
#include <vector>

namespace heddle::gpu {

namespace {

// Settings of tests and of the simulated device, which read them.
constexpr const char *others[] = {"HEDDLE_TEST_", "HEDDLE_SIM"};

bool is_read(const Setting &setting) { return setting.kind != SettingKind::of_another; }

// What the program said itself, until all of it is read.
struct Said {
    std::mutex mutex;
    std::map<std::string, std::string> values;
    bool was_read = false;
    std::set<std::string> shown; // by heddle_setting_read

    static Said &get() { return immortal<Said>(); }
};

struct Value {
    std::string text; // empty where nothing is said
    heddle_origin origin;
};

// What the program or the environment says.
Value said(const Setting &setting)
{
    Said &said = Said::get();
    const std::lock_guard lock(said.mutex);
    if (const auto found = said.values.find(setting.name); found != said.values.end())
        return {found->second, HEDDLE_ORIGIN_PROGRAM};
    const char *value = std::getenv(setting.name);
    return {value ? value : "", HEDDLE_ORIGIN_ENVIRONMENT};
}

std::vector<std::string> words_of(std::string_view list)
{
    std::vector<std::string> words;
    while (!list.empty()) {
        const std::string_view word = list.substr(0, list.find(','));
        const size_t first = std::min(word.find_first_not_of(' '), word.size());
        words.emplace_back(word.substr(first));
        list.remove_prefix(std::min(word.size() + 1, list.size()));
    }
    return words;
}

// The number of a word among those of a setting.
std::optional<size_t> index_of(const Setting &setting, const std::string &word)
{
    const std::vector<std::string> words = words_of(setting.values);
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? std::nullopt : std::optional<size_t>(found - words.begin());
}

std::optional<int64_t> number(std::string_view value)
{
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const std::string_view unit(end, static_cast<size_t>(value.data() + value.size() - end));
    const int shift = unit.empty()  ? 0
                      : unit == "K" ? 10
                      : unit == "M" ? 20
                      : unit == "G" ? 30
                                    : -1;
    if (error != std::errc() || shift < 0 || number < 0 || number > (INT64_MAX >> shift))
        return std::nullopt;
    return number << shift;
}

bool makes_sense(const Setting &setting, const std::string &value)
{
    switch (setting.kind) {
    case SettingKind::choice:
        return index_of(setting, value).has_value();
    case SettingKind::list: {
        const std::vector<std::string> words = words_of(value);
        return std::all_of(words.begin(), words.end(), [&](const std::string &word) {
            return index_of(setting, word).has_value();
        });
    }
    case SettingKind::number:
        return number(value).has_value();
    default:
        return true;
    }
}

// What was set, if it makes sense, or the default. Empty where the default is no value.
Value in_force(const Setting &setting)
{
    Value value = said(setting);
    if (!value.text.empty() && makes_sense(setting, value.text))
        return value;
    return {setting.fallback[0] == '(' ? "" : setting.fallback, HEDDLE_ORIGIN_DEFAULT};
}

std::string value_of(const char *name) { return in_force(setting_named(name)).text; }

int64_t number_of(const char *name, int64_t otherwise = 0)
{
    return number(value_of(name)).value_or(otherwise);
}

std::optional<size_t> choice_of(const char *name)
{
    return index_of(setting_named(name), value_of(name));
}

// The method or kernel that a setting forces, by its name; count: none.
template <class E> E forced(const char *setting, const char *(*name_of)(E))
{
    const std::string value = value_of(setting);
    int i = 0;
    while (i < static_cast<int>(E::count) && value != name_of(static_cast<E>(i)))
        ++i;
    return static_cast<E>(i);
}

uint32_t log_topics()
{
    uint32_t topics = 0;
    for (const std::string &word : words_of(value_of("HEDDLE_LOG")))
        topics |= uint32_t{1} << *index_of(setting_named("HEDDLE_LOG"), word);
    return topics;
}

int peer()
{
    constexpr int peers[] = {HEDDLE_PEER_AUTO, HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED,
                             HEDDLE_PEER_REFERENCE};
    return peers[*choice_of("HEDDLE_PEER")];
}

// Values without sense, and names that nobody reads: HEDDLE_CHUNKS, say.
void check_all()
{
    for (const Setting &each : all_settings()) {
        const std::string value = is_read(each) ? said(each).text : "";
        if (value.empty() || makes_sense(each, value))
            continue;
        const char *const kind = each.kind == SettingKind::choice ? "one of "
                                 : each.kind == SettingKind::list ? "a list of "
                                                                  : "a number: ";
        warn(std::string(each.name) + "=" + value + " is ignored: it should be " + kind +
             each.values);
    }
    for (char **each = environ; each && *each; ++each) {
        const std::string_view entry = *each, name = entry.substr(0, entry.find('='));
        const auto begins = [&](const char *beginning) { return name.starts_with(beginning); };
        const auto is_name = [&](const Setting &setting) { return setting.name == name; };
        if (begins("HEDDLE_") && std::none_of(std::begin(others), std::end(others), begins) &&
            std::ranges::none_of(all_settings(), is_name))
            warn(std::string(name) +
                 " is ignored: Heddle has no setting of that name (README.gpu lists them)");
    }
}

// From here on the program's word comes too late.
void close_settings()
{
    Said &said = Said::get();
    const std::lock_guard lock(said.mutex);
    said.was_read = true;
}

Settings read_settings()
{
    close_settings();
    check_all();
    Settings s;
    s.device = value_of("HEDDLE_DEVICE");
    s.method = forced("HEDDLE_METHOD", method_name);
    s.kernel = forced("HEDDLE_KERNEL", kernel_name);
    s.copy_engine = *choice_of("HEDDLE_COPY_ENGINE") == 1;
    s.tuning = value_of("HEDDLE_TUNING");
    s.slab_limit = static_cast<size_t>(number_of("HEDDLE_SLAB_LIMIT"));
    s.chunk = std::clamp(number_of("HEDDLE_CHUNK"), int64_t{64}, int64_t{1} << 40);
    s.message_chunk = number_of("HEDDLE_MESSAGE_CHUNK", -1);
    s.message_window = number_of("HEDDLE_MESSAGE_WINDOW", -1);
    s.message_staging = number_of("HEDDLE_MESSAGE_STAGING", static_cast<int64_t>(s.slab_limit / 2));
    s.message_in_place = number_of("HEDDLE_MESSAGE_IN_PLACE");
    s.message_open = static_cast<size_t>(std::max(number_of("HEDDLE_MESSAGE_OPEN"), int64_t{1}));
    s.message_timeout = number_of("HEDDLE_MESSAGE_TIMEOUT");
    s.peer = peer();
    s.placement = number_of("HEDDLE_PLACEMENT");
    s.affinity = *choice_of("HEDDLE_AFFINITY") == 1;
    s.log_topics = log_topics();
    return s;
}

// A copy that lives as long as the process.
const char *for_ever(const std::string &text)
{
    Said &said = Said::get();
    const std::lock_guard lock(said.mutex);
    return said.shown.insert(text).first->c_str();
}

} // namespace

const Settings &Settings::get()
{
    static Immortal<const Settings> settings(read_settings());
    return *settings;
}

std::string setting_value(const Setting &setting)
{
    return is_read(setting) ? value_of(setting.name) : "";
}

} // namespace heddle::gpu

int heddle_set(const char *name, const char *value)
{
    using namespace heddle::gpu;
    const auto is_name = [&](const Setting &each) {
        return is_read(each) && !std::strcmp(each.name, name);
    };
    if (!name || !value || std::ranges::none_of(all_settings(), is_name))
        return HEDDLE_ERR_ARG;
    return heddle::guard([&] {
        Said &said = Said::get();
        const std::lock_guard lock(said.mutex);
        if (said.was_read)
            return HEDDLE_ERR_RANGE;
        said.values[name] = value;
        return HEDDLE_SUCCESS;
    });
}

int heddle_setting_read(int64_t index, heddle_setting *setting)
{
    using namespace heddle::gpu;
    if (!heddle::is_sized(setting))
        return HEDDLE_ERR_ARG;
    if (index < 0 || static_cast<size_t>(index) >= all_settings().size())
        return HEDDLE_ERR_RANGE;
    const Setting &found = all_settings()[static_cast<size_t>(index)];
    return heddle::guard([&] {
        const Value value = is_read(found) ? in_force(found) : Value{"", HEDDLE_ORIGIN_DEFAULT};
        heddle::write_sized({0, found.name, found.values, found.fallback, found.meaning,
                             found.advice, for_ever(value.text), value.origin},
                            setting);
        return HEDDLE_SUCCESS;
    });
}
