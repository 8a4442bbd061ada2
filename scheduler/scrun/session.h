/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session - one job from its submission to its end, seen from the user's side:
 *
 *   ASKING --queued--> QUEUED --placed--> RUNNING --ended by leader and scored--> FLUSHING --all is
 *   written--> SAYING
 *
 * It owns the parts and passes on between them what happens. Both scored and the leader tell the
 * end. The first to tell counts, the other is waited for as long as it is there. The leader is
 * waited for since it may have output still, scored so that it knows how the job ended before it
 * sees us go.
 */
#ifndef SCHEDULER_SCRUN_SESSION_H
#define SCHEDULER_SCRUN_SESSION_H

#include "scheduler/scrun/options.h"

#define SESSION_STATUS_S 0.3 /* a job that waits less is not told to be queued */
#define SESSION_RECORD_S 2.0 /* from the leader's end to scored's */
/* to scored's of a job that is to be restored: its hosts are cleared before, or lost */
#define SESSION_CLEAR_S 60.0
#define SESSION_SILENCE_S 3.0 /* of the leader when scored says that it is over */
/* for scored to say why the leader is gone: it has to miss beats first */
#define SESSION_REASON_S 6.0
#define SESSION_END_S 5.0    /* for a job that is to end now */
#define SESSION_ANSWER_S 2.0 /* for the leader to say that it has a signal that shall end the job */
#define SESSION_STOP_S 1.0   /* for scored to suspend the job before we stop, too */

struct session_end {
	int code; /* of exit(3) */
	/* a host or a daemon was lost, and the job @id is to be restored from it; 0: it is not */
	uint64_t checkpoint;
	uint64_t id;
};

/*
 * Runs @job as @options want; @address is scored's. The user is told how it ended. @is_again: files
 * of the output are continued.
 */
struct session_end session_run(const struct options *options, const struct job *job,
			       const char *address, bool is_again);

#endif
