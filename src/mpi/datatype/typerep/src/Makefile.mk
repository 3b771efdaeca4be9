## SPDX-License-Identifier: BSD-3-Clause
##
## MPICH's typerep layer: on libheddle, or on MPICH's own dataloop engine.

mpi_core_sources += \
    src/mpi/datatype/typerep/src/typerep_flatten.c \
    src/mpi/datatype/typerep/src/typerep_kinds.c \
    src/mpi/datatype/typerep/src/typerep_op.c \
    src/mpi/datatype/typerep/src/typerep_partial.c \
    src/mpi/datatype/typerep/src/typerep_section.c \
    src/mpi/datatype/typerep/src/typerep_staging.c

if BUILD_HEDDLE_ENGINE
mpi_core_sources += \
    src/mpi/datatype/typerep/src/typerep_heddle_check.c \
    src/mpi/datatype/typerep/src/typerep_heddle_commit.c \
    src/mpi/datatype/typerep/src/typerep_heddle_count.c \
    src/mpi/datatype/typerep/src/typerep_heddle_counters.c \
    src/mpi/datatype/typerep/src/typerep_heddle_create.c \
    src/mpi/datatype/typerep/src/typerep_heddle_device.c \
    src/mpi/datatype/typerep/src/typerep_heddle_external.c \
    src/mpi/datatype/typerep/src/typerep_heddle_init.c \
    src/mpi/datatype/typerep/src/typerep_heddle_iov.c \
    src/mpi/datatype/typerep/src/typerep_heddle_memory.c \
    src/mpi/datatype/typerep/src/typerep_heddle_op.c \
    src/mpi/datatype/typerep/src/typerep_heddle_pack.c \
    src/mpi/datatype/typerep/src/typerep_heddle_scratch.c \
    src/mpi/datatype/typerep/src/typerep_heddle_settings.c \
    src/mpi/datatype/typerep/src/typerep_heddle_status.c \
    src/mpi/datatype/typerep/src/typerep_heddle_types.c
endif

if BUILD_DATALOOP_ENGINE
mpi_core_sources += \
    src/mpi/datatype/typerep/src/typerep_dataloop_commit.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_create.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_darray.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_debug.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_init.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_iov.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_pack.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_pack_external.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_size_external.c \
    src/mpi/datatype/typerep/src/typerep_dataloop_subarray.c \
    src/mpi/datatype/typerep/src/typerep_ext32.c
endif

noinst_HEADERS += \
    src/mpi/datatype/typerep/src/cdesc_section.h \
    src/include/heddle.h \
    src/include/heddle_mpi.h \
    src/mpi/datatype/typerep/src/typerep_files.h \
    src/mpi/datatype/typerep/src/typerep_internal.h \
    src/mpi/datatype/typerep/src/typerep_kinds.h \
    src/mpi/datatype/typerep/src/typerep_pre.h \
    src/mpi/datatype/typerep/src/typerep_scratch.h \
    src/mpi/datatype/typerep/src/typerep_staging.h
