# SPDX-License-Identifier: BSD-3-Clause
#
# The simulated device: a plug-in for tests, never installed. -rpath, wherever it points, makes libtool build the
# shared object that dlopen opens, .libs/libheddle-sim.so.
noinst_LTLIBRARIES += src/gpu/sim/libheddle-sim.la
src_gpu_sim_libheddle_sim_la_SOURCES = \
    src/engine/operators.hpp \
    src/engine/predefined.cpp \
    src/engine/predefined.hpp \
    src/engine/reduce.hpp \
    src/engine/reduce_kernels.cpp \
    src/gpu/cuda/host/select_kernel.cpp \
    src/gpu/cuda/host/select_kernel.hpp \
    src/gpu/sim/access.cpp \
    src/gpu/sim/access.hpp \
    src/gpu/sim/api.cpp \
    src/gpu/sim/arena.cpp \
    src/gpu/sim/combine.cpp \
    src/gpu/sim/combine.hpp \
    src/gpu/sim/error.hpp \
    src/gpu/sim/kernel.cpp \
    src/gpu/sim/kernel.hpp \
    src/gpu/sim/machine.cpp \
    src/gpu/sim/machine.hpp \
    src/gpu/sim/memory.cpp \
    src/gpu/sim/memory.hpp \
    src/gpu/sim/pace.cpp \
    src/gpu/sim/pace.hpp \
    src/gpu/sim/queue.cpp \
    src/gpu/sim/queue.hpp \
    src/gpu/sim/sim.h \
    src/gpu/sim/switches.cpp \
    src/gpu/sim/switches.hpp
src_gpu_sim_libheddle_sim_la_CXXFLAGS = $(AM_CXXFLAGS) -pthread
src_gpu_sim_libheddle_sim_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir) \
    $(exports) -pthread
# Its name of the interface stands in this file.
EXTRA_src_gpu_sim_libheddle_sim_la_DEPENDENCIES = src/gpu/sim/local.mk
