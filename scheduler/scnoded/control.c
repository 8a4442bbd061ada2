// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/control.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/nspid.h"
#include "scheduler/scnoded/parted.h"
#include "scheduler/scnoded/steps.h"
#include "scheduler/scnoded/uplink.h"

#define BACKLOG 64
#define PIDS_MAX ORDER_HOST_RANKS_MAX
#define TEXT_MAX 1000  /* bytes of a scstepd's last words that are passed on */
#define NO_FILES_S 0.1 /* rest when no descriptor is free */

/*
 * A scstepd is its user's, who may have it say what he likes: as much as fits in a line, to be
 * freed.
 */
static char *words_of(const json_t *head)
{
	const char *text = head_text(head, "text");

	return daemon_text("%.*s", head_cut(text, TEXT_MAX), text);
}

static void answer(struct step *step, const char *op)
{
	if (step->control)
		link_send(step->control, json_pack("{s:s}", "op", op), NULL, 0);
}

/* ---- what a scstepd asks for ---- */

/* Only what is in the job already may be put among its ranks. NULL or why not. */
static char *adopt_one(struct step *step, const struct pidns_table *table, json_int_t told,
		       json_t *pairs)
{
	pid_t pid = nspid_of(step, table, told);
	int err;

	if (!pid)
		return daemon_text("process %lld is not of this job", (long long)told);
	err = cgroup_put_rank(step->group, pid);
	if (err)
		return daemon_text("process %lld cannot be put into the ranks' cgroup: %s",
				   (long long)told, strerror(-err));
	if (step->ns)
		json_array_append_new(pairs, json_pack("[I, I]", told, (json_int_t)pid));
	return NULL;
}

static char *adopt_all(struct step *step, const json_t *told, json_t *pairs)
{
	struct pidns_table table = {0};
	size_t n = json_array_size(told);
	char *text = NULL;

	if (n > PIDS_MAX)
		return daemon_text("%zu ranks at once; %d is the most", n, PIDS_MAX);
	if (n && nspid_list(step, &table))
		return daemon_text("host %s: no memory", step->daemon->name);
	for (size_t i = 0; !text && i < n; i++)
		text = adopt_one(step, &table, json_integer_value(json_array_get(told, i)), pairs);
	pidns_fini(&table);
	return text;
}

static void adopt(struct step *step, const json_t *head)
{
	json_t *pairs = json_array();
	char *text = adopt_all(step, json_object_get(head, "pids"), pairs);

	if (!text) {
		link_send(step->control,
			  json_pack("{s:s, s:o*}", "op", OP_ADOPTED, "pids",
				    step->ns ? json_incref(pairs) : NULL),
			  NULL, 0);
	} else {
		link_send(step->control,
			  json_pack("{s:s, s:s, s:s}", "op", OP_FAILED, "error", "EPERM", "text",
				    text),
			  NULL, 0);
	}
	json_decref(pairs);
	free(text);
}

static void kill_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct step *step = timer->data;

	(void)events;
	if (step->is_leaving)
		return;
	if (step->group && !cgroup_is_empty(step->group)) {
		cgroup_kill(step->group);
		return;
	}
	ev_timer_stop(loop, timer);
	answer(step, OP_KILLED);
}

static void kill_ranks(struct step *step, const json_t *head)
{
	if (step->is_leaving)
		return;
	if (step->group)
		cgroup_kill(step->group);
	ev_timer_stop(step->daemon->loop, &step->killing);
	ev_timer_set(&step->killing, 0, DESERTED_S);
	ev_timer_start(step->daemon->loop, &step->killing);
}

static int code_of(const json_t *head)
{
	return (int)(json_integer_value(json_object_get(head, "code")) & 0xff);
}

/* Its first word on how the job began, or ended, counts. */
static bool is_first_word(struct step *step)
{
	bool is_first = !step->is_reported;

	step->is_reported = true;
	return is_first;
}

