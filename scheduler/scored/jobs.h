/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs - what becomes of every job: queued -> starting -> running -> ending, then it is in the
 * journal only. A job ends once: who says first how, is believed.
 */
#ifndef SCHEDULER_SCORED_JOBS_H
#define SCHEDULER_SCORED_JOBS_H

#include "scheduler/scored/restart.h"
#include "scheduler/scored/scored.h"

#define JOBS_EXIT_LOST 123  /* a host or daemon was lost, or nobody wants the job any more */
#define JOBS_EXIT_START 125 /* it could not be started */

/* Takes in what the journal has. 0 or -errno with a sentence. */
int jobs_open(struct scored *d, char *why, size_t why_size);
/* Forgets all; what runs goes on. */
void jobs_close(struct scored *d);

/* A new one, queued; takes @job over. NULL with a sentence, and @job is still the caller's. */
struct sjob *jobs_submit(struct scored *d, struct user *user, uid_t uid, gid_t gid, struct job *job,
			 char *why, size_t why_size);
/*
 * One that has ended starts again from a checkpoint, see restart.h. @user waits for it, and is told
 * its place. NULL with a sentence.
 */
struct sjob *jobs_restart(struct scored *d, struct user *user, const struct restart_wish *wish,
			  char *why, size_t why_size);
/* Ends it, whatever its state: @code and @text unless it has ended already. */
void jobs_end(struct scored *d, struct sjob *job, int code, const char *text);
/* Its scrun is gone: nobody wants it. */
void jobs_user_gone(struct scored *d, struct sjob *job);
void jobs_suspend(struct scored *d, struct sjob *job, bool is_suspended);
void jobs_signal(struct sjob *job, int signal);

/* Messages of scnodeds. An id that is unknown, or of a job that is not on that host, is ignored. */
void jobs_started(struct scored *d, struct node *node, uint64_t id);
void jobs_failed(struct scored *d, struct node *node, uint64_t id, int code, const char *text);
void jobs_ended(struct scored *d, struct node *node, uint64_t id, int code, const char *text);
void jobs_gone(struct scored *d, struct node *node, uint64_t id, uint64_t cpu_ns);
/*
 * A host registered that runs @running ([{id, state}]); the numbers it may go on with, owned by the
 * caller.
 */
json_t *jobs_node_back(struct scored *d, struct node *node, const json_t *running);
/* A host is not connected for too long. */
void jobs_node_lost(struct scored *d, struct node *node, const char *why);

#endif
