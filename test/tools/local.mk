# SPDX-License-Identifier: BSD-3-Clause
#
# The text form of types, against the engine and the unit tests' oracle. Included by the top Makefile.am, after
# tools/local.mk and test/unit/local.mk.

if HAVE_CATCH2
check_PROGRAMS += test/tools/explain_test
TESTS += test/tools/explain_test
endif
test_tools_explain_test_SOURCES = \
    test/catch_main.cpp \
    test/tools/test_counts.cpp \
    test/tools/test_errors.cpp \
    test/tools/test_nics.cpp \
    test/tools/test_parse.cpp \
    test/tools/test_round_trip.cpp
test_tools_explain_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/test/unit
test_tools_explain_test_LDADD = tools/libexplain.la test/unit/liboracle.la libheddle.la

# A clock that a slow simulated device moves, for LD_PRELOAD. It takes the place of the C library's, so its symbols are
# not hidden.
check_LTLIBRARIES += test/tools/libsimulated-clock.la
test_tools_libsimulated_clock_la_SOURCES = test/tools/simulated_clock.cpp
test_tools_libsimulated_clock_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
