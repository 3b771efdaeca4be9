# SPDX-License-Identifier: BSD-3-Clause
# Messages in chunks over any transport: the part of libheddle that stands on transfers.
pipeline_sources = \
    src/mpid/pipeline/api.cpp \
    src/mpid/pipeline/borrowing.cpp \
    src/mpid/pipeline/borrowing.hpp \
    src/mpid/pipeline/buffer.cpp \
    src/mpid/pipeline/buffer.hpp \
    src/mpid/pipeline/counters.cpp \
    src/mpid/pipeline/counters.hpp \
    src/mpid/pipeline/exports.cpp \
    src/mpid/pipeline/exports.hpp \
    src/mpid/pipeline/incoming.cpp \
    src/mpid/pipeline/incoming.hpp \
    src/mpid/pipeline/lending.cpp \
    src/mpid/pipeline/lending.hpp \
    src/mpid/pipeline/limits.cpp \
    src/mpid/pipeline/limits.hpp \
    src/mpid/pipeline/memory_file.cpp \
    src/mpid/pipeline/memory_file.hpp \
    src/mpid/pipeline/message.cpp \
    src/mpid/pipeline/message.hpp \
    src/mpid/pipeline/offered.cpp \
    src/mpid/pipeline/offered.hpp \
    src/mpid/pipeline/offers.cpp \
    src/mpid/pipeline/offers.hpp \
    src/mpid/pipeline/outgoing.cpp \
    src/mpid/pipeline/outgoing.hpp \
    src/mpid/pipeline/port.cpp \
    src/mpid/pipeline/port.hpp \
    src/mpid/pipeline/pushed.hpp \
    src/mpid/pipeline/receiving.cpp \
    src/mpid/pipeline/receiving.hpp \
    src/mpid/pipeline/sending.cpp \
    src/mpid/pipeline/sending.hpp \
    src/mpid/pipeline/shared_memory.cpp \
    src/mpid/pipeline/shared_memory.hpp \
    src/mpid/pipeline/staging.cpp \
    src/mpid/pipeline/staging.hpp \
    src/mpid/pipeline/taking.cpp \
    src/mpid/pipeline/taking.hpp \
    src/mpid/pipeline/transfers.cpp \
    src/mpid/pipeline/transfers.hpp \
    src/mpid/pipeline/whereabouts.cpp \
    src/mpid/pipeline/whereabouts.hpp \
    src/mpid/pipeline/wire.cpp \
    src/mpid/pipeline/wire.hpp
