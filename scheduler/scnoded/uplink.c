// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/uplink.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "pmcore/util/clock.h"

#include "pmcore/util/notify.h"
#include "scheduler/proto/host.h"
#include "scheduler/proto/netaddr.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/slots.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/remote.h"
#include "scheduler/scnoded/steps.h"
#include "scheduler/scnoded/waiting.h"

#define SCORED_PORT "7710"
#define ETHERNET_SOCKET "/run/pm-ethernet/socket" /* of pm-ethernetd */
#define SILENCE_S 3.5                             /* scored beats every second */

struct uplink {
	struct scnoded *daemon;
	char server[512];
	struct link *link; /* NULL: not connected */
	bool is_registered;
	bool was_told; /* of the failure that goes on */
	json_t *news;  /* messages that wait for a registration */
	double heard;  /* awake_now() of scored's last word */
	ev_timer again;
	ev_timer beat;
};

/* ---- news ---- */

/* Takes the reference. */
static void tell(struct uplink *up, json_t *head)
{
	if (up->is_registered)
		link_send(up->link, head, NULL, 0);
	else if (json_array_size(up->news) < UPLINK_NEWS_MAX)
		json_array_append_new(up->news, head);
	else
		json_decref(head);
}

static void tell_waiting(struct uplink *up)
{
	const json_t *head;
	size_t i;

	json_array_foreach(up->news, i, head)
		link_send(up->link, json_deep_copy(head), NULL, 0);
	json_array_clear(up->news);
}

void uplink_tell_started(struct scnoded *d, uint64_t id)
{
	tell(d->uplink, json_pack("{s:s, s:I}", "op", OP_STARTED, "id", (json_int_t)id));
}

void uplink_tell_failed(struct scnoded *d, uint64_t id, int code, const char *text)
{
	tell(d->uplink, json_pack("{s:s, s:I, s:i, s:s}", "op", OP_FAILED, "id", (json_int_t)id,
				  "code", code, "text", text));
}

void uplink_tell_ended(struct scnoded *d, uint64_t id, int code, const char *text)
{
	tell(d->uplink, json_pack("{s:s, s:I, s:i, s:s}", "op", OP_ENDED, "id", (json_int_t)id,
				  "code", code, "text", text));
}

void uplink_tell_migrated(struct scnoded *d, uint64_t id, uint64_t serial, bool is_changed,
			  const char *text, double stood_s)
{
	tell(d->uplink, json_pack("{s:s, s:I, s:I, s:b, s:s, s:f}", "op", OP_MIGRATED, "id",
				  (json_int_t)id, "serial", (json_int_t)serial, "is_changed",
				  is_changed, "text", text, "stood_s", stood_s));
}

void uplink_tell_imaged(struct scnoded *d, uint64_t id, uint64_t round, const char *stage,
			uint64_t bytes, const char *text)
{
	tell(d->uplink, json_pack("{s:s, s:I, s:I, s:s, s:I, s:s}", "op", OP_IMAGED, "id",
				  (json_int_t)id, "round", (json_int_t)round, "stage", stage,
				  "bytes", (json_int_t)bytes, "text", text));
}

static void tell_store(struct uplink *up)
{
	if (up->is_registered && *up->daemon->store)
		link_send(up->link,
			  json_pack("{s:s, s:s}", "op", OP_STORE, "identity", up->daemon->store),
			  NULL, 0);
}

void uplink_tell_store(struct scnoded *d, const char *identity)
{
	snprintf(d->store, sizeof(d->store), "%s", identity);
	tell_store(d->uplink);
}

void uplink_tell_gone(struct scnoded *d, uint64_t id, uint64_t cpu_ns)
{
	tell(d->uplink, json_pack("{s:s, s:I, s:I}", "op", OP_GONE, "id", (json_int_t)id, "cpu_ns",
				  (json_int_t)cpu_ns));
}

/* ---- registration ---- */

/* Where others reach us: by the address from which scored is reached. */
static void find_address(const struct uplink *up, char *address, size_t size)
{
	const struct scnoded *d = up->daemon;
	char here[NETADDR_TEXT_MAX], *colon;

	link_here(up->link, here, sizeof(here));
	colon = strrchr(here, ':');
	if (colon)
		*colon = 0;
	snprintf(address, size, "%s:%d", d->options.address ? d->options.address : here,
		 acceptor_port(d->acceptor));
}

