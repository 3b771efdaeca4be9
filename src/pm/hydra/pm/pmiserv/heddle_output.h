/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What processes wrote before one of them aborts. mpiexec ends when it hears of that, and reads
 * nothing behind it. So their output goes first.
 */
#ifndef HEDDLE_OUTPUT_H_INCLUDED
#define HEDDLE_OUTPUT_H_INCLUDED

#include <sys/ioctl.h>

static HYD_status stdoe_cb(int fd, HYD_event_t events, void *userp);

static int has_written(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* Whether a read would wait: what poll has found may have been forwarded since. */
static int is_forwarded(int fd, HYD_event_t events)
{
    return !(events & HYD_POLLHUP) && !has_written(fd);
}

/* One read takes all that a pipe holds. */
static HYD_status forward_written(int fd, int as)
{
    return has_written(fd) ? stdoe_cb(fd, HYD_POLLIN, (void *)(size_t)as) : HYD_SUCCESS;
}

static HYD_status forward_all_written(void)
{
    HYD_status status = HYD_SUCCESS;
    for (int i = 0; i < HYD_pmcd_pmip.local.proxy_process_count && status == HYD_SUCCESS; i++) {
        status = forward_written(HYD_pmcd_pmip.downstream.out[i], STDOUT_FILENO);
        if (status == HYD_SUCCESS)
            status = forward_written(HYD_pmcd_pmip.downstream.err[i], STDERR_FILENO);
    }
    return status;
}

#endif