static void tell_failed(struct step *step, const json_t *head)
{
	char *text = words_of(head);

	if (is_first_word(step))
		uplink_tell_failed(step->daemon, step->id, code_of(head), text);
	free(text);
}

/* Only the leader knows how the whole job ended. */
static void tell_ended(struct step *step, const json_t *head)
{
	char *text = words_of(head);

	if (is_first_word(step) && !step->order->here)
		uplink_tell_ended(step->daemon, step->id, code_of(head), text);
	free(text);
}

/* Its words are a user's: they are passed on as text of limited length, and once for a request. */
static void tell_migrated(struct step *step, const json_t *head)
{
	char *text;

	if (!step->change || head_number(head, "serial") != step->change)
		return;
	step->change = 0;
	text = words_of(head);
	uplink_tell_migrated(step->daemon, step->id, head_number(head, "serial"),
			     json_is_true(json_object_get(head, "is_changed")), text,
			     json_number_value(json_object_get(head, "stood_s")));
	free(text);
}

static void tell_started(struct step *step, const json_t *head)
{
	if (!step->is_begun)
		uplink_tell_started(step->daemon, step->id);
	step->is_begun = true;
}

/* Of every message of MESSAGES_SCSTEPD_TO_SCNODED but the first, which returned() takes. */
static void (*const handlers[MESSAGES_OPS])(struct step *step, const json_t *head) = {
	[ON_ADOPT] = adopt,        [ON_KILL] = kill_ranks,        [ON_STARTED] = tell_started,
	[ON_FAILED] = tell_failed, [ON_MIGRATED] = tell_migrated, [ON_PARTED] = parted_announced,
	[ON_ENDED] = tell_ended};

static void message(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct step *step = owner;
	char why[256];
	int said = messages_check(MESSAGES_SCSTEPD_TO_SCNODED, head, why, sizeof(why));

	(void)link;
	(void)body;
	(void)body_size;
	if (said >= 0 && handlers[said]) {
		handlers[said](step, head);
	} else {
		if (!step->is_leaving)
			daemon_say("job %llu: its scstepd: %s", (unsigned long long)step->id,
				   said >= 0 ? "it came back a second time" : why);
		steps_leave(step, "its scstepd is of another version than scnoded");
	}
	/* A scstepd that sends requests must read the answers. */
	if (step->control && link_is_full(step->control))
		steps_leave(step, "its scstepd does not read");
}

static void answer_return(struct step *step)
{
	json_t *head = parted_back(step);

	if (!head)
		return;
	images_missed(step, json_string_value(json_object_get(head, "text")));
	link_send(step->control, head, NULL, 0);
	steps_invite(step);
}

static void woken(struct step *step)
{
	if (step->control)
		answer_return(step);
	else
		steps_await_return(step);
}

/* Its scstepd ends, of which the pidfd tells more; or it is confused, and then it is ended. */
static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct step *step = owner;
	char *text;

	(void)link;
	step->control = NULL;
	if (step->pid <= 0 || step->is_leaving)
		return;
	/* One that was told to end would wait to be woken. */
	if (step->parted && step->is_stopping) {
		steps_leave(step, NULL);
		return;
	}
	if (step->parted && !step->is_reported && !error) {
		parted_closed(step, woken);
		return;
	}
	if (!error || error == ECONNRESET) {
		/* One that was told to end has its limit. */
		if (!step->is_stopping)
			steps_await_end(step);
		return;
	}
	text = daemon_text("its scstepd on %s: %s", step->daemon->name, why);
	steps_leave(step, step->is_reported ? NULL : text);
	free(text);
}

static const struct link_events events = {.message = message, .closed = closed};

void control_init(struct step *step)
{
	ev_init(&step->killing, kill_again);
	step->killing.data = step;
}

