# SPDX-License-Identifier: BSD-3-Clause
#
# engine-alone checks itself, so make check runs it: the C API from C, through the built library. halo3d needs an
# installed mpicc; maint/demo compiles and runs it.
check_PROGRAMS += examples/engine-alone
TESTS += examples/engine-alone
examples_engine_alone_SOURCES = examples/engine-alone.c
examples_engine_alone_LDADD = libheddle.la
