# SPDX-License-Identifier: BSD-3-Clause
#
# heddle-info and heddle-explain. Included by the top Makefile.am, after bin_PROGRAMS is set.

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
    tools/nics.cpp \
    tools/nics.hpp \
    tools/type_text.cpp \
    tools/type_text.hpp \
    tools/write_text.cpp

bin_PROGRAMS += tools/heddle-info
tools_heddle_info_SOURCES = \
    tools/info.cpp \
    tools/info.hpp \
    tools/info_interposed.cpp \
    tools/info_json.cpp \
    tools/info_mpi.cpp \
    tools/info_print.cpp \
    tools/information.hpp \
    tools/libraries.cpp \
    tools/libraries.hpp \
    tools/settings.hpp
nodist_tools_heddle_info_SOURCES = tools/built.hpp
tools_heddle_info_CPPFLAGS = $(AM_CPPFLAGS) -Itools $(INFO_CPPFLAGS) $(JSON_CPPFLAGS)
tools_heddle_info_LDADD = tools/libexplain.la libheddle.la -ldl

EXTRA_DIST += tools/heddle-run
if INTERPOSE
dist_bin_SCRIPTS = tools/heddle-run
endif

# What measures transfers, for heddle-tune, bench/choice and their tests.
noinst_LTLIBRARIES += tools/libtune.la
tools_libtune_la_SOURCES = \
    tools/gpu_memory.cpp \
    tools/gpu_memory.hpp \
    tools/handle.hpp \
    tools/information.hpp \
    tools/trial.cpp \
    tools/trial.hpp \
    tools/tune_cases.cpp \
    tools/tune_cases.hpp \
    tools/tune_measure.cpp \
    tools/tune_measure.hpp \
    tools/tune_memory.cpp \
    tools/tune_memory.hpp

if BUILD_EXPLAIN
bin_PROGRAMS += tools/heddle-explain tools/heddle-tune
endif
tools_heddle_tune_SOURCES = \
    tools/libraries.cpp \
    tools/libraries.hpp \
    tools/tune.cpp \
    tools/tune_exporter.cpp \
    tools/tune_exporter.hpp \
    tools/tune_links.cpp \
    tools/tune_links.hpp \
    tools/tune_messages.cpp \
    tools/tune_messages.hpp \
    tools/tune_nodes.cpp \
    tools/tune_nodes.hpp \
    tools/tune_table.cpp \
    tools/tune_table.hpp
tools_heddle_tune_LDADD = tools/libtune.la tools/libexplain.la libheddle.la -ldl

tools_heddle_explain_SOURCES = \
    tools/explain.cpp \
    tools/facts.cpp \
    tools/facts.hpp \
    tools/information.hpp \
    tools/measure.cpp \
    tools/measure.hpp \
    tools/methods.cpp \
    tools/methods.hpp \
    tools/report.cpp \
    tools/report.hpp \
    tools/report_json.cpp \
    tools/sectors.cpp \
    tools/sectors.hpp \
    tools/settings.cpp \
    tools/settings.hpp
tools_heddle_explain_LDADD = tools/libtune.la tools/libexplain.la libheddle.la -ldl
