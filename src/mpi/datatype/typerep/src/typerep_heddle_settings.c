/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine's settings as control variables of MPI: what they say goes before the environment's
 * HEDDLE_... .
 */
#include "typerep_internal.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name        : HEDDLE
      description : Moving data, in the memory of devices above all

cvars:
    - name        : MPIR_CVAR_HEDDLE_DEVICE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_DEVICE says otherwise; the plug-
        in for devices: auto, none, or a path. Default: auto.

    - name        : MPIR_CVAR_HEDDLE_METHOD
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_METHOD says otherwise; forces a
        method of moving data, where it can do what is asked, for
        measurements: host, copy_engine, blocks, kernel, chunked, staged or
        combined.

    - name        : MPIR_CVAR_HEDDLE_KERNEL
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_KERNEL says otherwise; forces a
        kernel, where it can do what is asked, for measurements: strided,
        transpose, records, runs or any.

    - name        : MPIR_CVAR_HEDDLE_COPY_ENGINE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_COPY_ENGINE says otherwise; 1:
        blocks at one stride or two go to the copy engines whatever their
        size.
        Default: 0.

    - name        : MPIR_CVAR_HEDDLE_SLAB_LIMIT
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_SLAB_LIMIT says otherwise; bytes
        of staging memory for each device: so much of its own, and so much
        pinned; and as much again of each for what is lent to other processes.
        Default: 256M.

    - name        : MPIR_CVAR_HEDDLE_CHUNK
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_CHUNK says otherwise; bytes that
        go through the host at a time where no device reaches both ends.
        Default: 2M.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_CHUNK
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_CHUNK says otherwise;
        bytes of a chunk of a message. Default: 1M.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_WINDOW
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_WINDOW says otherwise;
        chunks of a message on their way at a time. Default: 8.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_STAGING
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_STAGING says otherwise;
        bytes of staging memory that messages may use on each side. Default:
        half of SLAB_LIMIT.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_IN_PLACE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_IN_PLACE says otherwise;
        bytes sent out of an allocation from which on dense buffers in it are
        read where they lie. Default: 64K.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_OPEN
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_OPEN says otherwise; most
        allocations of each other process that are kept open. Default: 256.

    - name        : MPIR_CVAR_HEDDLE_MESSAGE_PATIENCE
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_MESSAGE_PATIENCE says otherwise;
        microseconds for which a short contiguous message within a node waits
        to be read out of its sender's buffer. Default: 30.

    - name        : MPIR_CVAR_HEDDLE_PEER
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        What the environment variable HEDDLE_PEER says otherwise; how chunks
        get from one process to another: auto, value, shared or reference.
        Default: auto.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void MPII_heddle_settings_init(void)
{
    const struct {
        const char *name, *value;
    } settings[] = {
        {"HEDDLE_DEVICE", MPIR_CVAR_HEDDLE_DEVICE},
        {"HEDDLE_METHOD", MPIR_CVAR_HEDDLE_METHOD},
        {"HEDDLE_KERNEL", MPIR_CVAR_HEDDLE_KERNEL},
        {"HEDDLE_COPY_ENGINE", MPIR_CVAR_HEDDLE_COPY_ENGINE},
        {"HEDDLE_SLAB_LIMIT", MPIR_CVAR_HEDDLE_SLAB_LIMIT},
        {"HEDDLE_CHUNK", MPIR_CVAR_HEDDLE_CHUNK},
        {"HEDDLE_MESSAGE_CHUNK", MPIR_CVAR_HEDDLE_MESSAGE_CHUNK},
        {"HEDDLE_MESSAGE_WINDOW", MPIR_CVAR_HEDDLE_MESSAGE_WINDOW},
        {"HEDDLE_MESSAGE_STAGING", MPIR_CVAR_HEDDLE_MESSAGE_STAGING},
        {"HEDDLE_MESSAGE_IN_PLACE", MPIR_CVAR_HEDDLE_MESSAGE_IN_PLACE},
        {"HEDDLE_MESSAGE_OPEN", MPIR_CVAR_HEDDLE_MESSAGE_OPEN},
        {"HEDDLE_MESSAGE_PATIENCE", MPIR_CVAR_HEDDLE_MESSAGE_PATIENCE},
        {"HEDDLE_PEER", MPIR_CVAR_HEDDLE_PEER},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (settings[i].value != NULL && settings[i].value[0] != '\0')
            (void)heddle_set(settings[i].name, settings[i].value);
}
