/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - hosts where Open MPI does not use mtl/pm although the job names it: the component is
 * missing there, or stays out. Open MPI goes on with another transport on such a host, and its
 * ranks then fail to reach all others. The data that the ranks bring to their first fence shows it.
 * Knows nothing of files: each program may have its own Open MPI.
 */
#ifndef SCHEDULER_SCSTEPD_TRANSPORT_H
#define SCHEDULER_SCSTEPD_TRANSPORT_H

#include "scheduler/scstepd/step.h"

/* At every host: what its ranks bring to a fence. The leader is told, once. */
void transport_look(struct step *step, const void *data, size_t size);
/* At the leader: a host has told. */
void transport_told(const struct step *step, size_t host);
/*
 * At the leader, when a fence is over: the line for the user, once; NULL: there is none. free() it.
 */
char *transport_line(const struct step *step);
void transport_close(void);

#endif
