// SPDX-License-Identifier: BSD-3-Clause
// Another process whose device memory can be opened: this program itself, run once more.
#pragma once

#include "heddle_message.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace heddle::tools {

struct ExportPlan {
    int device = 0;
    int64_t bytes = 0; // of an allocation
    int allocations = 0;
};

class Exporter {
public:
    // Null, with the reason, where the process exports nothing.
    static std::unique_ptr<Exporter> start(const ExportPlan &plan, std::string &reason);
    // Ends the process, and waits for its end.
    ~Exporter();
    Exporter(const Exporter &) = delete;
    Exporter &operator=(const Exporter &) = delete;

    const std::vector<heddle_exported> &exported() const { return exported_; }

private:
    Exporter() = default;
    bool receive(size_t count);

    pid_t process_ = -1;
    int input_ = -1, output_ = -1; // ours, to its input and from its output
    std::vector<heddle_exported> exported_;
};

// The option by which the program is run, and what it does then: it exports, says so on its
// standard output, and ends when its standard input does. "DEVICE,BYTES,ALLOCATIONS".
constexpr const char *export_option = "--export";
int run_exporter(const std::string &plan);

} // namespace heddle::tools
