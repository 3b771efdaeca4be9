## SPDX-License-Identifier: BSD-3-Clause
##
## Our files of the UCX netmod: messages of device memory need libheddle.

mpi_core_sources += src/mpid/ch4/netmod/ucx/heddle_progress.c

if BUILD_HEDDLE_ENGINE
mpi_core_sources += \
    src/mpid/ch4/netmod/ucx/heddle_announce.c \
    src/mpid/ch4/netmod/ucx/heddle_announce_in.c \
    src/mpid/ch4/netmod/ucx/heddle_buffer.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_channels.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_make.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_meet.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_pack.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_pull.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_reduce.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_request.c \
    src/mpid/ch4/netmod/ucx/heddle_coll_tell.c \
    src/mpid/ch4/netmod/ucx/heddle_ended.c \
    src/mpid/ch4/netmod/ucx/heddle_envelope.c \
    src/mpid/ch4/netmod/ucx/heddle_init.c \
    src/mpid/ch4/netmod/ucx/heddle_leaving.c \
    src/mpid/ch4/netmod/ucx/heddle_moves.c \
    src/mpid/ch4/netmod/ucx/heddle_nic.c \
    src/mpid/ch4/netmod/ucx/heddle_port.c \
    src/mpid/ch4/netmod/ucx/heddle_recv.c \
    src/mpid/ch4/netmod/ucx/heddle_segment.c \
    src/mpid/ch4/netmod/ucx/heddle_send.c \
    src/mpid/ch4/netmod/ucx/heddle_win.c \
    src/mpid/ch4/netmod/ucx/heddle_win_access.c \
    src/mpid/ch4/netmod/ucx/heddle_win_combine.c \
    src/mpid/ch4/netmod/ucx/heddle_win_lock.c \
    src/mpid/ch4/netmod/ucx/heddle_win_long.c \
    src/mpid/ch4/netmod/ucx/heddle_win_origin.c \
    src/mpid/ch4/netmod/ucx/heddle_win_target.c \
    src/mpid/ch4/netmod/ucx/heddle_win_update.c
endif
