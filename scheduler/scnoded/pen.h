/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pen - the control group of one scremote with all processes that it starts, so that none of them
 * counts as scnoded's and none escapes when the pen is to end. The pens of a user lie in one group
 * (PARENT/scout-UID), which bounds how many processes and threads they have together; root's is not
 * bounded. Processes that a command has left behind on purpose stay in the pen. It is removed when
 * the last of them has ended, by a later scnoded too.
 */
#ifndef SCHEDULER_SCNODED_PEN_H
#define SCHEDULER_SCNODED_PEN_H

#include <ev.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/cgroup.h"

#define PEN_GRACE_S 3.0 /* more than a keeper's: it says SIGHUP first */
#define PEN_STAYS (-1.0)

struct pen;
struct pens;

/* Finds those that an earlier scnoded has left. NULL: no memory. @tasks: of a user. */
struct pens *pens_open(struct ev_loop *loop, enum cgroup_form form, const char *parent,
		       uint32_t tasks);
/* Those with somebody in them stay as they are. */
void pens_close(struct pens *pens);
/*
 * Ends all that is in any of them, that of living scremotes PEN_GRACE_S later; runs the loop until
 * it is gone, or will not go.
 */
void pens_end(struct pens *pens);

/* NULL with errno: there can be none; ENOTSUP: no cgroups here, which main() has said. */
struct pen *pen_make(struct pens *pens, uid_t uid);
/*
 * signals_fork() of the scremote, which finds itself in the pen. A child that the kernel does not
 * let in goes on outside, as on a host without groups. The child may call what birth.h says, and
 * nothing of libc that minds threads: libc may not know that the child has none.
 */
pid_t pen_fork(const struct pen *pen);
/*
 * The scremote has ended. Takes the pen. All that is in it is killed so many seconds later, or not:
 * PEN_STAYS.
 */
void pen_leave(struct pen *pen, double grace_s);

#endif
