/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_inside - what the files of the session share: session.c for what the daemons tell,
 * user_signal.c for signals that the user sends.
 */
#ifndef SCHEDULER_SCRUN_SESSION_INSIDE_H
#define SCHEDULER_SCRUN_SESSION_INSIDE_H

#include "scheduler/scrun/attach.h"
#include "scheduler/scrun/ending.h"
#include "scheduler/scrun/input.h"
#include "scheduler/scrun/output.h"
#include "scheduler/scrun/session.h"
#include "scheduler/scrun/signals.h"
#include "scheduler/scrun/statistics.h"
#include "scheduler/scrun/submit.h"

enum session_state { ASKING, QUEUED, RUNNING, FLUSHING, SAYING };

struct session {
	struct ev_loop *loop;
	const struct options *options;
	const struct job *job;
	enum session_state state;
	uint64_t id; /* of the job; 0 = it has none yet */
	struct auth *auth;
	struct submit *submit;
	struct attach *attach; /* since RUNNING */
	struct input *input;   /* NULL = the ranks get none */
	struct output *output;
	struct output_options output_options;
	struct signals *signals;
	struct place *place; /* since RUNNING */
	struct ending ending;
	uint64_t checkpoint; /* from which the job is to be restored; 0: it is not */
	struct interrupts interrupts;
	struct statistics statistics;
	bool is_attached;
	bool is_leader_done, is_scored_done; /* nothing more will come from there */
	bool is_suspended;
	int asked;             /* the signal that the leader has not answered yet */
	char leader_lost[512]; /* why, if it did not end as it should */
	char scored_lost[512]; /* what was said last of it */
	char status[1024];     /* line about the queue */
	uint64_t early;        /* bit s: signal s came before the leader was there */
	ev_timer status_due, limit, stop_due, answer_due;
};

/* Nothing more will come: what is there is written, then the session is over. */
void session_finish(struct session *s);
/* At once, whatever is not written yet. */
void session_leave(struct session *s);
/* The job is to end now. */
void session_end_now(struct session *s);
/* Nothing more is expected of the leader: it ends by scored. */
void session_give_up_leader(struct session *s);
/* Raw mode, if a rank has a terminal and ours is there. */
void session_make_raw(struct session *s);
/* The size of our terminal is passed on. */
void session_tell_window(struct session *s);

void user_signal_take(int signal, void *owner);
/* The leader was heard; @is_answer: it has our signal. */
void user_signal_heard(struct session *s, bool is_answer);
/* The leader does not answer. */
void user_signal_answer_due(struct ev_loop *loop, ev_timer *timer, int events);
/* The job is suspended, or nobody can do it: our turn to stop. */
void user_signal_stop_due(struct ev_loop *loop, ev_timer *timer, int events);

#endif
