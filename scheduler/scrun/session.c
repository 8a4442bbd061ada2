// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scrun/dry.h"
#include "scheduler/scrun/mpir.h"
#include "scheduler/scrun/request.h"
#include "scheduler/scrun/say.h"
#include "scheduler/scrun/session_inside.h"
#include "scheduler/scrun/terminal.h"

/* ---- the end ---- */

void session_leave(struct session *s)
{
	ev_break(s->loop, EVBREAK_ALL);
}

#define MORE_MEMORY "let scrun have more memory (ulimit -v)"

/* That of a resource which is short, else @otherwise. */
static const char *remedy(int error, const char *otherwise)
{
	return error == ENOMEM ? MORE_MEMORY : files_remedy(error, otherwise);
}

static void flush(struct session *s)
{
	if (!output_is_empty(s->output))
		return;
	if (s->state == FLUSHING) {
		s->state = SAYING;
		say_status("");
		if (s->checkpoint)
			say("job %" PRIu64 ": %s; it starts again from checkpoint %" PRIu64, s->id,
			    s->ending.text, s->checkpoint);
		else
			ending_say(&s->ending, s->id);
		if (s->options->is_statistics)
			statistics_say(&s->statistics, s->place);
	}
	if (output_is_empty(s->output))
		session_leave(s);
}

void session_finish(struct session *s)
{
	if (s->state >= FLUSHING)
		return;
	s->state = FLUSHING;
	ev_timer_stop(s->loop, &s->limit);
	ev_timer_stop(s->loop, &s->status_due);
	if (!s->statistics.ended_s)
		s->statistics.ended_s = clock_monotonic_s();
	input_close(s->input);
	s->input = NULL;
	terminal_restore();
	mpir_ended();
	output_end(s->output);
	flush(s);
}

static void expect(struct session *s, double seconds)
{
	ev_timer_stop(s->loop, &s->limit);
	ev_timer_set(&s->limit, seconds, 0.);
	ev_timer_start(s->loop, &s->limit);
}

static void give_lost(struct session *s)
{
	ending_give(&s->ending, ENDING_LOST, "its leader on host %s is lost: %s",
		    s->place ? s->place->hosts[0] : "?",
		    *s->leader_lost ? s->leader_lost : "nothing is heard of it");
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct session *s = timer->data;

	/* It is us who do not listen. */
	if (output_is_full(s->output)) {
		expect(s, SESSION_SILENCE_S);
		return;
	}
	give_lost(s);
	session_finish(s);
}

static bool may_be_restored(const struct session *s)
{
	return s->job->restarts && (!s->ending.is_given || s->ending.code == ENDING_LOST);
}

/* One of the two has told, or can tell no more. */
static void finish_if_done(struct session *s)
{
	if (s->state >= FLUSHING)
		return;
	if (!s->is_leader_done && s->is_scored_done) {
		if (s->ending.is_given)
			expect(s, SESSION_SILENCE_S);
		return;
	}
	if (!s->is_scored_done) {
		expect(s, may_be_restored(s)   ? SESSION_CLEAR_S
			  : s->ending.is_given ? SESSION_RECORD_S
					       : SESSION_REASON_S);
		return;
	}
	give_lost(s);
	session_finish(s);
}

void session_end_now(struct session *s)
{
	if (s->state >= FLUSHING)
		return;
	if (s->state == RUNNING && !s->is_scored_done && submit_cancel(s->submit))
		expect(s, SESSION_END_S);
	else if (s->state == RUNNING && !s->is_leader_done && attach_signal(s->attach, SIGKILL))
		expect(s, SESSION_END_S);
	else
		session_finish(s);
}

void session_give_up_leader(struct session *s)
{
	s->is_leader_done = true;
	if (!s->is_scored_done && submit_cancel(s->submit))
		expect(s, SESSION_RECORD_S);
	else
		session_finish(s);
}

/* ---- output ---- */

static void on_output_drained(void *owner)
{
	struct session *s = owner;

	if (s->attach)
		attach_pause(s->attach, false);
	if (s->state >= FLUSHING)
		flush(s);
}

