// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/read_tables.hpp"

#if HAVE_JSON
#include <nlohmann/json.hpp>

#include <fstream>
#include <string_view>
#endif

namespace heddle::gpu::model {

#if HAVE_JSON

namespace {

using Json = nlohmann::json;

constexpr size_t most_entries = 1 << 16; // of a grid; a table has some hundred

// The number of a name among `names`; their count where it is none of them.
template <size_t N> size_t index_of(const char *const (&names)[N], const Json &name)
{
    size_t i = 0;
    while (i < N && !(name.is_string() && name.get_ref<const std::string &>() == names[i]))
        ++i;
    return i;
}

bool read_axis(const Json &from, std::vector<int64_t> &axis)
{
    if (!from.is_array() || from.size() > most_entries)
        return false;
    for (const Json &each : from) {
        if (!each.is_number_integer())
            return false;
        axis.push_back(each.get<int64_t>());
    }
    return true;
}

bool read_times(const Json &from, size_t columns, std::vector<double> &seconds)
{
    if (!from.is_array() || from.size() > most_entries)
        return false;
    for (const Json &row : from) {
        if (!row.is_array() || row.size() != columns || seconds.size() + columns > most_entries)
            return false;
        for (const Json &each : row) {
            if (!each.is_number())
                return false;
            seconds.push_back(1e-6 * each.get<double>());
        }
    }
    return true;
}

Json member(const Json &from, const char *name)
{
    const auto found = from.find(name);
    return found == from.end() ? Json() : *found;
}

Method read_method(const Json &from)
{
    const Json name = member(from, "method");
    return name.is_string() ? method_named(name.get_ref<const std::string &>()) : Method::count;
}

Path read_path(const Json &from)
{
    return static_cast<Path>(index_of(path_names, member(from, "path")));
}

bool read_grid(const Json &from, Tables &tables)
{
    const Method method = read_method(from);
    const auto pattern = static_cast<Pattern>(index_of(pattern_names, member(from, "pattern")));
    const Path path = read_path(from);
    std::vector<int64_t> bytes, blocks;
    std::vector<double> seconds;
    if (method == Method::count || pattern == Pattern::count || path == Path::count ||
        !read_axis(member(from, "bytes"), bytes) || !read_axis(member(from, "blocks"), blocks) ||
        !read_times(member(from, "us"), blocks.size(), seconds) ||
        !Grid::is_sound(bytes, blocks, seconds))
        return false;
    tables.grid(method, pattern, path) = Grid(bytes, blocks, seconds);
    return true;
}

// ---- links ----

// The times of a link, by size alone.
bool read_link(const Json &from, Grid &times)
{
    const Json us = member(from, "us");
    std::vector<int64_t> bytes;
    std::vector<double> seconds;
    if (!read_axis(member(from, "bytes"), bytes) ||
        !read_times(us.is_array() ? Json::array({us}) : us, bytes.size(), seconds) ||
        !Grid::is_sound(bytes, {1}, seconds))
        return false;
    times = Grid(bytes, {1}, seconds);
    return true;
}

bool read_number(const Json &from, const char *name, int least, int &number)
{
    constexpr int most = 1 << 20;
    const Json found = member(from, name);
    if (!found.is_number_integer() || found < least || found > most)
        return false;
    number = found.get<int>();
    return true;
}

bool read_one(const Json &from, PeerLink &link)
{
    link.method = read_method(from);
    return link.method != Method::count && read_number(from, "from", 0, link.from) &&
           read_number(from, "to", 0, link.to) && read_link(from, link.times);
}

bool read_one(const Json &from, NodeLink &link)
{
    link.path = read_path(from);
    return (link.path == Path::to_host || link.path == Path::from_host) &&
           read_number(from, "device", 0, link.device) &&
           read_number(from, "node", -1, link.node) && read_link(from, link.times);
}

bool read_one(const Json &from, ImportLink &link)
{
    const Json open = member(from, "open_us");
    if (!open.is_number() || !(open.get<double>() > 0))
        return false;
    link.open_seconds = 1e-6 * open.get<double>();
    return read_number(from, "from", 0, link.from) && read_number(from, "to", 0, link.to) &&
           read_link(from, link.times);
}

bool read_one(const Json &from, MessageLink &link)
{
    link.where = static_cast<Where>(index_of(where_names, member(from, "where")));
    return link.where != Where::count && read_link(from, link.times);
}

// A list that may be missing. What is wrong with it; empty where nothing is.
template <class Link>
std::string read_links(const Json &from, const char *name, std::vector<Link> &links)
{
    const Json list = member(from, name);
    if (list.is_null())
        return "";
    if (!list.is_array() || list.size() > most_entries)
        return std::string("its ") + name + " are no list";
    for (size_t i = 0; i < list.size(); ++i)
        if (!list[i].is_object() || !read_one(list[i], links.emplace_back()))
            return std::string("its ") + name + " " + std::to_string(i) + " makes no sense";
    return "";
}

std::string read_all_links(const Json &from, Links &links)
{
    if (from.contains("devices") && !read_number(from, "devices", 1, links.devices))
        return "its number of devices makes no sense";
    for (const std::string &wrong :
         {read_links(from, "peers", links.peers), read_links(from, "nodes", links.nodes),
          read_links(from, "imports", links.imports), read_links(from, "messages", links.messages)})
        if (!wrong.empty())
            return wrong;
    return "";
}

// ---- all ----

// A number that may be missing.
bool read_bytes(const Json &from, const char *name, int64_t &bytes)
{
    const auto found = from.find(name);
    if (found == from.end())
        return true;
    if (!found->is_number_integer() || *found < 0)
        return false;
    bytes = *found;
    return true;
}

std::string read_all(const Json &from, Tables &tables)
{
    const auto version = from.find("heddle_tuning");
    if (version == from.end() || !version->is_number_integer())
        return "it is no table of heddle-tune";
    if (*version < 1 || *version > tables_version)
        return "its form is version " + version->dump() + ", not " +
               std::to_string(tables_version) + "; run heddle-tune again";
    const auto device = from.find("device"), grids = from.find("grids");
    if (device == from.end() || !device->is_string() || grids == from.end() || !grids->is_array() ||
        grids->empty())
        return "it has no device, or no grids";
    tables.device = *device;
    if (!read_bytes(from, "together_most_bytes", tables.together_most_bytes) ||
        !read_bytes(from, "together_link_most_bytes", tables.together_link_most_bytes))
        return "a size in it is no number of bytes";
    for (size_t i = 0; i < grids->size(); ++i)
        if (!(*grids)[i].is_object() || !read_grid((*grids)[i], tables))
            return "its grid " + std::to_string(i) + " makes no sense";
    return read_all_links(from, tables.links);
}

} // namespace

std::string read_tables(const std::string &file, Tables &tables)
{
    std::ifstream in(file, std::ios::binary);
    Json parsed;
    try {
        if (!in)
            return "it cannot be read";
        parsed = Json::parse(in, nullptr, false);
    } catch (const std::ios_base::failure &) { // a folder
        return "it cannot be read";
    }
    if (parsed.is_discarded() || !parsed.is_object())
        return "it is no JSON object";
    Tables fresh;
    const std::string wrong = read_all(parsed, fresh);
    if (!wrong.empty())
        return wrong;
    fresh.origin = file;
    if (!fresh.links.empty())
        fresh.origin += ", with links of " + std::to_string(fresh.links.devices) + " devices";
    for (const MessageLink &each : fresh.links.messages)
        fresh.origin +=
            std::string(", with ") + where_names[static_cast<size_t>(each.where)] + " messages";
    tables = std::move(fresh);
    return "";
}

#else

std::string read_tables(const std::string &, Tables &)
{
    return "this Heddle was built without nlohmann-json";
}

#endif

} // namespace heddle::gpu::model
