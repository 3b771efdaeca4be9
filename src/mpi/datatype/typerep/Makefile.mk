## SPDX-License-Identifier: BSD-3-Clause

if BUILD_DATALOOP_ENGINE
include $(top_srcdir)/src/mpi/datatype/typerep/dataloop/Makefile.mk
endif

include $(top_srcdir)/src/mpi/datatype/typerep/src/Makefile.mk

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/datatype/typerep/src
