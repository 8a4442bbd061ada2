// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/scnodeds.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/checkpoint.h"
#include "scheduler/scored/idle.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/lock_news.h"
#include "scheduler/scored/migrate.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/turns.h"

/* The scnoded at the other end of a link; its node is NULL until it has registered. */
struct uplink {
	struct scored *scored;
	struct node *node;
	struct link *link;
};

/* Nobody is there. Its jobs may be: a scnoded that comes back in time finds them. */
static void disconnect(struct scored *d, struct node *node, double lost_at, const char *why)
{
	node->lost_at = lost_at;
	free(node->uplink);
	node->link = NULL;
	node->uplink = NULL;
	node->state = NODE_ABSENT;
	if (!node->is_drained)
		nodes_note(node, why);
	daemon_say("host %s: %s", node->name, why);
	checkpoint_forget_node(d, node);
	migrate_forget_node(d, node);
}

static void refuse(struct link *link, const char *error, char *text)
{
	daemon_say("%s: %s", link_peer(link), text);
	link_send(link, json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text", text),
		  NULL, 0);
	free(text);
}

/* It says what no scnoded of this version says. Takes @text and @up. */
static void turn_away(struct uplink *up, char *text)
{
	struct node *node = up->node;

	refuse(up->link, "EPROTO", text);
	link_close(up->link, 1);
	if (node)
		disconnect(up->scored, node,
			   awake_now(&up->scored->awake, clock_monotonic_ns()) + GRACE_S,
			   "its scnoded is of another version than scored");
	else
		free(up);
}

/* ---- what a scnoded says ---- */

/* Why that host may not register, or NULL. free() it. */
static char *objection(struct scored *d, const struct host *host, const struct node *old)
{
	long at = d->cluster ? cluster_host_of(d->cluster, host->name) : 0;

	if (at < 0)
		return daemon_text("host %s is not in %s; add it to cluster.toml and compile that, "
				   "or start its "
				   "scnoded with the right --name",
				   host->name, d->options.config);
	if (d->cluster && !d->cluster->hosts[at].is_usable)
		return daemon_text(
			"host %s is marked as defect or spare in %s; mark it as up and compile",
			host->name, d->options.config);
	if (old && old->link)
		return daemon_text("a host %s is registered already, from %s; two hosts have one "
				   "name, or two scnoded "
				   "run there: end one of them",
				   host->name, link_peer(old->link));
	return NULL;
}

static void measure_skew(struct node *node, int64_t its_ns)
{
	if (skew_take(&node->skew, its_ns - (int64_t)clock_realtime_ns()))
		daemon_say("host %s: its clock is %.1f ms off ours; gang switches will be late: "
			   "run an NTP daemon on both",
			   node->name, (double)node->skew.ns / 1e6);
}

static void register_node(struct uplink *up, struct node *node, struct host *host,
			  const json_t *jobs)
{
	struct scored *d = up->scored;
	json_t *keep;

	host_free(node->host);
	node->host = host;
	node->link = up->link;
	node->uplink = up;
	node->state = node->is_drained ? NODE_DRAINED : NODE_UP;
	node->heard = awake_now(&d->awake, clock_monotonic_ns());
	node->table_jobs = 0;
	node->switches = (struct node_switches){0};
	if (!node->is_drained)
		nodes_note(node, NULL);
	up->node = node;
	skew_begin(&node->skew);
	measure_skew(node, (int64_t)host->clock_ns);
	daemon_say("host %s registered from %s: %u cores, cgroups %s", node->name,
		   link_peer(up->link), host->n_cores, host->cgroups);
	keep = jobs_node_back(d, node, jobs);
	link_send(up->link,
		  json_pack("{s:s, s:f, s:I, s:o}", "op", OP_REGISTERED, "heartbeat_s", BEAT_S,
			    "quantum_ns", (json_int_t)d->options.quantum_ns, "keep", keep),
		  NULL, 0);
	lock_news_begin(d, node);
	turns_send(d, node);
	jobs_plan(d);
}

static void on_register(struct uplink *up, const json_t *head)
{
	struct scored *d = up->scored;
	struct host *host = NULL;
	struct node *node;
	char why[256], *text;

	if (up->node || host_decode(&host, json_object_get(head, "host"), why, sizeof(why))) {
		turn_away(up, daemon_text("register: %s", up->node ? "a second time" : why));
		return;
	}
	node = nodes_find(d, host->name);
	text = objection(d, host, node);
	if (!text) {
		node = node ? node : nodes_make(d, host->name);
		/*
		 * Cores may have changed since it was last here; jobs that still run there have
		 * theirs.
		 */
		if (!node ||
		    (!jobs_uses(d, node) && matrix_host(d->matrix, node->number, host->n_cores)))
			text = daemon_text("scored has no memory");
	}
	if (text) {
		host_free(host);
		refuse(up->link, "EPERM", text);
		link_close(up->link, 1);
		free(up);
		return;
	}
	register_node(up, node, host, json_object_get(head, "jobs"));
}

