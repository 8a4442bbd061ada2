/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * murmur - what a scremote says on its standard error. A user's process must not write into
 * scnoded's log as it likes, so a few of its lines get there, with the user's number before them.
 */
#ifndef SCHEDULER_SCNODED_MURMUR_H
#define SCHEDULER_SCNODED_MURMUR_H

#include <ev.h>
#include <sys/types.h>

#define MURMUR_MAX 512 /* bytes of one scremote */

struct murmur;

/* NULL with errno. *@ret_end is for the scremote, and the caller's to close. */
struct murmur *murmur_open(struct ev_loop *loop, uid_t uid, int *ret_end);
/* Says what is there still. NULL is allowed. */
void murmur_close(struct murmur *murmur);

#endif
