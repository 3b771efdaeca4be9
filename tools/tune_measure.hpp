// SPDX-License-Identifier: BSD-3-Clause
// Times of blocking transfers by forced methods.
#pragma once

#include "trial.hpp"
#include "tune_cases.hpp"
#include "tune_memory.hpp"

#include <optional>
#include <stdexcept>

namespace heddle::tools {

// Seconds of one call that carries them out. Throws where that fails.
double timed(const std::vector<heddle_move> &moves);
// The same by the forced method, in trials. Nothing where the method cannot do them.
std::optional<Measurement> time_by(const char *method, const std::vector<heddle_move> &moves,
                                   const TrialOptions &options);

// The methods that the model knows.
constexpr const char *modelled_methods[] = {"copy_engine", "blocks", "kernel", "staged", "bounced"};

struct NoRoom : std::runtime_error {
    NoRoom() : std::runtime_error("there is not enough memory") {}
};

// The buffers of the measurements, which grow as one needs more.
class Bench {
public:
    // Throws std::runtime_error where there is no device.
    Bench();

    std::string device() const { return memory_->device(); }
    TuneMemory &memory() { return *memory_; }
    // Seconds of a call that moves the layout the way that `path` says, by the forced method.
    // Nothing where the method cannot do it, or there is no memory for it. `copies` of them in one
    // call, next to each other. Throws where a transfer fails.
    std::optional<Measurement> time(const Layout &layout, Path path, const char *method,
                                    const TrialOptions &options, int copies = 1);
    int without_room() const { return without_room_; } // times that were asked for and not measured
    // The method that is chosen where none is forced, by its name. This and the others throw NoRoom
    // where there is no memory.
    std::string chosen(const Layout &layout, Path path);
    // Seconds of one call: by `method`, or as chosen where it is null.
    double once(const Layout &layout, Path path, const char *method);
    // Seconds that the model expects, if it does.
    std::optional<double> expected(const Layout &layout, Path path, const char *method);

private:
    std::vector<heddle_move> moves(const Layout &layout, Path path, int copies);
    char *buffer(bool on_device, size_t which, int64_t bytes);

    struct Buffer {
        void *at = nullptr;
        int64_t bytes = 0;
    };
    std::unique_ptr<TuneMemory> memory_;
    Buffer buffers_[2][2]; // pinned or on the device; for layouts or packed
    int without_room_ = 0;
};

} // namespace heddle::tools
