/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine's settings as control variables of MPI: what they say goes before the environment's
 * HEDDLE_... . What stands between marks is made from the table of settings.
 */
#include "typerep_internal.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name        : HEDDLE
      description : Moving data, in the memory of devices above all

cvars:
# made by maint/settings-table
    - name        : MPIR_CVAR_HEDDLE_DEVICE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_DEVICE says otherwise. The plug-in
        for devices. auto opens the CUDA plug-in where a driver answers. Values:
        auto, none, or the path of a plug-in. Default: auto.

    - name        : MPIR_CVAR_HEDDLE_METHOD
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_METHOD says otherwise. Forces the
        method of each transfer, where it can do what is asked. Values: host,
        copy_engine, blocks, kernel, staged, bounced, combined. Default: none.

    - name        : MPIR_CVAR_HEDDLE_KERNEL
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_KERNEL says otherwise. Forces the
        kernel, in its best form, where it can do what is asked. Values:
        strided, transpose, records, runs, any. Default: none.

    - name        : MPIR_CVAR_HEDDLE_COPY_ENGINE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_COPY_ENGINE says otherwise. 1:
        contiguous data and blocks at one stride or two go to the copy engines,
        whatever their size. Values: 0, 1. Default: 0.

    - name        : MPIR_CVAR_HEDDLE_TUNING
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_TUNING says otherwise. A table of
        this machine, as heddle-tune writes it. Methods are chosen and messages
        are cut by it. Without one, Heddle takes the table that comes with it,
        in proportion to the GPU's memory and link. Values: the path of a file.
        Default: none.

    - name        : MPIR_CVAR_HEDDLE_SLAB_LIMIT
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_SLAB_LIMIT says otherwise. Staging
        memory for each device: so much of its own memory, so much pinned
        memory, and as much again of each for other processes. Transfers that
        find none take a slower way. Values: bytes; K, M or G may follow.
        Default: 256M.

    - name        : MPIR_CVAR_HEDDLE_CHUNK
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_CHUNK says otherwise. Bytes that go
        through host memory at a time, where no device reaches both ends.
        Values: bytes; K, M or G may follow. Default: 2M.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_CHUNK
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_CHUNK says otherwise. Bytes
        of a chunk of a message. By a table it may be less between nodes.
        Values: bytes; K, M or G may follow. Default: 1M, or as HEDDLE_TUNING
        says.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_WINDOW
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_WINDOW says otherwise.
        Chunks of a message that are on their way at a time. Values: a number.
        Default: 8, or more as HEDDLE_TUNING says.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_STAGING
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_STAGING says otherwise.
        Staging memory that messages may use on each side. Messages wait where
        it is used up. Values: bytes; K, M or G may follow. Default: half of
        HEDDLE_SLAB_LIMIT.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_IN_PLACE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_IN_PLACE says otherwise. A
        dense buffer is read where it lies, by CUDA IPC, once so many bytes were
        sent out of its allocation. Each message counts for 4 KiB at least.
        Values: bytes; K, M or G may follow. Default: 64K.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_OPEN
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_OPEN says otherwise.
        Allocations of each other process that are kept open. Beyond the last 16
        they come to no more than 4 GiB. Values: a number. Default: 256.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_TIMEOUT
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_TIMEOUT says otherwise. How
        long a short contiguous message within a node can be read out of the
        sender's buffer. Then it goes through host memory. Values: microseconds.
        Default: 30.

    - name        : MPIR_CVAR_HEDDLE_PEER
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_PEER says otherwise. How chunks get
        from process to process: sent (value), through pinned host memory that
        both map (shared), or out of the sender's GPU (reference). auto is the
        last that is possible. Values: auto, value, shared, reference. Default:
        auto.

    - name        : MPIR_CVAR_HEDDLE_PLACEMENT
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_PLACEMENT says otherwise. How long
        MPI may look for a better order of the ranks, where a program allows one
        (reorder). 0: ranks keep their order. Values: milliseconds. Default:
        5000.

    - name        : MPIR_CVAR_HEDDLE_AFFINITY
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_AFFINITY says otherwise. 1: a
        process says so, once, if it is bound to processors far from its GPU, or
        if UCX takes a NIC far from it. Values: 0, 1. Default: 1.

    - name        : MPIR_CVAR_HEDDLE_LOG
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_LOG says otherwise. Topics of the
        log on the standard error output: what was opened (info), pools and
        pinned memory (memory), what libheddle-mpi did with calls (interpose).
        And the path of each message, the method and kernel of each transfer,
        who is placed where (policy). Values: info, policy, memory, interpose.
        Default: none.
# end of what is made

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void MPII_heddle_settings_init(void)
{
    const struct {
        const char *name, *value;
    } settings[] = {
        /* settings: made by maint/settings-table */
        {"HEDDLE_DEVICE", MPIR_CVAR_HEDDLE_DEVICE},
        {"HEDDLE_METHOD", MPIR_CVAR_HEDDLE_METHOD},
        {"HEDDLE_KERNEL", MPIR_CVAR_HEDDLE_KERNEL},
        {"HEDDLE_COPY_ENGINE", MPIR_CVAR_HEDDLE_COPY_ENGINE},
        {"HEDDLE_TUNING", MPIR_CVAR_HEDDLE_TUNING},
        {"HEDDLE_SLAB_LIMIT", MPIR_CVAR_HEDDLE_SLAB_LIMIT},
        {"HEDDLE_CHUNK", MPIR_CVAR_HEDDLE_CHUNK},
        {"HEDDLE_MESSAGE_CHUNK", MPIR_CVAR_HEDDLE_MESSAGE_CHUNK},
        {"HEDDLE_MESSAGE_WINDOW", MPIR_CVAR_HEDDLE_MESSAGE_WINDOW},
        {"HEDDLE_MESSAGE_STAGING", MPIR_CVAR_HEDDLE_MESSAGE_STAGING},
        {"HEDDLE_MESSAGE_IN_PLACE", MPIR_CVAR_HEDDLE_MESSAGE_IN_PLACE},
        {"HEDDLE_MESSAGE_OPEN", MPIR_CVAR_HEDDLE_MESSAGE_OPEN},
        {"HEDDLE_MESSAGE_TIMEOUT", MPIR_CVAR_HEDDLE_MESSAGE_TIMEOUT},
        {"HEDDLE_PEER", MPIR_CVAR_HEDDLE_PEER},
        {"HEDDLE_PLACEMENT", MPIR_CVAR_HEDDLE_PLACEMENT},
        {"HEDDLE_AFFINITY", MPIR_CVAR_HEDDLE_AFFINITY},
        {"HEDDLE_LOG", MPIR_CVAR_HEDDLE_LOG},
        /* end of settings */
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (settings[i].value != NULL && settings[i].value[0] != '\0')
            (void)heddle_set(settings[i].name, settings[i].value);
}
