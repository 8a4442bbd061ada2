// SPDX-License-Identifier: BSD-3-Clause
/*
 * attach: a leader that stops and comes again. Links are fakes: the test is the leader. The clock
 * stands still until the test moves it.
 */
#include "scheduler/scrun/attach.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define LINKS 16
#define A_WHILE 0.11 /* after which the leader is tried again */

struct link {
	const struct link_events *events;
	void *owner;
	bool is_closed;
	double linger_s;
};

static struct {
	struct ev_loop *loop;
	struct attach *attach;
	struct place place;
	struct link links[LINKS];
	size_t n_links;
	bool has_no_memory; /* for links */
	char sent[200];     /* to the leader: ops, and numbers of signals */
	char events[200];   /* that scrun was told */
} t;

__attribute__((format(printf, 2, 3))) static void note(char (*to)[200], const char *format, ...)
{
	size_t used = strlen(*to);
	va_list args;

	va_start(args, format);
	vsnprintf(*to + used, sizeof(*to) - used, format, args);
	va_end(args);
}

/* ---- links ---- */

struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address,
			  uint64_t job, const char *role, uid_t expect,
			  const struct link_events *events, void *owner)
{
	struct link *link = &t.links[t.n_links];

	is_str(address, "leader:1");
	is_int(job, 7);
	is_str(role, "scrun");
	is_int(expect, 1000);
	if (t.has_no_memory || !ok(t.n_links < LINKS))
		return NULL;
	t.n_links++;
	*link = (struct link){.events = events, .owner = owner};
	return link;
}

int link_send(struct link *link, json_t *head, const void *body, size_t body_size)
{
	const json_t *signal = json_object_get(head, "signal");

	ok(!link->is_closed);
	ok(link == &t.links[t.n_links - 1]);
	note(&t.sent, "%s", json_string_value(json_object_get(head, "op")));
	if (signal)
		note(&t.sent, " %d", (int)json_integer_value(signal));
	note(&t.sent, ";");
	json_decref(head);
	return 0;
}

void link_close(struct link *link, double linger_s)
{
	ok(!link->is_closed);
	link->is_closed = true;
	link->linger_s = linger_s;
}

const char *link_peer(const struct link *link)
{
	return "leader:1";
}

void link_pause(struct link *link, bool is_paused)
{
}

/* ---- scrun ---- */

static void heard(void *owner)
{
}

static void attached(void *owner)
{
	note(&t.events, "attached;");
}

static void room(void *owner)
{
	note(&t.events, "room %zu;", attach_room(t.attach));
}

static void output(uint64_t world, uint64_t rank, int stream, const char *data, size_t size,
		   void *owner)
{
	note(&t.events, "output %.*s;", (int)size, data);
}

static void answered(void *owner)
{
	note(&t.events, "answered;");
}

static void ended(int code, const char *text, void *owner)
{
	note(&t.events, "ended %d;", code);
}

static void lost(int error, const char *why, void *owner)
{
	note(&t.events, "lost %d;", error);
}

static const struct attach_events events = {.heard = heard,
					    .attached = attached,
					    .room = room,
					    .output = output,
					    .answered = answered,
					    .ended = ended,
					    .lost = lost};

static void told(const char *want)
{
	is_str(t.events, want);
	t.events[0] = '\0';
}

static void sent(const char *want)
{
	is_str(t.sent, want);
	t.sent[0] = '\0';
}

static struct link *last_link(void)
{
	return &t.links[t.n_links - 1];
}

static void says(const char *text, const char *body)
{
	json_t *head = json_loads(text, 0, NULL);

	must(head);
	last_link()->events->message(last_link(), json_string_value(json_object_get(head, "op")),
				     head, body, strlen(body), last_link()->owner);
	json_decref(head);
}

static void is_ready(void)
{
	last_link()->events->ready(last_link(), last_link()->owner);
}

static void breaks(int error)
{
	last_link()->is_closed = true;
	last_link()->events->closed(last_link(), error, "that is why", last_link()->owner);
}

static void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	ev_run(t.loop, EVRUN_NOWAIT);
}

#define ATTACHED "{\"op\":\"attached\",\"hosts\":[\"n0\"]}"
#define LEAVE "{\"op\":\"leave\"}"

static void begin(void)
{
	static char leader[] = "leader:1", name[] = "n0";
	static char *hosts[] = {name, NULL};
	static uint32_t first[] = {0, 2};

	memset(&t, 0, sizeof(t));
	t.loop = ev_loop_new(EVFLAG_AUTO);
	t.place = (struct place){.id = 7,
				 .uid = 1000,
				 .leader = leader,
				 .n_hosts = 1,
				 .hosts = hosts,
				 .first = first};
	t.attach = attach_open(t.loop, NULL, &t.place, &events, NULL);
	must(t.attach);
	is_int(t.n_links, 1);
}

static void begin_attached(void)
{
	begin();
	is_ready();
	sent("attach;");
	says(ATTACHED, "");
	told("attached;room 1048576;");
}

/* As it was told. */
static void leaves(void)
{
	struct link *link = last_link();

	says(LEAVE, "");
	ok(link->is_closed && link->linger_s > 0);
	is_int(attach_room(t.attach), 0);
	told("");
}

