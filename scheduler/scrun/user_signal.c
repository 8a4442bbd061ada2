// SPDX-License-Identifier: BSD-3-Clause
/* user_signal - signals that the user sends to scrun. Part of session. */
#include <signal.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/scrun/say.h"
#include "scheduler/scrun/session_inside.h"
#include "scheduler/scrun/terminal.h"

static bool is_to_end(int signal)
{
	return signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT || signal == SIGINT;
}

void user_signal_heard(struct session *s, bool is_answer)
{
	if (is_answer)
		ev_timer_stop(s->loop, &s->answer_due);
	else if (ev_is_active(&s->answer_due))
		ev_timer_again(s->loop, &s->answer_due);
}

void user_signal_answer_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct session *s = timer->data;

	/* It is us who do not listen, or it can't hear us now; or the end is known. */
	if ((output_is_full(s->output) || attach_is_away(s->attach)) && s->state == RUNNING)
		return;
	ev_timer_stop(loop, timer);
	if (s->state != RUNNING || s->is_leader_done)
		return;
	ending_give(&s->ending, 128 + s->asked,
		    "its leader on host %s does not answer to signal %d (%s); scored ends it",
		    s->place->hosts[0], s->asked, strsignal(s->asked));
	session_give_up_leader(s);
}

static void forward(struct session *s, int signal)
{
	if (is_to_end(signal) && s->state == RUNNING && !s->is_leader_done) {
		s->asked = signal;
		ev_timer_again(s->loop, &s->answer_due);
	}
	if (s->state == RUNNING && !s->is_attached && !s->is_leader_done)
		s->early |= UINT64_C(1) << signal;
	else if (s->state == RUNNING && s->is_attached && !s->is_leader_done)
		attach_signal(s->attach, signal);
	else {
		ending_give(&s->ending, 128 + signal, "%s", "");
		if (s->state >= FLUSHING)
			session_leave(s);
		else
			session_finish(s);
	}
}

static void interrupt(struct session *s)
{
	switch (interrupts_judge(&s->interrupts, clock_monotonic_s())) {
	case INTERRUPT_FORWARD:
		forward(s, SIGINT);
		return;
	case INTERRUPT_END:
		ending_give(&s->ending, 128 + SIGINT, "ended by a second interrupt");
		session_end_now(s);
		return;
	case INTERRUPT_LEAVE:
		session_leave(s);
		return;
	}
}

static void resume(struct session *s)
{
	if (s->is_suspended && s->submit)
		submit_suspend(s->submit, false);
	s->is_suspended = false;
	if (s->state >= FLUSHING)
		return;
	session_make_raw(s);
	if (s->input)
		input_go(s->input);
}

void user_signal_stop_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct session *s = timer->data;

	ev_timer_stop(loop, timer);
	terminal_restore();
	signals_stop_self(s->signals);
	resume(s);
}

static void suspend(struct session *s)
{
	if (ev_is_active(&s->stop_due))
		return;
	s->is_suspended = s->state == RUNNING && submit_suspend(s->submit, true);
	if (s->state == RUNNING && !s->is_suspended)
		say("scored is not there: the job cannot be suspended and runs on");
	ev_timer_set(&s->stop_due, s->is_suspended ? SESSION_STOP_S : 0., 0.);
	ev_timer_start(s->loop, &s->stop_due);
}

void user_signal_take(int signal, void *owner)
{
	struct session *s = owner;

	if (signal == SIGINT)
		interrupt(s);
	else if (signal == SIGTSTP)
		suspend(s);
	else if (signal == SIGCONT)
		resume(s);
	else if (signal == SIGWINCH)
		session_tell_window(s);
	else
		forward(s, signal);
}