static json_t *running(const struct scnoded *d)
{
	json_t *jobs = json_array();
	const struct step *step;

	TAILQ_FOREACH(step, &d->steps, all)
		if (!step->is_leaving && !step->is_reported)
			json_array_append_new(jobs,
					      json_pack("{s:I, s:s}", "id", (json_int_t)step->id,
							"state", "running"));
	return jobs;
}

/* The machine's numbers of all cores. free() it; NULL: no memory, and nobody is told. */
static char *cpus_of(const struct cores *cores)
{
	uint32_t n = cores_count(cores), *numbers = calloc(n + 1, sizeof(*numbers));
	char *list;

	for (uint32_t i = 0; numbers && i < n; i++)
		numbers[i] = i;
	list = numbers ? cores_list(cores, numbers, n) : NULL;
	free(numbers);
	return list;
}

/* An RDMA device, whatever its driver. */
static bool has_rdma(void)
{
	glob_t found;
	bool has = !glob("/sys/class/infiniband/*", GLOB_NOSORT, NULL, &found);

	globfree(&found);
	return has;
}

static void register_host(struct uplink *up)
{
	struct scnoded *d = up->daemon;
	char address[NETADDR_TEXT_MAX + 16], version[] = PM_VERSION;
	char devices[64];
	struct utsname machine;
	struct host host = {.name = d->name,
			    .address = address,
			    .version = version,
			    .kernel = machine.release,
			    .cgroups = (char *)cgroup_form_name(d->form),
			    .is_realtime = turn_is_realtime(d->turn),
			    .n_cores = cores_count(d->cores),
			    .memory = cores_memory(),
			    .clock_ns = clock_realtime_ns(),
			    .pm = devices,
			    .cpus = cpus_of(d->cores)};

	snprintf(devices, sizeof(devices), "shmem, udp%s%s",
		 access(ETHERNET_SOCKET, F_OK) ? "" : ", ethernet", has_rdma() ? ", verbs" : "");
	uname(&machine);
	find_address(up, address, sizeof(address));
	link_send(up->link,
		  json_pack("{s:s, s:o, s:o}", "op", OP_REGISTER, "host", host_encode(&host),
			    "jobs", running(d)),
		  NULL, 0);
	free(host.cpus);
}

/* Jobs that scored does not know any more are ended. */
static void on_registered(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	const json_t *keep = json_object_get(head, "keep"), *id;
	struct step *step, *next;
	size_t i;

	up->is_registered = true;
	hostlock_clear(&up->daemon->lock_told);
	up->was_told = false;
	daemon_say("registered with scored at %s", up->server);
	/* An error is ignored: the log has the message, too. */
	notify_service("STATUS=registered");
	for (step = TAILQ_FIRST(&up->daemon->steps); step; step = next) {
		bool is_kept = step->is_leaving || step->is_reported;

		next = TAILQ_NEXT(step, all);
		json_array_foreach(keep, i, id)
			is_kept |= (uint64_t)json_integer_value(id) == step->id;
		if (!is_kept)
			steps_stop(step, "scored does not know this job any more");
	}
	tell_store(up);
	tell_waiting(up);
}

/* ---- what scored says ---- */

static void on_start(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	struct scnoded *d = up->daemon;
	struct order *order;
	char why[256];

	if (order_decode_text(&order, body, size, json_object_get(head, "here"), why, sizeof(why)))
		uplink_tell_failed(d, head_number(head, "id"), EXIT_START, why);
	else
		steps_start(d, order, head_number(head, "round"),
			    json_string_value(json_object_get(head, "devices")));
}

static void on_slots(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	struct slots *slots;
	char why[256];

	if (slots_decode(&slots, json_object_get(head, "table"), why, sizeof(why)))
		daemon_say("a slot table is refused: %s", why);
	else
		turn_table(up->daemon->turn, slots);
}

static void on_host_lock(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	struct scnoded *d = up->daemon;

	if (hostlock_take(&d->lock_told, head))
		daemon_say(
			"scored says that this host is locked, and not by whom; both sides must be "
			"of one version of OpenSCore");
	remote_look(d->remote);
}