static void on_output_failed(const char *name, int error, void *owner)
{
	struct session *s = owner;

	/* That all went well for the job, as may be known already, is not all. */
	if (!s->ending.code)
		s->ending.is_given = false;
	if (error == EPIPE)
		ending_give(&s->ending, 128 + SIGPIPE, "%s", "");
	else
		ending_give(&s->ending, EXIT_FAILURE, "%s: cannot be written: %s; %s", name,
			    strerror(error),
			    remedy(error, "make room, or name another place with --output"));
	if (s->state >= FLUSHING)
		flush(s);
	else
		session_end_now(s);
}

static const struct output_events output_events = {.drained = on_output_drained,
						   .failed = on_output_failed};

/* ---- input ---- */

static size_t input_room(void *owner)
{
	struct session *s = owner;

	return s->attach ? attach_room(s->attach) : 0;
}

static void on_input(const char *data, size_t size, int error, void *owner)
{
	struct session *s = owner;

	if (error)
		say("%s: cannot be read: %s; the ranks see its end",
		    s->options->stdin_file ? s->options->stdin_file : "standard input",
		    strerror(error));
	attach_input(s->attach, data, size);
}

static const struct input_events input_events = {.room = input_room, .data = on_input};

/* ---- the leader ---- */

static void on_heard(void *owner)
{
	struct session *s = owner;

	user_signal_heard(s, false);
	if (s->is_scored_done && ev_is_active(&s->limit))
		expect(s, SESSION_SILENCE_S);
}

void session_make_raw(struct session *s)
{
	if (s->options->pty_rank >= 0 && s->is_attached && !s->options->stdin_file)
		terminal_make_raw(STDIN_FILENO);
}

void session_tell_window(struct session *s)
{
	int columns, rows;

	terminal_size(&columns, &rows);
	if (s->attach && s->options->pty_rank >= 0)
		attach_window(s->attach, columns, rows);
}

static void on_attached(void *owner)
{
	struct session *s = owner;

	s->is_attached = true;
	s->statistics.attached_s = clock_monotonic_s();
	session_make_raw(s);
	for (int signal = 1; signal < 64; signal++)
		if (s->early & (UINT64_C(1) << signal))
			attach_signal(s->attach, signal);
	s->early = 0;
}

static void on_room(void *owner)
{
	struct session *s = owner;

	if (s->input)
		input_go(s->input);
}

static void pause_if_full(struct session *s)
{
	if (output_is_full(s->output))
		attach_pause(s->attach, true);
}

static void on_output(uint64_t world, uint64_t rank, int stream, const char *data, size_t size,
		      void *owner)
{
	struct session *s = owner;

	if (s->state >= FLUSHING)
		return;
	output_write(s->output, world, rank, stream, data, size);
	pause_if_full(s);
}

static void on_note(const char *text, void *owner)
{
	say("%s", text);
	pause_if_full(owner);
}

static void on_processes(const json_t *ranks, void *owner)
{
	struct session *s = owner;

	mpir_spawned(ranks, s->place);
	/* The debugger has let us go on from the breakpoint. */
	if (s->job->is_debugged)
		attach_release(s->attach);
}

static void on_answered(void *owner)
{
	user_signal_heard(owner, true);
}

static void on_rank_ended(const json_t *head, void *owner)
{
	struct session *s = owner;

	if (s->options->is_statistics)
		statistics_rank_ended(&s->statistics, s->place, head);
}

static void on_leader_ended(int code, const char *text, void *owner)
{
	struct session *s = owner;

	ending_give(&s->ending, code, "%s", text);
	s->statistics.ended_s = clock_monotonic_s();
	s->is_leader_done = true;
	finish_if_done(s);
}

static void on_leader_lost(int error, const char *why, void *owner)
{
	struct session *s = owner;

	if (s->is_leader_done)
		return;
	snprintf(s->leader_lost, sizeof(s->leader_lost), "%s", why);
	/* scored may have said that all went well: what the ranks printed last is lost. */
	if (!s->ending.code)
		s->ending.is_given = false;
	/* Others know only that we are gone. */
	if (error == ENOMEM)
		ending_give(&s->ending, ENDING_LOST, "scrun, %s; " MORE_MEMORY, why);
	s->is_leader_done = true;
	finish_if_done(s);
}

static const struct attach_events attach_events = {.heard = on_heard,
						   .attached = on_attached,
						   .room = on_room,
						   .output = on_output,
						   .note = on_note,
						   .processes = on_processes,
						   .answered = on_answered,
						   .rank_ended = on_rank_ended,
						   .ended = on_leader_ended,
						   .lost = on_leader_lost};

