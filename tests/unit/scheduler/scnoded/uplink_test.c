// SPDX-License-Identifier: BSD-3-Clause
/*
 * uplink: scored is the test, and its connection one that can be lost or silent. The clock stands
 * still until the test moves it, so minutes pass in no time.
 */
#include "scheduler/scnoded/uplink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/slots.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/remote.h"
#include "scheduler/scnoded/steps.h"
#include "scheduler/scnoded/waiting.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define SILENCE_S 3.5 /* after which scored is taken for dead */
#define USER 1000
#define SCORED ((struct link *)&w)
#define CONTROL ((struct link *)&w.last) /* of a step */

static struct world {
	struct scnoded d;
	const struct link_events *events; /* NULL: not connected */
	void *owner;
	char server[64];
	unsigned int n_connects, n_looks;
	bool has_input, is_control_full;
	json_t *sent;   /* to scored, in order */
	char last[200]; /* to a step's scstepd, or of a step */
	struct step steps[3];
} w;

/* ---- the daemon's other parts ---- */

struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address,
			  uint64_t job, const char *role, uid_t expect,
			  const struct link_events *events, void *owner)
{
	is_int(job, 0);
	is_str(role, "scnoded");
	w.n_connects++;
	w.events = events;
	w.owner = owner;
	snprintf(w.server, sizeof(w.server), "%s", address);
	return SCORED;
}

void link_close(struct link *link, double linger_s)
{
	ok(link == SCORED);
	w.events = NULL;
}

int link_send(struct link *link, json_t *head, const void *body, size_t body_size)
{
	if (link == SCORED) {
		json_array_append_new(w.sent, head);
		return 0;
	}
	ok(link == CONTROL);
	snprintf(w.last, sizeof(w.last), "%s", json_string_value(json_object_get(head, "op")));
	json_decref(head);
	return 0;
}

bool link_has_input(const struct link *link)
{
	return w.has_input;
}

bool link_is_full(const struct link *link)
{
	return w.is_control_full;
}

void link_here(const struct link *link, char *to, size_t size)
{
	snprintf(to, size, "10.0.0.9:4444");
}

int acceptor_port(const struct acceptor *acceptor)
{
	return 7711;
}

uint32_t cores_count(const struct cores *cores)
{
	return 3;
}

char *cores_list(const struct cores *cores, const uint32_t *numbers, size_t n)
{
	is_int(n, 3);
	return strdup("0,2,4");
}

uint64_t cores_memory(void)
{
	return 1 << 20;
}

uint64_t cores_memory_free(void)
{
	return 1 << 19;
}

void images_drop_all(struct scnoded *d)
{
	(void)d;
}

void images_told(struct scnoded *d, struct step *step, const json_t *head, images_tell *tell)
{
	(void)d, (void)step, (void)head, (void)tell;
}

bool turn_is_realtime(const struct turn *turn)
{
	return true;
}

void turn_counts(const struct turn *turn, struct turn_counts *ret)
{
	*ret = (struct turn_counts){.done = 5, .late = 1};
}

void turn_table(struct turn *turn, struct slots *slots)
{
	slots_free(slots);
}

void remote_look(struct remote *remote)
{
	w.n_looks++;
}

ssize_t cgroup_pids(const struct cgroup *group, pid_t **pids)
{
	return 0;
}

const char *cgroup_form_name(enum cgroup_form form)
{
	return "v2";
}

bool waiting_look(struct waiting *waiting, const struct waiting_job *job)
{
	return true;
}

struct step *steps_find(const struct scnoded *d, uint64_t id)
{
	struct step *step;

	TAILQ_FOREACH(step, &d->steps, all)
		if (step->id == id)
			return step;
	return NULL;
}

void steps_start(struct scnoded *d, struct order *order, uint64_t round, const char *devices)
{
	order_free(order);
}

void steps_stop(struct step *step, const char *text)
{
	size_t used = strlen(w.last);

	snprintf(w.last + used, sizeof(w.last) - used, "%d %s;", (int)step->id, text);
}

bool steps_is_idle(struct step *step, double now, uint64_t *cpu_ns)
{
	*cpu_ns = 7;
	return step->id == 2;
}

/* ---- time, and scored ---- */