static void finish(void)
{
	attach_close(t.attach);
	for (size_t i = 0; i < t.n_links; i++)
		ok(t.links[i].is_closed);
	/* No watcher is left. */
	ok(!ev_run(t.loop, EVRUN_NOWAIT));
	ev_loop_destroy(t.loop);
}

TAP_TEST(attach__leaves_and_attaches_anew)
{
	begin_attached();
	attach_input(t.attach, "word", 4);
	sent("in;");
	says("{\"op\":\"out\",\"world\":0,\"rank\":1,\"stream\":1}", "text");
	told("output text;");
	leaves();
	pass(A_WHILE);
	is_int(t.n_links, 2);
	/* It is not tried a second time while it is asked. */
	pass(1);
	is_int(t.n_links, 2);
	is_int(attach_room(t.attach), 0);
	is_ready();
	sent("attach;");
	says(ATTACHED, "");
	/* The room is what is left of it, and scrun is as attached as it was. */
	told("room 1048572;");
	says("{\"op\":\"in_room\",\"bytes\":4}", "");
	told("room 1048576;");
	says("{\"op\":\"out\",\"world\":0,\"rank\":1,\"stream\":1}", "more");
	told("output more;");
	/* And once more. */
	leaves();
	pass(A_WHILE);
	is_int(t.n_links, 3);
	says(ATTACHED, "");
	told("room 1048576;");
	finish();
}

TAP_TEST(attach__a_leader_that_is_not_there_yet_is_tried_again)
{
	static const int errors[] = {ECONNREFUSED, ETIMEDOUT, 0};

	begin_attached();
	leaves();
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		pass(A_WHILE);
		is_int(t.n_links, 2 + i);
		breaks(errors[i]);
		told("");
	}
	t.has_no_memory = true;
	pass(A_WHILE);
	is_int(t.n_links, 4);
	t.has_no_memory = false;
	pass(A_WHILE);
	is_int(t.n_links, 5);
	is_ready();
	/* It was let in, and has said nothing yet. */
	breaks(0);
	told("");
	pass(A_WHILE);
	is_int(t.n_links, 6);
	says(ATTACHED, "");
	told("room 1048576;");
	finish();
}

/* Its host ends each connection after a while: it does not know the job. */
static void is_turned_away(double seconds)
{
	pass(A_WHILE);
	pass(seconds);
	breaks(0);
}

TAP_TEST(attach_alone__a_leader_that_does_not_come_back)
{
	begin_attached();
	leaves();
	attach_alone(t.attach);
	for (int i = 0; i < 4; i++) {
		is_turned_away(5);
		told("");
	}
	/* The job was there, and had to write for long. */
	is_turned_away(60);
	told("");
	for (int i = 0; i < 5; i++) {
		is_turned_away(5);
		told("");
	}
	is_turned_away(5);
	told("lost 0;");
	finish();
}

/* Only one that said so comes again. */
TAP_TEST(attach__a_leader_that_is_lost)
{
	begin();
	breaks(ECONNREFUSED);
	told("lost 111;");
	pass(1);
	is_int(t.n_links, 1);
	finish();
	begin_attached();
	breaks(0);
	told("lost 0;");
	pass(1);
	is_int(t.n_links, 1);
	finish();
	begin_attached();
	leaves();
	pass(A_WHILE);
	says(ATTACHED, "");
	told("room 1048576;");
	breaks(0);
	told("lost 0;");
	pass(1);
	is_int(t.n_links, 2);
	finish();
}

TAP_TEST(attach__signals_wait_for_a_leader_that_is_away)
{
	begin();
	ok(!attach_signal(t.attach, SIGUSR1));
	is_ready();
	says(ATTACHED, "");
	told("attached;room 1048576;");
	sent("attach;");
	ok(attach_signal(t.attach, SIGUSR2));
	sent("signal 12;");
	leaves();
	ok(attach_signal(t.attach, SIGTERM));
	ok(attach_signal(t.attach, SIGUSR1));
	ok(attach_signal(t.attach, SIGTERM));
	pass(A_WHILE);
	is_ready();
	sent("attach;");
	says(ATTACHED, "");
	sent("signal 10;signal 15;");
	told("room 1048576;");
	/* Once. */
	leaves();
	pass(A_WHILE);
	says(ATTACHED, "");
	sent("");
	finish();
}

/* It goes to nobody, least of all to a leader that does not know us yet. */
TAP_TEST(attach__nothing_else_is_sent_meanwhile)
{
	begin_attached();
	leaves();
	attach_window(t.attach, 80, 24);
	attach_release(t.attach);
	attach_pause(t.attach, true);
	pass(A_WHILE);
	attach_window(t.attach, 80, 24);
	sent("");
	finish();
}

TAP_TEST(attach_close__while_the_leader_is_away)
{
	begin_attached();
	leaves();
	finish();
	begin_attached();
	leaves();
	pass(A_WHILE);
	is_int(t.n_links, 2);
	finish();
}

TAP_TEST(attach__messages_that_make_no_sense)
{
	begin_attached();
	says("{\"op\":\"in_room\",\"bytes\":1}", "");
	told("lost 71;");
	ok(t.links[0].is_closed);
	pass(1);
	is_int(t.n_links, 1);
	finish();
	begin_attached();
	says("{\"op\":\"out\",\"world\":0,\"rank\":2,\"stream\":1}", "text");
	told("lost 71;");
	finish();
}
