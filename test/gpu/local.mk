# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of transfers on any memory, on the device that HEDDLE_DEVICE names. Included by the top Makefile.am.

check_PROGRAMS += test/gpu/sim_test
test_gpu_sim_test_SOURCES = \
    test/gpu/named.cpp \
    test/gpu/named.hpp \
    test/gpu/sim_test.cpp
test_gpu_sim_test_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_gpu_sim_test_LDFLAGS = $(AM_LDFLAGS) -pthread
test_gpu_sim_test_LDADD = -ldl
