# SPDX-License-Identifier: BSD-3-Clause
#
# Nothing but bench/choice is built here, and that only when asked for. The host's benchmarks compare
# installed MPIs, each compiled with that MPI's own compiler wrappers by bench/host/run,
# bench/host/instructions and bench/host/pingpong. bench/gpu/run and bench/gpu/contention/run compile
# theirs with nvcc against an installed Heddle, bench/copies/run without one.

EXTRA_PROGRAMS += bench/choice/choice
bench_choice_choice_SOURCES = bench/choice/choice.cpp
bench_choice_choice_LDADD = tools/libtune.la tools/libexplain.la libheddle.la -ldl
