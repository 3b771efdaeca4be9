// SPDX-License-Identifier: BSD-3-Clause
// The method that the model finds the soonest for a transfer, remembered with the type's plan: by
// the amount, to a quarter of its power of two, and by all else that the answer depends on.
#pragma once

#include "gpu/model/tables.hpp"
#include "gpu/transfer/resolve.hpp"

namespace heddle::gpu {

// The tables of a device, found when they are first asked for. They live as long as the process.
const model::Tables &tables_of(const Device &device);

// A transfer as the model sees it. `work` is it as a kernel sees it.
model::Question question_of(const Move &move, const Work &work);

// The soonest of `among`; Method::count where the model knows none of them. A hit takes some
// nanoseconds (test/gpu, "decisions are cheap"). May throw std::bad_alloc, the first time a plan is
// asked for.
Method soonest(const Move &move, const Work &work, model::Methods among);

// The soonest for contiguous data that lie on two devices. Method::count where no table has that
// link: tables number devices as the process saw them that measured.
Method soonest_over_link(const Move &move);

// How often the model was asked because no answer was remembered.
int64_t decisions_made();

} // namespace heddle::gpu
