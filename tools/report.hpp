// SPDX-License-Identifier: BSD-3-Clause
// What was found out, for people and for programs.
#pragma once

#include "measure.hpp"
#include "methods.hpp"

#include <iosfwd>

namespace heddle::tools {

struct Report {
    const Built *built = nullptr;
    Facts facts;
    std::optional<Measured> measured;
    std::string not_measured; // why, where it was not
    std::vector<MethodTime> methods;
    std::string no_methods; // why there are none
    std::string tables;     // which the model uses; empty without a device
    bool whole = false;     // long arrays and layouts in full
};

void print_text(std::ostream &out, const Report &report);
void print_json(std::ostream &out, const Report &report);

} // namespace heddle::tools
