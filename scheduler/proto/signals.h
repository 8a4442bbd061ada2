/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals - no handler of a program runs in the processes that it forks, and what it starts finds
 * nothing set up for signals.
 */
#ifndef SCHEDULER_PROTO_SIGNALS_H
#define SCHEDULER_PROTO_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

/*
 * fork(), with a child that has all signals blocked: a handler of ours would take one that is meant
 * for the child, and tell the parent's loop of it. The pid, or -errno.
 */
pid_t signals_fork(void);
/* The same around another way to fork: in the parent before it, and in the parent after it. */
void signals_hold(sigset_t *ret_before);
void signals_release(const sigset_t *before);

/* Nothing is handled, ignored or blocked. System calls only: for a child between fork and exec. */
void signals_reset(void);

/*
 * By this scnoded has a scstepd without links come back. A scstepd that does not handle it yet
 * ignores it, as the kernel does by default.
 */
#define SIGNALS_WAKE SIGURG

#endif
