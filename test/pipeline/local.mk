# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of messages, over a transport within the process, on the simulated device. Included by the top Makefile.am.
if HAVE_CATCH2
check_PROGRAMS += test/pipeline/pipeline
TESTS += test/pipeline/pipeline
endif
# libpipeline.la in place of libheddle.la: some look inside.
test_pipeline_pipeline_SOURCES = \
    test/catch_main.cpp \
    test/gpu/cuda_memory.cpp \
    test/gpu/device_memory.cpp \
    test/gpu/device_memory.hpp \
    test/gpu/mirror.cpp \
    test/gpu/mirror.hpp \
    test/gpu/random_case.cpp \
    test/gpu/simulation.cpp \
    test/pipeline/asked.cpp \
    test/pipeline/asked.hpp \
    test/pipeline/calls.hpp \
    test/pipeline/exchange.cpp \
    test/pipeline/exchange.hpp \
    test/pipeline/network.cpp \
    test/pipeline/network.hpp \
    test/pipeline/processes.hpp \
    test/pipeline/put_sender.cpp \
    test/pipeline/put_sender.hpp \
    test/pipeline/test_absolute.cpp \
    test/pipeline/test_at_once.cpp \
    test/pipeline/test_early.cpp \
    test/pipeline/test_endings.cpp \
    test/pipeline/test_failures.cpp \
    test/pipeline/test_fold.cpp \
    test/pipeline/test_get.cpp \
    test/pipeline/test_lost.cpp \
    test/pipeline/test_processes.cpp \
    test/pipeline/test_put.cpp \
    test/pipeline/test_put_endings.cpp \
    test/pipeline/test_random.cpp \
    test/pipeline/test_reference.cpp \
    test/pipeline/test_remote.cpp \
    test/pipeline/test_rtr_race.cpp \
    test/pipeline/test_rules.cpp \
    test/pipeline/test_select.cpp \
    test/pipeline/test_shared.cpp \
    test/pipeline/test_threads.cpp \
    test/pipeline/test_tuned.cpp \
    test/pipeline/test_wire.cpp \
    test/pipeline/test_within.cpp \
    test/pipeline/two.hpp
test_pipeline_pipeline_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_pipeline_pipeline_LDFLAGS = $(AM_LDFLAGS) -pthread
test_pipeline_pipeline_LDADD = test/unit/liboracle.la libpipeline.la -ldl
