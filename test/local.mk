# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests share. Included by the top Makefile.am, before theirs.

# To compile tests takes longer than to run them, at -O3 above all. What they test is compiled as it is installed.
test/%.$(OBJEXT): CXXFLAGS += $(TEST_LEVEL)

# main() of those that use Catch2.
if HAVE_CATCH2
check_LTLIBRARIES = test/libcatch_main.la
else
check_LTLIBRARIES =
endif
test_libcatch_main_la_SOURCES = test/catch_main.cpp
test/catch_main.lo: CXXFLAGS += $(CATCH_LEVEL)
