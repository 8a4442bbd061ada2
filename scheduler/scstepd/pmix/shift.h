/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shift - from PMIx's thread to ours: an upcall copies its arguments, posts a call here and
 * returns. Posted calls run in the loop, in the order in which they came.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_SHIFT_H
#define SCHEDULER_SCSTEPD_PMIX_SHIFT_H

#include <ev.h>

typedef void shift_run(void *arg);

/* Before any thread may post. */
void shift_open(struct ev_loop *loop);
/*
 * Any thread. @run(@arg) is called in the loop, and must free @arg. 0; -ENOMEM or -ESHUTDOWN: it is
 * not called.
 */
int shift_post(shift_run *run, void *arg);
/* Posted calls that still wait are dropped; later posts are rejected with -ESHUTDOWN. */
void shift_close(void);

#endif
