// SPDX-License-Identifier: BSD-3-Clause
// heddle-info's JSON, for programs.
#include "info.hpp"

#ifdef HAVE_JSON
#include "built.hpp"
#include "heddle.h"

#include <nlohmann/json.hpp>

#include <ostream>

namespace heddle::tools {
namespace {

using Json = nlohmann::ordered_json;

Json of(const MpiInfo &mpi)
{
    if (mpi.library.empty())
        return {{"library", nullptr}, {"missing", mpi.missing}};
    Json made{{"library", mpi.library}};
    for (const auto &[name, value] : mpi.facts)
        made[name] = value;
    return made;
}

Json ucx_of(const MpiInfo &mpi)
{
    if (mpi.ucx.empty())
        return nullptr;
    return {{"version", mpi.ucx}, {"library", mpi.ucx_library}, {"memory", mpi.ucx_memory}};
}

Json of(const SettingInfo &setting)
{
    return {{"name", setting.name},        {"value", setting.value},   {"origin", setting.origin},
            {"default", setting.fallback}, {"values", setting.values}, {"meaning", setting.meaning},
            {"advice", setting.advice}};
}

} // namespace

bool print_json(std::ostream &out, const Info &info)
{
    Json settings = Json::array();
    for (const SettingInfo &setting : info.settings)
        settings.push_back(of(setting));
    const Json made{{"version", heddle_version()},
                    {"library", info.library},
                    {"built",
                     {{"prefix", built::prefix},
                      {"compiler", built::compiler},
                      {"configure", built::options},
                      {"cuda", built::plugin}}},
                    {"plugin", heddle_device_plugin()},
                    {"status", info.status},
                    {"devices", info.devices},
                    {"nics", info.nics},
                    {"warnings", info.warnings},
                    {"mpi", of(info.mpi)},
                    {"ucx", ucx_of(info.mpi)},
                    {"settings", settings}};
    // What is not UTF-8, in a path for example, is shown by a sign for it.
    out << made.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    return true;
}

} // namespace heddle::tools

#else

namespace heddle::tools {

bool print_json(std::ostream &, const Info &) { return false; }

} // namespace heddle::tools

#endif