/* As scnoded's loop runs: with a beat of its own clock in each second. */
static void pass(double seconds)
{
	for (double left = seconds; left > 0; left -= 0.05) {
		stillclock_ns += (uint64_t)((left < 0.05 ? left : 0.05) * 1e9);
		awake_beat(&w.d.awake, clock_monotonic_ns());
		ev_run(w.d.loop, EVRUN_NOWAIT);
	}
}

static void begin_with(const char *server)
{
	memset(&w, 0, sizeof(w));
	w.sent = json_array();
	w.d.loop = ev_loop_new(EVFLAG_AUTO);
	w.d.options.server = server;
	snprintf(w.d.name, sizeof(w.d.name), "n1");
	TAILQ_INIT(&w.d.steps);
	awake_begin(&w.d.awake, clock_monotonic_ns(), 1);
	w.d.uplink = uplink_open(&w.d);
	ok(w.d.uplink != NULL);
	/* The first connection is made at once. */
	pass(0.001);
	is_int(w.n_connects, 1);
}

static void finish(void)
{
	uplink_close(w.d.uplink);
	json_decref(w.sent);
	ev_loop_destroy(w.d.loop);
}

static void says(const char *op, const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	ok(head && !json_object_set_new(head, "op", json_string(op)));
	w.events->message(SCORED, op, head, "", 0, w.owner);
	json_decref(head);
}

static void registered(void)
{
	w.events->ready(SCORED, w.owner);
	says(OP_REGISTERED, "{\"heartbeat_s\":1,\"quantum_ns\":1000,\"keep\":[2]}");
}

/* Registered, and nothing sent that is not forgotten. */
static void begin(void)
{
	begin_with("front");
	registered();
	json_array_clear(w.sent);
}

/* The connection ends. */
static void ends(void)
{
	const struct link_events *events = w.events;

	w.events = NULL;
	events->closed(SCORED, 0, "closed", w.owner);
}

/* The @i-th of what was sent has this text under this name. */
static const char *sent(size_t i, const char *name)
{
	static char text[64];
	const json_t *value = json_object_get(json_array_get(w.sent, i), name);

	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	return json_is_integer(value) ? text : json_string_value(value);
}

static struct step *add_step(uint64_t id)
{
	static struct order_host hosts[1];
	static struct order order = {.hosts = hosts, .n_hosts = 1, .uid = USER};
	struct step *step = &w.steps[id - 1];

	*step = (struct step){
		.id = id, .order = &order, .control = CONTROL, .waiting = (struct waiting *)&w};
	TAILQ_INSERT_TAIL(&w.d.steps, step, all);
	return step;
}

/* ---- registration ---- */

static void connects_to(const char *server, const char *want)
{
	begin_with(server);
	is_str(w.server, want);
	finish();
}

TAP_TEST(uplink_open__address_of_scored)
{
	connects_to("front", "front:7710");
	connects_to("front:9", "front:9");
	connects_to("[::1]", "[::1]:7710");
	connects_to("[::1]:9", "[::1]:9");
}

TAP_TEST(uplink__registers_with_the_jobs_that_run)
{
	const json_t *host, *jobs;

	begin_with("front");
	add_step(1)->is_leaving = true;
	add_step(2);
	add_step(3)->is_reported = true;
	is_int(json_array_size(w.sent), 0);
	w.events->ready(SCORED, w.owner);
	is_int(json_array_size(w.sent), 1);
	is_str(sent(0, "op"), OP_REGISTER);
	host = json_object_get(json_array_get(w.sent, 0), "host");
	is_str(json_string_value(json_object_get(host, "name")), "n1");
	is_str(json_string_value(json_object_get(host, "address")), "10.0.0.9:7711");
	is_str(json_string_value(json_object_get(host, "cpus")), "0,2,4");
	jobs = json_object_get(json_array_get(w.sent, 0), "jobs");
	is_int(json_array_size(jobs), 1);
	is_int(json_integer_value(json_object_get(json_array_get(jobs, 0), "id")), 2);
	w.d.options.address = "172.16.0.1";
	w.events->ready(SCORED, w.owner);
	host = json_object_get(json_array_get(w.sent, 1), "host");
	is_str(json_string_value(json_object_get(host, "address")), "172.16.0.1:7711");
	finish();
}

TAP_TEST(uplink__jobs_that_scored_does_not_know)
{
	begin_with("front");
	add_step(1);
	add_step(2);
	add_step(3)->is_leaving = true;
	registered();
	is_str(w.last, "1 scored does not know this job any more;");
	finish();
}

/* ---- a scored that is away ---- */