/* ---- scored ---- */

static const char *ordinal(uint64_t n)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};

	return n / 10 % 10 == 1 || n % 10 > 3 ? "th" : endings[n % 10];
}

static void on_status_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct session *s = timer->data;

	ev_timer_stop(loop, timer);
	say_status(s->status);
}

static void on_queued(uint64_t id, uint64_t position, const char *why, void *owner)
{
	struct session *s = owner;

	if (*s->scored_lost)
		say("scored is back: the job is submitted anew, as number %" PRIu64, id);
	*s->scored_lost = 0;
	s->id = id;
	s->state = QUEUED;
	snprintf(s->status, sizeof(s->status), "job %" PRIu64 " is queued, %" PRIu64 "%s%s%s", id,
		 position, ordinal(position), why ? "; " : "", why ? why : "");
	if (!s->options->is_quiet)
		ev_timer_again(s->loop, &s->status_due);
}

static void on_placed(struct place *place, void *owner)
{
	struct session *s = owner;

	ev_timer_stop(s->loop, &s->status_due);
	say_status("");
	s->state = RUNNING;
	s->place = place;
	s->id = place->id;
	s->statistics.placed_s = clock_monotonic_s();
	output_place(s->output, place);
	s->attach = attach_open(s->loop, s->auth, place, &attach_events, s);
	if (!s->attach) {
		ending_give(&s->ending, ENDING_STARTLESS, "no memory");
		session_finish(s);
	}
}

static void on_scored_ended(int code, const char *text, const json_t *counted, uint64_t checkpoint,
			    void *owner)
{
	struct session *s = owner;

	/* The last output of the ranks is lost with their leader, so this is no success. */
	if (!code && *s->leader_lost)
		give_lost(s);
	ending_give(&s->ending, code, "%s", text);
	json_decref(s->statistics.counted);
	s->statistics.counted = json_deep_copy(counted);
	s->is_scored_done = true;
	/* Our own troubles are not mended by it, and a user who has it end wants no more of it. */
	if (s->ending.code == ENDING_LOST && !s->interrupts.n)
		s->checkpoint = checkpoint;
	/* A job that could not be started may have no leader. */
	if (!s->attach || (code == ENDING_STARTLESS && !s->is_attached))
		s->is_leader_done = true;
	finish_if_done(s);
}

static void on_refused(const char *text, void *owner)
{
	struct session *s = owner;

	ending_give(&s->ending, ENDING_STARTLESS, "%s", text);
	session_finish(s);
}

static void on_possible(const json_t *head, void *owner)
{
	struct session *s = owner;
	const char *waits = json_string_value(json_object_get(head, "waits"));

	if (dry_print(stdout, head, s->job, s->options->is_json))
		ending_give(&s->ending, ENDING_STARTLESS,
			    "what scored answers makes no sense; both sides must be of one version "
			    "of OpenSCore");
	else if (waits)
		say("the job can run on this cluster, but not now: it %s", waits);
	else
		say("the job can run on this cluster");
	ending_give(&s->ending, 0, "%s", "");
	session_finish(s);
}

static void on_suspended(void *owner)
{
	struct session *s = owner;

	if (ev_is_active(&s->stop_due))
		ev_feed_event(s->loop, &s->stop_due, EV_TIMER);
}

static void unreached(struct session *s, int error, const char *why)
{
	bool has_remedy = error == EACCES || error == EAGAIN || error == EPROTO;
	bool is_question = *why && why[strlen(why) - 1] == '?';
	const char *shortage = remedy(error, NULL);

	if (shortage) {
		ending_give(&s->ending, ENDING_STARTLESS, "scored, %s; %s", why, shortage);
		session_finish(s);
		return;
	}
	ending_give(&s->ending, ENDING_STARTLESS, "scored, %s%s%s", why,
		    has_remedy    ? ""
		    : is_question ? " Start it"
				  : "; start it",
		    has_remedy ? "" : ", or say where it is with --server or SCORE_SERVER");
	session_finish(s);
}

