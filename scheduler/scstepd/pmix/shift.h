/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shift - from PMIx's thread to ours: an upcall copies its arguments, posts them here and returns. What was
 * posted runs in the loop, in the order in which it came.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_SHIFT_H
#define SCHEDULER_SCSTEPD_PMIX_SHIFT_H

#include <ev.h>

typedef void shift_run(void *arg);

/* Before any thread may post. */
void shift_open(struct ev_loop *loop);
/* Any thread. @run(@arg) is called in the loop; @arg is its own to free. 0 or -ENOMEM, then it is not called. */
int shift_post(shift_run *run, void *arg);
/* What is still waiting is forgotten; later posts are refused with -ESHUTDOWN. */
void shift_close(void);

#endif