TAP_TEST(uplink__connects_again)
{
	begin();
	ends();
	/* Soon, as scored may just have been replaced; then once in a second. */
	pass(UPLINK_SOON_S - 0.01);
	is_int(w.n_connects, 1);
	pass(0.02);
	is_int(w.n_connects, 2);
	for (unsigned int n = 2; n < 5; n++) {
		ends();
		pass(UPLINK_AGAIN_S - 0.01);
		is_int(w.n_connects, n);
		pass(0.02);
		is_int(w.n_connects, n + 1);
	}
	finish();
}

TAP_TEST(uplink__scored_is_silent)
{
	begin();
	pass(SILENCE_S - 0.1);
	says(OP_BEAT, "{\"clock_ns\":1}");
	pass(SILENCE_S - 0.1);
	is_int(w.n_connects, 1);
	ok(w.events != NULL);
	/* The look is taken once a second. */
	pass(1.2 + UPLINK_SOON_S);
	is_int(w.n_connects, 2);
	finish();
}

/* Its words wait to be read: that is no silence. */
TAP_TEST(uplink__words_that_wait)
{
	begin();
	w.has_input = true;
	pass(10 * SILENCE_S);
	is_int(w.n_connects, 1);
	w.has_input = false;
	pass(1.2);
	is_int(w.n_connects, 2);
	finish();
}

/* An hour in which this daemon stood still is none of scored's silence. */
TAP_TEST(uplink__we_stood_still)
{
	begin();
	stillclock_ns += 3600000000000u;
	pass(1.5);
	is_int(w.n_connects, 1);
	finish();
}

TAP_TEST(uplink__a_lock_outlives_scored_for_a_minute)
{
	begin();
	says(OP_HOST_LOCK, "{\"uid\":1000,\"text\":\"locked by ann\"}");
	is_int(w.n_looks, 1);
	ends();
	pass(HOSTLOCK_STALE_S - 1);
	ok(hostlock_keeps_off(&w.d.lock_told, USER + 1,
			      awake_now(&w.d.awake, clock_monotonic_ns())));
	/* Attempts to reach it make it no longer. */
	pass(2);
	ok(!hostlock_keeps_off(&w.d.lock_told, USER + 1,
			       awake_now(&w.d.awake, clock_monotonic_ns())));
	finish();
}

/* ---- beats and news ---- */

TAP_TEST(uplink__beats)
{
	const json_t *jobs;

	begin_with("front");
	add_step(1);
	add_step(2);
	pass(2.5);
	is_int(json_array_size(w.sent), 0);
	registered();
	json_array_clear(w.sent);
	pass(3);
	is_int(json_array_size(w.sent), 3);
	is_str(sent(2, "op"), OP_BEAT);
	is_str(sent(2, "memory_free"), "524288");
	jobs = json_object_get(json_array_get(w.sent, 2), "jobs");
	is_int(json_array_size(jobs), 2);
	ok(json_is_false(json_object_get(json_array_get(jobs, 0), "is_idle")));
	ok(json_is_true(json_object_get(json_array_get(jobs, 1), "is_idle")));
	ok(json_is_true(json_object_get(json_array_get(jobs, 0), "is_stuck")));
	finish();
}

TAP_TEST(uplink__news_wait_for_scored)
{
	begin();
	uplink_tell_started(&w.d, 1);
	is_int(json_array_size(w.sent), 1);
	ends();
	uplink_tell_ended(&w.d, 1, 3, "over");
	uplink_tell_gone(&w.d, 1, 9);
	pass(UPLINK_SOON_S + 0.1);
	is_int(json_array_size(w.sent), 1);
	registered();
	is_int(json_array_size(w.sent), 4);
	is_str(sent(1, "op"), OP_REGISTER);
	is_str(sent(2, "op"), OP_ENDED);
	is_str(sent(2, "code"), "3");
	is_str(sent(3, "op"), OP_GONE);
	/* Once. */
	says(OP_REGISTERED, "{\"heartbeat_s\":1,\"quantum_ns\":1000,\"keep\":[]}");
	is_int(json_array_size(w.sent), 4);
	finish();
}

TAP_TEST(uplink__news_that_are_too_many)
{
	begin_with("front");
	for (uint64_t i = 0; i < UPLINK_NEWS_MAX + 10; i++)
		uplink_tell_started(&w.d, i);
	registered();
	is_int(json_array_size(w.sent), 1 + UPLINK_NEWS_MAX);
	is_str(sent(1, "id"), "0");
	finish();
}

