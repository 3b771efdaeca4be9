// SPDX-License-Identifier: BSD-3-Clause
// A type of Heddle's out of how its constructor was called: for this Heddle, and for another build
// of it (rivals/heddle.cpp).
#pragma once

#include "rival.h"

#include <vector>

namespace bench {

// Not committed. HEDDLE_*: as its constructor.
inline int make_type(const rival_type &t, const std::vector<heddle_type *> &old, heddle_type **type)
{
    switch (t.maker) {
    case RIVAL_PREDEFINED:
        *type = heddle_type_predefined(t.predefined);
        return *type ? HEDDLE_SUCCESS : HEDDLE_ERR_TYPE;
    case RIVAL_CONTIGUOUS:
        return heddle_type_contiguous(t.count, old[0], type);
    case RIVAL_HVECTOR:
        return heddle_type_hvector(t.count, t.blocklength, t.hstride, old[0], type);
    case RIVAL_INDEXED:
        return heddle_type_indexed(t.count, t.lengths, t.displs, old[0], type);
    case RIVAL_HINDEXED:
        return heddle_type_hindexed(t.count, t.lengths, t.displs, old[0], type);
    case RIVAL_HINDEXED_BLOCK:
        return heddle_type_hindexed_block(t.count, t.blocklength, t.displs, old[0], type);
    case RIVAL_STRUCT:
        return heddle_type_struct(t.count, t.lengths, t.displs, old.data(), type);
    case RIVAL_RESIZED:
        return heddle_type_resized(old[0], t.lb, t.extent, type);
    case RIVAL_SUBARRAY:
        return heddle_type_subarray(static_cast<int>(t.count), t.sizes, t.subsizes, t.starts,
                                    HEDDLE_ORDER_C, old[0], type);
    }
    return HEDDLE_ERR_ARG;
}

} // namespace bench