static void on_stop(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	uint64_t id = head_number(head, "id");
	struct step *step = steps_find(up->daemon, id);

	/* A job that is not here is gone: scored may have missed that message. */
	if (step)
		steps_stop(step, head_text(head, "text"));
	else
		uplink_tell_gone(up->daemon, id, 0);
}

/*
 * Messages of users, by way of scored. For a scstepd that does not read they wait, up to a limit.
 */
static void pass_on(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	const struct step *step = steps_find(up->daemon, head_number(head, "id"));

	if (step && step->control && !link_is_full(step->control))
		link_send(step->control, json_incref((json_t *)(uintptr_t)head), NULL, 0);
}

/* A user waits for the answer. */
static void on_migrate(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	uint64_t id = head_number(head, "id");
	struct step *step = steps_find(up->daemon, id);

	if (step && step->control && !link_is_full(step->control)) {
		step->change = head_number(head, "serial");
		pass_on(up, head, body, size);
		return;
	}
	uplink_tell_migrated(up->daemon, id, head_number(head, "serial"), false,
			     "the job's scstepd on its first host can't be told now; try "
			     "again in some seconds",
			     0);
}

static void on_image(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	images_told(up->daemon, steps_find(up->daemon, head_number(head, "id")), head,
		    uplink_tell_imaged);
}

static void on_error(struct uplink *up, const json_t *head, const char *body, size_t size)
{
	daemon_say("scored at %s: %s", up->server, head_text(head, "text"));
}

/* Every message counts as one. */
static void on_beat(struct uplink *up, const json_t *head, const char *body, size_t size)
{
}

/* Of every message of MESSAGES_SCORED_TO_SCNODED. */
static void (*const handlers[MESSAGES_OPS])(struct uplink *up, const json_t *head, const char *body,
					    size_t size) = {[ON_REGISTERED] = on_registered,
							    [ON_START] = on_start,
							    [ON_SLOTS] = on_slots,
							    [ON_HOST_LOCK] = on_host_lock,
							    [ON_STOP] = on_stop,
							    [ON_SIGNAL] = pass_on,
							    [ON_NOTE] = pass_on,
							    [ON_MIGRATE] = on_migrate,
							    [ON_CHECKPOINT] = on_migrate,
							    [ON_IMAGE] = on_image,
							    [ON_ERROR] = on_error,
							    [ON_BEAT] = on_beat};

/* The job must not wait for this host: a start is answered, and a stop is done. */
static void misunderstood(struct uplink *up, const char *op, const json_t *head, const char *why)
{
	daemon_say("scored at %s: %s; both sides must be of one version of OpenSCore", up->server,
		   why);
	if (!strcmp(op, OP_START))
		uplink_tell_failed(up->daemon, head_number(head, "id"), EXIT_START, why);
	else if (!strcmp(op, OP_STOP) && head_number(head, "id"))
		on_stop(up, head, NULL, 0);
}

static void message(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct uplink *up = owner;
	char why[256];
	int said = messages_check(MESSAGES_SCORED_TO_SCNODED, head, why, sizeof(why));

	(void)link;
	up->heard = awake_now(&up->daemon->awake, clock_monotonic_ns());
	if (said >= 0)
		handlers[said](up, head, body, body_size);
	else if (said == -EINVAL)
		misunderstood(up, op, head, why);
	else
		daemon_say("scored says \"%.40s\", which this version does not know", op);
}

/* ---- the connection ---- */

static void lost(struct uplink *up, const char *why)
{
	bool was_registered = up->is_registered;

	if (!up->was_told)
		daemon_say("scored at %s: %s; trying again every second", up->server, why);
	up->was_told = true;
	up->link = NULL;
	up->is_registered = false;
	images_drop_all(up->daemon);
	hostlock_lose(&up->daemon->lock_told, awake_now(&up->daemon->awake, clock_monotonic_ns()));
	ev_timer_set(&up->again, was_registered ? UPLINK_SOON_S : UPLINK_AGAIN_S, 0);
	ev_timer_start(up->daemon->loop, &up->again);
}

static void ready(struct link *link, void *owner)
{
	struct uplink *up = owner;

	(void)link;
	up->heard = awake_now(&up->daemon->awake, clock_monotonic_ns());
	register_host(up);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	(void)link;
	(void)error;
	lost(owner, why);
}

static const struct link_events events = {.ready = ready, .message = message, .closed = closed};