/* ---- orders ---- */

TAP_TEST(uplink__stop)
{
	begin();
	add_step(2);
	says(OP_STOP, "{\"id\":2,\"text\":\"cancelled\"}");
	is_str(w.last, "2 cancelled;");
	is_int(json_array_size(w.sent), 0);
	/* scored may have missed that it is gone. */
	says(OP_STOP, "{\"id\":3,\"text\":\"cancelled\"}");
	is_str(sent(0, "op"), OP_GONE);
	is_str(sent(0, "id"), "3");
	finish();
}

/* scored must not wait for an answer to an order that is not understood. */
TAP_TEST(uplink__orders_that_make_no_sense)
{
	begin();
	add_step(2);
	says(OP_START, "{\"id\":5,\"here\":0}");
	is_str(sent(0, "op"), OP_FAILED);
	is_str(sent(0, "id"), "5");
	says(OP_START, "{\"id\":6}");
	is_str(sent(1, "op"), OP_FAILED);
	is_str(sent(1, "id"), "6");
	says(OP_STOP, "{\"id\":2}");
	is_str(w.last, "2 ;");
	says(OP_STOP, "{}");
	says("something_new", "{}");
	is_int(json_array_size(w.sent), 2);
	finish();
}

TAP_TEST(uplink__a_change_of_devices_is_answered_at_once_where_nobody_can_do_it)
{
	begin();
	add_step(2);
	says(OP_MIGRATE, "{\"id\":2,\"serial\":5,\"devices\":\"udp\"}");
	is_str(w.last, OP_MIGRATE);
	is_int(json_array_size(w.sent), 0);
	says(OP_MIGRATE, "{\"id\":9,\"serial\":6,\"devices\":\"udp\"}");
	w.is_control_full = true;
	says(OP_MIGRATE, "{\"id\":2,\"serial\":5,\"devices\":\"udp\"}");
	w.is_control_full = false;
	is_int(json_array_size(w.sent), 2);
	is_str(sent(0, "op"), OP_MIGRATED);
	is_str(sent(0, "id"), "9");
	is_str(sent(0, "serial"), "6");
	is_int(w.steps[1].change, 5);
	ok(json_is_false(json_object_get(json_array_get(w.sent, 1), "is_changed")));
	finish();
}

TAP_TEST(uplink__a_job_that_is_tried)
{
	begin();
	add_step(2);
	says(OP_CHECKPOINT, "{\"id\":2,\"serial\":5}");
	is_str(w.last, OP_CHECKPOINT);
	is_int(w.steps[1].change, 5);
	is_int(json_array_size(w.sent), 0);
	/* Its scstepd has parted, for the request before. */
	w.steps[1].control = NULL;
	says(OP_CHECKPOINT, "{\"id\":2,\"serial\":6}");
	is_int(json_array_size(w.sent), 1);
	is_str(sent(0, "op"), OP_MIGRATED);
	is_str(sent(0, "serial"), "6");
	is_int(w.steps[1].change, 5);
	finish();
}

TAP_TEST(uplink__words_for_a_job)
{
	begin();
	add_step(2);
	says(OP_SIGNAL, "{\"id\":2,\"signal\":10}");
	is_str(w.last, OP_SIGNAL);
	says(OP_NOTE, "{\"id\":2,\"text\":\"a line\"}");
	is_str(w.last, OP_NOTE);
	w.last[0] = '\0';
	w.is_control_full = true;
	says(OP_SIGNAL, "{\"id\":2,\"signal\":10}");
	w.is_control_full = false;
	says(OP_SIGNAL, "{\"id\":9,\"signal\":10}");
	w.steps[1].control = NULL;
	says(OP_SIGNAL, "{\"id\":2,\"signal\":10}");
	is_str(w.last, "");
	finish();
}

TAP_TEST(uplink__identity_of_the_directory_of_images)
{
	begin_with("front");
	/* It is known before scored is there, and told when it is. */
	uplink_tell_store(&w.d, "0a1b");
	is_int(json_array_size(w.sent), 0);
	registered();
	is_str(sent(1, "op"), "store");
	is_str(sent(1, "identity"), "0a1b");
	json_array_clear(w.sent);
	uplink_tell_store(&w.d, "0a1c");
	is_str(sent(0, "identity"), "0a1c");
	finish();
}
