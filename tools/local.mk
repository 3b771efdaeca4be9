# SPDX-License-Identifier: BSD-3-Clause
#
# heddle-explain. Included by the top Makefile.am, after bin_PROGRAMS is set.

# The parser apart, for its tests.
noinst_LTLIBRARIES += tools/libexplain.la
tools_libexplain_la_SOURCES = \
    tools/build.cpp \
    tools/build.hpp \
    tools/counts.cpp \
    tools/counts.hpp \
    tools/handle.hpp \
    tools/names.cpp \
    tools/names.hpp \
    tools/type_text.cpp \
    tools/type_text.hpp \
    tools/write_text.cpp

if HAVE_CLI11
if HAVE_JSON
bin_PROGRAMS += tools/heddle-explain
endif
endif
tools_heddle_explain_SOURCES = \
    tools/explain.cpp \
    tools/facts.cpp \
    tools/facts.hpp \
    tools/gpu_memory.cpp \
    tools/gpu_memory.hpp \
    tools/measure.cpp \
    tools/measure.hpp \
    tools/report.cpp \
    tools/report.hpp \
    tools/report_json.cpp \
    tools/sectors.cpp \
    tools/sectors.hpp
tools_heddle_explain_LDADD = tools/libexplain.la libheddle.la -ldl
