# SPDX-License-Identifier: BSD-3-Clause
#
# Nothing to build here. The host's benchmarks compare installed MPIs, each compiled with that MPI's own compiler
# wrappers by bench/host/run, bench/host/instructions and bench/host/pingpong; bench/gpu/run and
# bench/gpu/contention/run compile theirs with nvcc against an installed Heddle.
