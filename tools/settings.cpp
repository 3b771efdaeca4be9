// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include <ostream>

namespace heddle::tools {

void print_settings(std::ostream &out)
{
    out << "| name | values | default | what it does | when to change it |\n"
           "|---|---|---|---|---|\n";
    for (const heddle_setting &each : all_settings())
        out << "| " << each.name << " | " << each.values << " | " << default_of(each) << " | "
            << each.meaning << " | " << each.advice << " |\n";
}

} // namespace heddle::tools
