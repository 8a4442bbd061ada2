/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errlog - what a scremote says on its standard error. A user's process must not write into
 * scnoded's log as it likes, so a few of its lines get there, with the user's number before them.
 */
#ifndef SCHEDULER_SCNODED_ERRLOG_H
#define SCHEDULER_SCNODED_ERRLOG_H

#include <ev.h>
#include <sys/types.h>

#define ERRLOG_MAX 512 /* bytes of one scremote */

struct errlog;

/* NULL with errno. *@ret_end is for the scremote, and the caller's to close. */
struct errlog *errlog_open(struct ev_loop *loop, uid_t uid, int *ret_end);
/* Says what is there still. NULL is allowed. */
void errlog_close(struct errlog *errlog);

#endif
