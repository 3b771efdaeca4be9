## SPDX-License-Identifier: BSD-3-Clause
##
## ROMIO's reads and writes for buffers in memory of any kind.

noinst_HEADERS += heddle/any_memory.h heddle/pieces.h

romio_other_sources += \
    heddle/collective.c \
    heddle/independent.c \
    heddle/large_count.c \
    heddle/nonblocking.c \
    heddle/nonblocking_errors.c \
    heddle/pieces.c
