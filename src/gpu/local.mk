# SPDX-License-Identifier: BSD-3-Clause
# Transfers on any memory: the part of libheddle that stands on the engine and behind which the plug-ins stand.
gpu_sources = \
    src/gpu/backend.hpp \
    src/gpu/by_runs.cpp \
    src/gpu/choose.cpp \
    src/gpu/choose.hpp \
    src/gpu/chunked.cpp \
    src/gpu/combined.cpp \
    src/gpu/counters.cpp \
    src/gpu/counters.hpp \
    src/gpu/devices.cpp \
    src/gpu/devices.hpp \
    src/gpu/direct.cpp \
    src/gpu/ends.cpp \
    src/gpu/ends.hpp \
    src/gpu/error_detail.cpp \
    src/gpu/error_detail.hpp \
    src/gpu/info.cpp \
    src/gpu/memory_map.cpp \
    src/gpu/memory_map.hpp \
    src/gpu/moves.cpp \
    src/gpu/moves.hpp \
    src/gpu/on_stream.cpp \
    src/gpu/place.cpp \
    src/gpu/place.hpp \
    src/gpu/reach.cpp \
    src/gpu/reach.hpp \
    src/gpu/repeated.cpp \
    src/gpu/repeated.hpp \
    src/gpu/resident.cpp \
    src/gpu/resident.hpp \
    src/gpu/retired.cpp \
    src/gpu/retired.hpp \
    src/gpu/scratch.cpp \
    src/gpu/scratch.hpp \
    src/gpu/settings.cpp \
    src/gpu/settings.hpp \
    src/gpu/sides.cpp \
    src/gpu/sides.hpp \
    src/gpu/slabs.cpp \
    src/gpu/slabs.hpp \
    src/gpu/staged.cpp \
    src/gpu/staging.cpp \
    src/gpu/tasks.hpp \
    src/gpu/transfer.cpp \
    src/gpu/transfer.hpp \
    src/gpu/work.hpp
