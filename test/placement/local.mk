# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of placement, on the C API alone. Included by the top Makefile.am.
if HAVE_CATCH2
check_PROGRAMS += test/placement/placement
TESTS += test/placement/placement
endif
test_placement_placement_SOURCES = \
    test/catch_main.cpp \
    test/placement/graphs.cpp \
    test/placement/graphs.hpp \
    test/placement/test_laws.cpp \
    test/placement/test_quality.cpp
# METIS is there to compare with. Scotch's flags tell what this build can do.
test_placement_placement_CPPFLAGS = $(AM_CPPFLAGS) $(SCOTCH_CPPFLAGS) $(METIS_CPPFLAGS)
test_placement_placement_LDADD = libheddle.la $(METIS_LIBS)
