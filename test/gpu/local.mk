# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of transfers on memory of every kind, on the device that HEDDLE_DEVICE names, which is the simulated one in
# make check. Included by the top Makefile.am.

simulated_device = $(abs_top_builddir)/src/gpu/sim/.libs/libheddle-sim.so

# What the simulated device itself promises.
check_PROGRAMS += test/gpu/sim_test
TESTS += test/gpu/sim_test
test_gpu_sim_test_SOURCES = \
    test/gpu/named.cpp \
    test/gpu/named.hpp \
    test/gpu/sim_plugin.cpp \
    test/gpu/sim_plugin.hpp \
    src/gpu/core/slabs.cpp \
    test/gpu/sim_test.cpp \
    test/gpu/sim_test_pace.cpp \
    test/gpu/sim_test_slabs.cpp \
    test/gpu/sim_test_streams.cpp \
    test/gpu/sim_test_work.cpp
test_gpu_sim_test_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_gpu_sim_test_LDFLAGS = $(AM_LDFLAGS) -pthread
test_gpu_sim_test_LDADD = -ldl

# The performance model, which looks inside libheddle.
check_PROGRAMS += test/gpu/model_test
TESTS += test/gpu/model_test
test_gpu_model_test_SOURCES = \
    test/gpu/model_test.cpp \
    test/gpu/named.cpp \
    test/gpu/named.hpp
test_gpu_model_test_CPPFLAGS = $(AM_CPPFLAGS) $(JSON_CPPFLAGS) -DTABLES='"$(abs_top_srcdir)/share/heddle"'
test_gpu_model_test_LDADD = libgpu.la -ldl

# Of the CUDA plug-in, what needs no CUDA.
if HAVE_HWLOC
check_PROGRAMS += test/gpu/cuda_test
TESTS += test/gpu/cuda_test
endif
test_gpu_cuda_test_SOURCES = \
    src/gpu/cuda/host/numa.cpp \
    src/gpu/cuda/host/select_kernel.cpp \
    test/gpu/cuda_test.cpp \
    test/gpu/cuda_test_numa.cpp \
    test/gpu/named.cpp \
    test/gpu/named.hpp
test_gpu_cuda_test_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_HWLOC_CFLAGS)
test_gpu_cuda_test_LDADD = $(CHECK_HWLOC_LIBS)

if HAVE_CLI11
check_PROGRAMS += test/gpu/gpu
TESTS += test/gpu/gpu
endif
test_gpu_gpu_SOURCES = \
    test/gpu/buffer.cpp \
    test/gpu/buffer.hpp \
    test/gpu/case.hpp \
    test/gpu/cuda_memory.cpp \
    test/gpu/device_memory.cpp \
    test/gpu/device_memory.hpp \
    test/gpu/main.cpp \
    test/gpu/mirror.cpp \
    test/gpu/mirror.hpp \
    test/gpu/named.cpp \
    test/gpu/named.hpp \
    test/gpu/random_case.cpp \
    test/gpu/run_case.cpp \
    test/gpu/shrink_case.cpp \
    test/gpu/simulation.cpp \
    test/gpu/test_contexts.cpp \
    test/gpu/test_environment.cpp \
    test/gpu/test_errors.cpp \
    test/gpu/test_failures.cpp \
    test/gpu/test_far.cpp \
    test/gpu/test_long_lists.cpp \
    test/gpu/test_members.cpp \
    test/gpu/test_memory.cpp \
    test/gpu/test_no_memory.cpp \
    test/gpu/test_operators.cpp \
    test/gpu/test_pageable.cpp \
    test/gpu/test_repeated.cpp \
    test/gpu/test_streams.cpp \
    test/gpu/types.hpp \
    test/unit/property/failure.hpp \
    test/unit/property/random_run.hpp \
    test/unit/property/shrink.cpp \
    test/unit/property/shrink.hpp
test_gpu_gpu_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_gpu_gpu_LDFLAGS = $(AM_LDFLAGS) -pthread
test_gpu_gpu_LDADD = test/unit/liboracle.la libheddle.la -ldl