void control_tie(struct step *step, int fd)
{
	struct link *link = link_local(step->daemon->loop, fd, step->order->uid, &events, step);

	if (link)
		steps_tie(step, link);
	else
		steps_leave(step, "no memory");
}

/* ---- those that come back ---- */

/* A scstepd connected that has said nothing yet. */
struct returner {
	struct scnoded *daemon;
	uint64_t id;
};

static struct step *welcome(struct returner *r)
{
	struct step *step = steps_find(r->daemon, r->id);

	if (step)
		step->is_returning = false;
	free(r);
	return step;
}

static void returned(struct link *link, const char *op, json_t *head, const char *body,
		     size_t body_size, void *owner)
{
	struct step *step = welcome(owner);
	char why[256];
	int said = messages_check(MESSAGES_SCSTEPD_TO_SCNODED, head, why, sizeof(why));

	(void)body;
	(void)body_size;
	/* One that was told to end, or says that it has, gains no time by coming back. */
	if (said == ON_REJOIN && step && step->id == head_number(head, "id") && !step->is_leaving &&
	    !step->is_stopping && !step->is_reported) {
		link_set(link, &events, step);
		steps_tie(step, link);
		answer_return(step);
	} else {
		link_close(link, 0);
	}
}

static void returner_closed(struct link *link, int error, const char *why, void *owner)
{
	(void)link;
	(void)error;
	(void)why;
	welcome(owner);
}

static const struct link_events returner_events = {.message = returned, .closed = returner_closed};

/*
 * Everybody on the host can connect: only scstepds of ours are listened to, one connection of each
 * at a time.
 */
static struct step *step_of(const struct scnoded *d, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	struct step *step;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return NULL;
	TAILQ_FOREACH(step, &d->steps, all)
		if (step->order->uid == who.uid && !step->is_returning &&
		    nspid_is_scstepd(step, who.pid))
			return step;
	return NULL;
}

static void rested(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scnoded *d = timer->data;

	(void)events;
	ev_io_start(loop, &d->rejoin);
}

/* Without a free descriptor the loop would spin. A client that has gone again is ignored. */
static void rest(struct scnoded *d)
{
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
		return;
	files_say(errno);
	ev_io_stop(d->loop, &d->rejoin);
	ev_timer_set(&d->rejoin_rest, NO_FILES_S, 0);
	ev_timer_start(d->loop, &d->rejoin_rest);
}

static void enter(struct ev_loop *loop, ev_io *watcher, int revents)
{
	struct scnoded *d = watcher->data;
	int fd = accept4(d->rejoin_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct step *step = fd < 0 ? NULL : step_of(d, fd);
	struct returner *r = step ? calloc(1, sizeof(*r)) : NULL;

	(void)revents;
	if (fd < 0) {
		rest(d);
	} else if (!r) {
		close(fd);
	} else {
		*r = (struct returner){.daemon = d, .id = step->id};
		step->is_returning = true;
		if (!link_local(loop, fd, step->order->uid, &returner_events, r))
			welcome(r);
	}
}

int control_open(struct scnoded *d)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/scnoded.sock",
			 d->options.run);

	if (n >= (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	unlink(address.sun_path);
	d->rejoin_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->rejoin_fd < 0 || bind(d->rejoin_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0666) || listen(d->rejoin_fd, BACKLOG))
		return -errno;
	ev_io_init(&d->rejoin, enter, d->rejoin_fd, EV_READ);
	ev_init(&d->rejoin_rest, rested);
	d->rejoin.data = d->rejoin_rest.data = d;
	ev_io_start(d->loop, &d->rejoin);
	return 0;
}

void control_close(struct scnoded *d)
{
	char path[4096];

	if (d->rejoin_fd < 0)
		return;
	ev_io_stop(d->loop, &d->rejoin);
	ev_timer_stop(d->loop, &d->rejoin_rest);
	close(d->rejoin_fd);
	snprintf(path, sizeof(path), "%s/scnoded.sock", d->options.run);
	unlink(path);
}
