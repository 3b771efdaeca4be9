// SPDX-License-Identifier: BSD-3-Clause
#include "lines.hpp"

#include <nlohmann/json.hpp>

#include <iostream>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

bool any_error = false;

void say(const Json &line) { std::cout << line.dump() << std::endl; }

double microseconds(double seconds) { return 1e6 * seconds; }

void add(Json &line, const Time &time)
{
    line["us"] = microseconds(time.median);
    line["low"] = microseconds(time.low);
    line["high"] = microseconds(time.high);
}

} // namespace

void say_note(const std::string &text) { say({{"kind", "notes"}, {"text", text}}); }

void say_error(const std::string &text)
{
    any_error = true;
    say({{"kind", "errors"}, {"text", text}});
}

bool said_error() { return any_error; }

void say_series(const Series &series, const std::vector<Point> &points)
{
    Json line{{"kind", "copies"},
              {"method", series.method},
              {"from", series.from},
              {"to", series.to},
              {"ways", series.ways}};
    for (const Point &point : points) {
        line["bytes"].push_back(point.bytes);
        line["us"].push_back(microseconds(point.time.median));
        line["low"].push_back(microseconds(point.time.low));
        line["high"].push_back(microseconds(point.time.high));
    }
    say(line);
}

void say_gpu(int gpu, const std::string &name, const std::string &bus_id, int near_node,
             bool managed)
{
    say({{"kind", "gpus"},
         {"gpu", gpu},
         {"name", name},
         {"bus", bus_id},
         {"node", near_node < 0 ? Json() : Json(near_node)},
         {"managed", managed}});
}

void say_call(const std::string &call, int threads, const Time &time)
{
    Json line{{"kind", "calls"}, {"call", call}, {"threads", threads}};
    add(line, time);
    say(line);
}

void say_graph(const std::string &what, int kernels, const Time &time)
{
    Json line{{"kind", "graphs"}, {"what", what}, {"kernels", kernels}};
    add(line, time);
    say(line);
}

} // namespace bench
