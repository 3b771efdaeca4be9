# SPDX-License-Identifier: BSD-3-Clause
#
# Nothing to build here: benchmarks compare installed MPIs, each compiled with that MPI's own compiler wrappers by
# bench/host/run, bench/host/instructions and bench/host/pingpong.