static void on_scored_lost(enum submit_lost how, int error, const char *why, void *owner)
{
	struct session *s = owner;
	bool is_known = !strcmp(s->scored_lost, why);

	snprintf(s->scored_lost, sizeof(s->scored_lost), "%s", why);
	if (s->is_scored_done || s->state >= FLUSHING)
		return;
	switch (how) {
	case SUBMIT_UNREACHED:
		unreached(s, error, why);
		return;
	case SUBMIT_QUEUED:
		ev_timer_stop(s->loop, &s->status_due);
		s->state = ASKING;
		if (!is_known)
			say("scored, %s; waiting for it, then the job is submitted anew", why);
		return;
	case SUBMIT_RUNNING:
		s->is_scored_done = true;
		if (s->attach)
			attach_alone(s->attach);
		if (!s->is_leader_done)
			say("scored, %s; the job goes on without it", why);
		else
			finish_if_done(s);
		return;
	}
}

static const struct submit_events submit_events = {.queued = on_queued,
						   .placed = on_placed,
						   .ended = on_scored_ended,
						   .refused = on_refused,
						   .possible = on_possible,
						   .suspended = on_suspended,
						   .lost = on_scored_lost};

/* ---- life ---- */

static int open_input(struct session *s, const struct job *job)
{
	const char *file = s->options->stdin_file;
	int fd = STDIN_FILENO;
	struct stat st;

	if (job->stdin_rank == JOB_STDIN_NONE)
		return 0;
	if (file)
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (file && fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		fd = -1;
		errno = EISDIR;
	}
	if (fd < 0) {
		ending_give(&s->ending, ENDING_STARTLESS,
			    "--stdin %s: %s; name a file that can be read", file, strerror(errno));
		return -errno;
	}
	s->input = input_open(s->loop, fd, file != NULL, &input_events, s);
	return s->input ? 0 : -ENOMEM;
}

static int open_parts(struct session *s, const struct job *job, const char *address)
{
	const struct options *o = s->options;
	const char *munge = o->munge_socket ? o->munge_socket : getenv("SCORE_MUNGE_SOCKET");

	s->output_options.is_labelled = o->is_labelled;
	s->output_options.is_merged = o->is_merged;
	s->output_options.pattern = o->output;
	s->output = output_open(s->loop, &s->output_options, &output_events, s);
	if (!s->output || open_input(s, job))
		return -ENOMEM;
	say_through(output_error(s->output));
	s->signals = signals_open(s->loop, user_signal_take, s);
	s->auth = auth_open(s->loop, munge && *munge ? munge : NULL);
	if (!s->signals || !s->auth)
		return -ENOMEM;
	s->statistics.submitted_s = clock_monotonic_s();
	s->submit =
		submit_open(s->loop, s->auth, address, request_message(o, job), &submit_events, s);
	return s->submit ? 0 : -ENOMEM;
}

static void close_parts(struct session *s)
{
	ev_timer_stop(s->loop, &s->status_due);
	ev_timer_stop(s->loop, &s->limit);
	ev_timer_stop(s->loop, &s->stop_due);
	ev_timer_stop(s->loop, &s->answer_due);
	say_through(NULL);
	terminal_restore();
	submit_close(s->submit);
	attach_close(s->attach);
	input_close(s->input);
	output_close(s->output);
	signals_close(s->signals);
	auth_close(s->auth);
	statistics_fini(&s->statistics);
	place_free(s->place);
}

struct session_end session_run(const struct options *options, const struct job *job,
			       const char *address, bool is_again)
{
	struct session s = {.loop = ev_default_loop(EVFLAG_NOENV), .options = options, .job = job};

	if (!s.loop) {
		say("no event loop: %s", strerror(errno));
		return (struct session_end){.code = ENDING_STARTLESS};
	}
	s.output_options.is_continued = is_again;
	ev_timer_init(&s.status_due, on_status_due, 0., SESSION_STATUS_S);
	ev_timer_init(&s.limit, on_limit, 0., 0.);
	ev_timer_init(&s.stop_due, user_signal_stop_due, 0., 0.);
	ev_timer_init(&s.answer_due, user_signal_answer_due, 0., SESSION_ANSWER_S);
	s.status_due.data = s.limit.data = s.stop_due.data = s.answer_due.data = &s;
	if (open_parts(&s, job, address)) {
		ending_give(&s.ending, ENDING_STARTLESS, "no memory");
		say_through(NULL);
		ending_say(&s.ending, 0);
	} else {
		ev_run(s.loop, 0);
	}
	close_parts(&s);
	return (struct session_end){.code = s.ending.code, .checkpoint = s.checkpoint, .id = s.id};
}
