# SPDX-License-Identifier: BSD-3-Clause
#
# Unit tests and the property tests, on the public C API alone. Included by the top Makefile.am.

# Neither the engine's code nor its ideas: what both programs compare the engine with.
check_LTLIBRARIES += test/unit/liboracle.la
test_unit_liboracle_la_SOURCES = \
    test/unit/oracle/basics.cpp \
    test/unit/oracle/basics.hpp \
    test/unit/oracle/expr.cpp \
    test/unit/oracle/expr.hpp \
    test/unit/oracle/handle.hpp \
    test/unit/oracle/operators.cpp \
    test/unit/oracle/operators.hpp \
    test/unit/oracle/random_type.cpp \
    test/unit/oracle/random_type.hpp \
    test/unit/oracle/reference.cpp \
    test/unit/oracle/reference.hpp \
    test/unit/oracle/rng.hpp \
    test/unit/oracle/typemap.cpp \
    test/unit/oracle/typemap.hpp

if HAVE_CLI11
check_PROGRAMS += test/unit/property/property
TESTS += test/unit/property/property
endif
test_unit_property_property_SOURCES = \
    test/unit/property/data.cpp \
    test/unit/property/describe.cpp \
    test/unit/property/failure.hpp \
    test/unit/property/laws.cpp \
    test/unit/property/main.cpp \
    test/unit/property/memory.cpp \
    test/unit/property/memory.hpp \
    test/unit/property/properties.hpp \
    test/unit/property/random_run.hpp \
    test/unit/property/runs.cpp \
    test/unit/property/shrink.cpp \
    test/unit/property/shrink.hpp \
    test/unit/property/values.cpp
test_unit_property_property_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_unit_property_property_LDFLAGS = $(AM_LDFLAGS) -pthread
test_unit_property_property_LDADD = test/unit/liboracle.la libheddle.la

if HAVE_CATCH2
check_PROGRAMS += test/unit/unit
TESTS += test/unit/unit
endif
test_unit_unit_SOURCES = \
    test/catch_main.cpp \
    test/unit/test_canonical.cpp \
    test/unit/test_errors.cpp \
    test/unit/test_external.cpp \
    test/unit/test_far.cpp \
    test/unit/test_lifetime.cpp \
    test/unit/test_nesting.cpp \
    test/unit/test_oracle.cpp \
    test/unit/test_predefined.cpp \
    test/unit/test_reduce.cpp \
    test/unit/test_scale.cpp
test_unit_unit_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_unit_unit_LDFLAGS = $(AM_LDFLAGS) -pthread
test_unit_unit_LDADD = test/unit/liboracle.la libheddle.la