static void connect_again(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct uplink *up = timer->data;
	struct scnoded *d = up->daemon;

	(void)revents;
	up->link = link_connect(loop, d->auth, up->server, 0, "scnoded", (uid_t)-1, &events, up);
	up->heard = awake_now(&d->awake, clock_monotonic_ns());
	if (!up->link)
		lost(up, "no memory");
}

static json_t *switches_of(const struct scnoded *d)
{
	struct turn_counts c;

	turn_counts(d->turn, &c);
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "done", (json_int_t)c.done, "late",
			 (json_int_t)c.late, "worst_ns", (json_int_t)c.worst_ns, "lost_ns",
			 (json_int_t)c.lost_ns, "slow_freezes", (json_int_t)c.slow_freezes);
}

/* Its words may wait to be read: that is no silence. */
static bool is_silent(const struct uplink *up)
{
	double now = awake_now(&up->daemon->awake, clock_monotonic_ns());

	return now - up->heard > SILENCE_S && !link_has_input(up->link);
}

/*
 * Whether its ranks do nothing but wait for messages. Each of @n_steps jobs has its share of what a
 * beat may take.
 */
static bool is_waiting(struct step *step, uint32_t n_steps)
{
	const struct order *order = step->order;
	pid_t *pids = NULL;
	ssize_t n = step->group ? cgroup_pids(step->group, &pids) : 0;
	struct waiting_job job = {.uid = order->uid,
				  .pids = pids,
				  .n_pids = n > 0 ? (size_t)n : 0,
				  .ns = step->ns,
				  .ranks = order->hosts[order->here].ranks,
				  .names = WAITING_NAMES / n_steps};
	bool is_waiting = step->waiting && waiting_look(step->waiting, &job);

	free(pids);
	return is_waiting;
}

static void beat(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct uplink *up = timer->data;
	struct scnoded *d = up->daemon;
	json_t *jobs;
	struct step *step;
	uint32_t n_steps = 0;
	double load = 0;

	(void)revents;
	if (up->link && is_silent(up)) {
		link_close(up->link, 0);
		lost(up, "it said nothing for 3 s");
	}
	if (!up->is_registered)
		return;
	jobs = json_array();
	TAILQ_FOREACH(step, &d->steps, all)
		n_steps++;
	TAILQ_FOREACH(step, &d->steps, all) {
		uint64_t cpu_ns = 0;
		bool is_idle = steps_is_idle(step, clock_monotonic_s(), &cpu_ns);

		json_array_append_new(jobs,
				      json_pack("{s:I, s:I, s:b, s:b}", "id", (json_int_t)step->id,
						"cpu_ns", (json_int_t)cpu_ns, "is_idle", is_idle,
						"is_stuck", is_waiting(step, n_steps)));
	}
	getloadavg(&load, 1);
	link_send(up->link,
		  json_pack("{s:s, s:I, s:f, s:I, s:o, s:o}", "op", OP_BEAT, "clock_ns",
			    (json_int_t)clock_realtime_ns(), "load", load, "memory_free",
			    (json_int_t)cores_memory_free(), "switches", switches_of(d), "jobs",
			    jobs),
		  NULL, 0);
}

struct uplink *uplink_open(struct scnoded *d)
{
	struct uplink *up = calloc(1, sizeof(*up));
	const char *server = d->options.server, *colon = strrchr(server, ':');

	if (!up || !(up->news = json_array())) {
		free(up);
		return NULL;
	}
	up->daemon = d;
	/* A port is there, unless the only colons are those of an IPv6 address. */
	snprintf(up->server, sizeof(up->server), "%s%s", server,
		 colon && !strchr(colon, ']') ? "" : ":" SCORED_PORT);
	ev_init(&up->again, connect_again);
	ev_timer_init(&up->beat, beat, 1, 1);
	up->again.data = up->beat.data = up;
	ev_timer_start(d->loop, &up->beat);
	ev_timer_start(d->loop, &up->again);
	return up;
}

void uplink_close(struct uplink *up)
{
	if (!up)
		return;
	ev_timer_stop(up->daemon->loop, &up->beat);
	ev_timer_stop(up->daemon->loop, &up->again);
	if (up->link)
		link_close(up->link, 1);
	json_decref(up->news);
	free(up);
}
