/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What UCX is told before it starts. Envelopes must come whole and in their order: one that UCX
 * announces, and fetches later (UCX_RNDV_THRESH of 64 and less), is overtaken by what follows it, a
 * receive too short among them, and its sender then takes one for the other.
 */
#define _GNU_SOURCE /* open_memstream */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

#include <ctype.h>
#include <string.h>

/* "0", "8K", "intra:0,inter:auto" or the like, with what is too small raised. False where nothing
 * is. */
static bool raised(const char *threshold, char *to, size_t room)
{
    bool any = false;
    size_t at = 0;
    while (*threshold != '\0' && *threshold != '\n' && at < room) {
        char *end = (char *)threshold + 1;
        const bool is_number = isdigit((unsigned char)*threshold);
        const unsigned long long number = is_number ? strtoull(threshold, &end, 10) : 0;
        const bool is_small =
            is_number && (number == 0 || (number <= MPIDI_UCX_ENVELOPE_BYTES &&
                                          (*end == '\0' || !strchr("kmgtKMGT", *end))));
        any |= is_small;
        at += is_small ? snprintf(to + at, room - at, "%d", MPIDI_UCX_ENVELOPE_BYTES + 1)
                       : snprintf(to + at, room - at, "%.*s", (int)(end - threshold), threshold);
        threshold = end;
    }
    return any && at < room;
}

void MPIDI_UCX_configure(ucp_config_t *config)
{
    static const char name[] = "\nUCX_RNDV_THRESH=";
    char *all = NULL, value[128];
    size_t bytes;
    if (!ENABLE_GPU)
        return;
    FILE *stream = open_memstream(&all, &bytes);
    if (stream == NULL)
        return;
    ucp_config_print(config, stream, NULL, UCS_CONFIG_PRINT_CONFIG);
    fclose(stream);
    const char *found = all != NULL ? strstr(all, name) : NULL;
    if (found != NULL && raised(found + strlen(name), value, sizeof(value)))
        (void)ucp_config_modify(config, "RNDV_THRESH", value);
    MPL_external_free(all);
}

#endif
