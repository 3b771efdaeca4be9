# SPDX-License-Identifier: BSD-3-Clause
# Messages in chunks over any transport: the part of libheddle that stands on transfers.
pipeline_sources = \
    src/pipeline/affinity.cpp \
    src/pipeline/api.cpp \
    src/pipeline/collective.cpp \
    src/pipeline/counters.cpp \
    src/pipeline/counters.hpp \
    src/pipeline/limits.cpp \
    src/pipeline/limits.hpp \
    src/pipeline/peer_memory/exports.cpp \
    src/pipeline/peer_memory/exports.hpp \
    src/pipeline/peer_memory/imports.cpp \
    src/pipeline/peer_memory/imports.hpp \
    src/pipeline/peer_memory/memory_file.cpp \
    src/pipeline/peer_memory/memory_file.hpp \
    src/pipeline/peer_memory/process.cpp \
    src/pipeline/peer_memory/process.hpp \
    src/pipeline/peer_memory/slots.cpp \
    src/pipeline/peer_memory/slots.hpp \
    src/pipeline/peer_memory/staging.cpp \
    src/pipeline/peer_memory/staging.hpp \
    src/pipeline/protocol/buffer.cpp \
    src/pipeline/protocol/buffer.hpp \
    src/pipeline/protocol/eager_send.hpp \
    src/pipeline/protocol/ends.cpp \
    src/pipeline/protocol/get_recv.cpp \
    src/pipeline/protocol/get_send.cpp \
    src/pipeline/protocol/message.hpp \
    src/pipeline/protocol/port.cpp \
    src/pipeline/protocol/port.hpp \
    src/pipeline/protocol/put.cpp \
    src/pipeline/protocol/reading_recv.hpp \
    src/pipeline/protocol/rndv_recv.cpp \
    src/pipeline/protocol/rndv_send.cpp \
    src/pipeline/protocol/rtr.cpp \
    src/pipeline/protocol/rtr.hpp \
    src/pipeline/protocol/select.cpp \
    src/pipeline/protocol/select.hpp \
    src/pipeline/protocol/self.cpp \
    src/pipeline/protocol/transfers.cpp \
    src/pipeline/protocol/transfers.hpp \
    src/pipeline/protocol/unexpected.hpp \
    src/pipeline/remote.cpp \
    src/pipeline/wire.cpp \
    src/pipeline/wire.hpp
