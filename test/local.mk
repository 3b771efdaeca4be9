# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests share. Included by the top Makefile.am, before theirs.

# To compile tests takes longer than to run them, at -O3 above all. What they test is compiled as it is installed.
test/%.$(OBJEXT): CXXFLAGS += $(TEST_LEVEL)
# It stands first among a program's sources, for its static objects are to be destroyed last: Catch2 may have
# redirected std::cout when a child process ends.
test/%catch_main.$(OBJEXT): CXXFLAGS += $(CATCH_LEVEL)

check_LTLIBRARIES =
