# SPDX-License-Identifier: BSD-3-Clause
#
# The interposer: the engine for programs on another MPI (--with-interpose). One source, compiled once for each ABI with
# that MPI's mpi.h. It calls PMPI_..., which the process's MPI defines, and is linked with none.
interpose_sources = \
    src/interpose/accesses.cpp \
    src/interpose/accesses.hpp \
    src/interpose/activity.hpp \
    src/interpose/attached.cpp \
    src/interpose/attached.hpp \
    src/interpose/bindings.cpp \
    src/interpose/bindings.hpp \
    src/interpose/chunks.cpp \
    src/interpose/chunks.hpp \
    src/interpose/collective.cpp \
    src/interpose/collective.hpp \
    src/interpose/collective_calls.cpp \
    src/interpose/completion.cpp \
    src/interpose/contents.cpp \
    src/interpose/contents.hpp \
    src/interpose/darray.cpp \
    src/interpose/darray.hpp \
    src/interpose/data.cpp \
    src/interpose/data.hpp \
    src/interpose/envelope.cpp \
    src/interpose/envelope.hpp \
    src/interpose/files.cpp \
    src/interpose/handles.cpp \
    src/interpose/handles.hpp \
    src/interpose/held.cpp \
    src/interpose/held.hpp \
    src/interpose/lifetime.cpp \
    src/interpose/message.cpp \
    src/interpose/message.hpp \
    src/interpose/newer_calls.hpp \
    src/interpose/operation.cpp \
    src/interpose/operation.hpp \
    src/interpose/packing.cpp \
    src/interpose/partitioned.cpp \
    src/interpose/peers.cpp \
    src/interpose/peers.hpp \
    src/interpose/persistent.cpp \
    src/interpose/persistent.hpp \
    src/interpose/placement.cpp \
    src/interpose/placing.cpp \
    src/interpose/placing.hpp \
    src/interpose/point_to_point.cpp \
    src/interpose/predefined.cpp \
    src/interpose/predefined.hpp \
    src/interpose/public_copy.cpp \
    src/interpose/public_copy.hpp \
    src/interpose/rebuild.cpp \
    src/interpose/rebuild.hpp \
    src/interpose/reductions.cpp \
    src/interpose/reference.cpp \
    src/interpose/reference.hpp \
    src/interpose/report.cpp \
    src/interpose/report.hpp \
    src/interpose/shape.cpp \
    src/interpose/shape.hpp \
    src/interpose/together.cpp \
    src/interpose/together.hpp \
    src/interpose/type_ref.hpp \
    src/interpose/waiting.cpp \
    src/interpose/watched.cpp \
    src/interpose/watched.hpp \
    src/interpose/windows.cpp
EXTRA_DIST += $(interpose_sources)

# PMPI_... are found when they are called first: an older MPI of the same ABI may lack some.
interpose_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,lazy
if INTERPOSE_MPICH
lib_LTLIBRARIES += libheddle-mpi-mpich.la
libheddle_mpi_mpich_la_SOURCES = $(interpose_sources)
libheddle_mpi_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(INTERPOSE_MPICH_CPPFLAGS)
libheddle_mpi_mpich_la_LDFLAGS = $(interpose_ldflags)
libheddle_mpi_mpich_la_LIBADD = libheddle.la -ldl
endif
if INTERPOSE_OPENMPI
lib_LTLIBRARIES += libheddle-mpi-openmpi.la
libheddle_mpi_openmpi_la_SOURCES = $(interpose_sources)
libheddle_mpi_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(INTERPOSE_OPENMPI_CPPFLAGS)
libheddle_mpi_openmpi_la_LDFLAGS = $(interpose_ldflags)
libheddle_mpi_openmpi_la_LIBADD = libheddle.la -ldl
endif
if INTERPOSE_ABI
lib_LTLIBRARIES += libheddle-mpi-abi.la
libheddle_mpi_abi_la_SOURCES = $(interpose_sources)
libheddle_mpi_abi_la_CPPFLAGS = $(AM_CPPFLAGS) $(INTERPOSE_ABI_CPPFLAGS)
libheddle_mpi_abi_la_LDFLAGS = $(interpose_ldflags)
libheddle_mpi_abi_la_LIBADD = libheddle.la -ldl
endif