static void on_beat(struct uplink *up, const json_t *head)
{
	struct node *node = up->node;
	const json_t *switches = json_object_get(head, "switches"), *job;
	size_t i;

	measure_skew(node, (int64_t)head_number(head, "clock_ns"));
	node->load = json_number_value(json_object_get(head, "load"));
	node->memory_free = head_number(head, "memory_free");
	if (switches)
		node->switches =
			(struct node_switches){.done = head_number(switches, "done"),
					       .late = head_number(switches, "late"),
					       .worst_ns = head_number(switches, "worst_ns"),
					       .lost_ns = head_number(switches, "lost_ns")};
	json_array_foreach(json_object_get(head, "jobs"), i, job)
		idle_beat(up->scored, node, head_number(job, "id"), head_number(job, "cpu_ns"),
			  json_is_true(json_object_get(job, "is_idle")),
			  json_is_true(json_object_get(job, "is_stuck")));
}

static void on_started(struct uplink *up, const json_t *head)
{
	jobs_started(up->scored, up->node, head_number(head, "id"));
}

static void on_failed(struct uplink *up, const json_t *head)
{
	jobs_failed(up->scored, up->node, head_number(head, "id"), (int)head_number(head, "code"),
		    head_text(head, "text"));
}

static void on_ended(struct uplink *up, const json_t *head)
{
	jobs_ended(up->scored, up->node, head_number(head, "id"), (int)head_number(head, "code"),
		   head_text(head, "text"));
}

static void on_store(struct uplink *up, const json_t *head)
{
	snprintf(up->node->store, sizeof(up->node->store), "%s", head_text(head, "identity"));
	/* Jobs that can be restored there may wait. */
	jobs_plan(up->scored);
}

static void on_imaged(struct uplink *up, const json_t *head)
{
	checkpoint_told(up->scored, up->node, head);
}

static void on_migrated(struct uplink *up, const json_t *head)
{
	if (checkpoint_stood(up->scored, up->node, head))
		return;
	migrate_over(up->scored, up->node, head_number(head, "id"), head_number(head, "serial"),
		     json_is_true(json_object_get(head, "is_changed")), head_text(head, "text"),
		     json_number_value(json_object_get(head, "stood_s")));
}

static void on_gone(struct uplink *up, const json_t *head)
{
	jobs_gone(up->scored, up->node, head_number(head, "id"), head_number(head, "cpu_ns"));
}

/* Of every message of MESSAGES_SCNODED_TO_SCORED. */
static void (*const handlers[MESSAGES_OPS])(struct uplink *up, const json_t *head) = {
	[ON_REGISTER] = on_register, [ON_BEAT] = on_beat,     [ON_STARTED] = on_started,
	[ON_FAILED] = on_failed,     [ON_ENDED] = on_ended,   [ON_GONE] = on_gone,
	[ON_MIGRATED] = on_migrated, [ON_IMAGED] = on_imaged, [ON_STORE] = on_store};

static void message(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct uplink *up = owner;
	char why[256];
	int said = messages_check(MESSAGES_SCNODED_TO_SCORED, head, why, sizeof(why));

	(void)link;
	(void)body;
	(void)body_size;
	if (up->node)
		up->node->heard = awake_now(&up->scored->awake, clock_monotonic_ns());
	if (said == -EINVAL)
		turn_away(up, daemon_text("%s", why));
	else if (!up->node && said != ON_REGISTER)
		turn_away(up, daemon_text("%s before register", op));
	else if (said >= 0)
		handlers[said](up, head);
	else
		daemon_say("host %s says \"%s\", which this version does not know", up->node->name,
			   op);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct uplink *up = owner;
	(void)link;
	(void)error;
	if (up->node)
		disconnect(up->scored, up->node,
			   awake_now(&up->scored->awake, clock_monotonic_ns()) + GRACE_S, why);
	else
		free(up);
}

static const struct link_events events = {.message = message, .closed = closed};

void scnodeds_enter(struct scored *d, struct link *link)
{
	struct uplink *up = calloc(1, sizeof(*up));

	if (!up || (link_uid(link) != 0 && link_uid(link) != geteuid())) {
		refuse(link, "EPERM",
		       daemon_text("a scnoded of user %u: only those of root and of user %u may "
				   "register here; start it "
				   "as one of them",
				   link_uid(link), geteuid()));
		link_close(link, 1);
		free(up);
		return;
	}
	up->scored = d;
	up->link = link;
	link_set(link, &events, up);
}

/* ---- beats ---- */

/* Its words may wait to be read: that is no silence. */
static bool is_silent(const struct node *node, double now)
{
	return now - node->heard > BEATS_MISSED * BEAT_S && !link_has_input(node->link);
}

static void check(struct scored *d, struct node *node, double now)
{
	if (node->link && is_silent(node, now)) {
		link_close(node->link, 0);
		disconnect(d, node, node->heard + SILENT_S, "it said nothing for 3 s");
	}
	if (node->link)
		nodes_send(node, json_pack("{s:s, s:I}", "op", OP_BEAT, "clock_ns",
					   (json_int_t)clock_realtime_ns()));
	else if (now > node->lost_at)
		jobs_node_lost(d, node, node->note ? node->note : "it is not connected");
}

void scnodeds_beat(struct scored *d, uint64_t now_ns)
{
	for (size_t i = 0; i < d->n_nodes; i++)
		check(d, d->nodes[i], awake_now(&d->awake, now_ns));
}
