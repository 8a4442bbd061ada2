/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote - connections to the host's port that name no job: a scout asks for its scremote. It gets
 * his connection and is on its own from then on; it is in a control group of its own
 * (agent_group.h), and lives on when we end, unless we are transient.
 */
#ifndef SCHEDULER_SCNODED_REMOTE_H
#define SCHEDULER_SCNODED_REMOTE_H

#include "scheduler/scnoded/scnoded.h"

/* who have said who they are, and not what they want; the oldest goes for one more */
#define REMOTE_CALLERS_MAX 1024
#define REMOTE_USER_MAX 64 /* scremotes of one user */
/* a lock that keeps somebody off may just be over, and its end on its way */
#define REMOTE_LOCK_S 1.0
/* of what is started beside jobs, on a host that its user has not for himself */
#define REMOTE_NICE 10
#define REMOTE_SAY_S 5.0 /* a caller has said it by then */

struct remote;

/* NULL: no memory. */
struct remote *remote_open(struct scnoded *d);
/* Ends all scremotes and what they have started; runs the loop. */
void remote_end_all(struct remote *remote);
void remote_close(struct remote *remote);
/* The host's lock has changed: those who are kept off by it are looked at again. */
void remote_look(struct remote *remote);
/* Takes a connection that is ready. */
void remote_caller(struct remote *remote, struct link *link);

#endif
