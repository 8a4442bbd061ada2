// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cluster/nameset.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/placement.h"
#include "scheduler/scored/readers.h"
#include "scheduler/scored/named_hosts.h"

struct candidates {
	uint32_t *hosts; /* numbers of nodes, best first */
	size_t n;
	uint32_t least_cores;      /* of any of them */
	size_t n_unknown;          /* hosts that may be meant, whose cores nobody knows */
	size_t n_locked;           /* that would do, but for locks of hosts */
	const struct node *locked; /* the first of them, */
	struct lock *lock;         /* and who keeps the job off */
};

/* ---- which hosts ---- */

/* The least busy ones first, else in their order. */
static void insert(struct candidates *c, unsigned int *busy, const struct node *node,
		   unsigned int jobs)
{
	size_t at = c->n++;

	for (; at && busy[at - 1] > jobs; at--) {
		busy[at] = busy[at - 1];
		c->hosts[at] = c->hosts[at - 1];
	}
	busy[at] = jobs;
	c->hosts[at] = node->number;
	if (c->n == 1 || node->host->n_cores < c->least_cores)
		c->least_cores = node->host->n_cores;
}

/* Whether a lock of hosts keeps the job off. */
static bool is_locked(const struct scored *d, const struct node *node, uint64_t id,
		      struct candidates *c)
{
	struct lock *lock = locks_keep_off(d, node, id);

	if (lock && !c->n_locked++) {
		c->locked = node;
		c->lock = lock;
	}
	return lock;
}

/*
 * @request: the only hosts that may be taken, NULL = any. @id: only those that take this job now;
 * 0: at any time.
 */
static int collect(const struct scored *d, const struct nameset *request, uint64_t id,
		   struct candidates *c)
{
	unsigned int *busy = calloc(d->n_nodes + 1, sizeof(*busy));

	c->hosts = calloc(d->n_nodes + 1, sizeof(uint32_t));
	for (size_t i = 0; c->hosts && busy && i < d->n_nodes; i++) {
		const struct node *node = d->nodes[i];

		if (request && !nameset_has(request, node->name))
			continue;
		if (!node->host)
			c->n_unknown++;
		else if (!id || (nodes_is_usable(node) && !is_locked(d, node, id, c)))
			insert(c, busy, node, node->n_jobs);
	}
	free(busy);
	return c->hosts && busy ? 0 : -ENOMEM;
}

/* The same for what the job requests. 0, -EINVAL with a sentence, -ENOMEM. */
static int find_candidates(const struct scored *d, const struct job *job, uint64_t id,
			   struct candidates *c, char *why, size_t why_size)
{
	struct hostlist list = {0};
	struct nameset request;
	int err;

	*c = (struct candidates){0};
	if (!job->group)
		return collect(d, NULL, id, c);
	err = named_hosts_parse(d, job->group, &list, why, why_size);
	if (err)
		return err;
	err = id ? 0 : named_hosts_check(d, job->group, &list, why, why_size);
	if (err) {
		hostlist_fini(&list);
		return err;
	}
	err = nameset_init(&request);
	for (size_t i = 0; !err && i < list.n; i++)
		err = nameset_add(&request, list.names[i]);
	if (!err)
		err = collect(d, &request, id, c);
	nameset_fini(&request);
	hostlist_fini(&list);
	return err;
}

/* ---- how many ranks on each ---- */

/* Ranks on each of *@n hosts, owned by the caller; NULL: no memory. */
static uint32_t *spread(const struct job *job, const struct candidates *c, uint32_t *n)
{
	uint32_t per_host = job->per_node, left = job->ranks, *ranks;
	bool is_free = !per_host && !job->nodes;

	if (is_free)
		per_host = c->least_cores / job->cores ? c->least_cores / job->cores : 1;
	*n = job->nodes ? job->nodes : (left + per_host - 1) / per_host;
	/* More ranks than cores: evenly on those there are. */
	if (is_free && job->may_oversubscribe && c->n && *n > c->n) {
		*n = (uint32_t)c->n;
		per_host = 0;
	}
	ranks = calloc(*n, sizeof(*ranks));
	for (uint32_t k = 0; ranks && k < *n; k++) {
		uint32_t even = (left + *n - k - 1) / (*n - k);

		ranks[k] = per_host ? (left < per_host ? left : per_host) : even;
		left -= ranks[k];
	}
	return ranks;
}

/* Cores for those ranks on one host; a job that may oversubscribe is content with all. */
static uint32_t *cores_for(const struct job *job, const uint32_t *ranks, uint32_t n,
			   uint32_t cores_of_host)
{
	uint32_t *cores = calloc(n, sizeof(*cores));

	for (uint32_t k = 0; cores && k < n; k++) {
		uint64_t wanted = (uint64_t)ranks[k] * job->cores;

		if (job->may_oversubscribe && wanted > cores_of_host)
			wanted = cores_of_host;
		cores[k] = wanted > UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
	}
	return cores;
}

static uint32_t most_of(const uint32_t *n, uint32_t count)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < count; k++)
		most = n[k] > most ? n[k] : most;
	return most;
}

static void say_impossible(const struct scored *d, const struct job *job,
			   const struct candidates *c, uint32_t n, uint32_t cores, char *why,
			   size_t why_size)
{
	const char *of = job->group ? job->group : "the cluster";

	if (n > c->n && c->n && !job->nodes && !job->per_node)
		snprintf(why, why_size,
			 "%u ranks want %u hosts, but %s has %zu; ask for fewer ranks, or for more "
			 "of them on each host with --nodes and --oversubscribe",
			 job->ranks, n, of, c->n);
	else if (n > c->n)
		snprintf(why, why_size,
			 "%u hosts are wanted, but %s has %zu%s; ask for fewer with --nodes", n, of,
			 c->n,
			 c->n         ? ""
			 : d->n_nodes ? " that are up"
				      : " (no scnoded has registered)");
	else
		snprintf(why, why_size,
			 "%u cores on each host are wanted, but there are not %u hosts in %s with "
			 "so many (the "
			 "smallest has %u); ask for fewer ranks per host, or allow more ranks than "
			 "cores with "
			 "--oversubscribe",
			 cores, n, of, c->least_cores);
}

int plan_check(struct scored *d, const struct job *job, char *why, size_t why_size)
{
	struct candidates c;
	int err = find_candidates(d, job, 0, &c, why, why_size);
	uint32_t n = 0, fitting = 0, *ranks = NULL, *cores = NULL;
	struct placement placement;

	if (!err && !c.n_unknown) {
		ranks = spread(job, &c, &n);
		cores = ranks ? cores_for(job, ranks, n, c.least_cores) : NULL;
		for (size_t i = 0; cores && i < c.n; i++)
			fitting += d->nodes[c.hosts[i]]->host->n_cores >= most_of(cores, n);
		if (!cores) {
			err = -ENOMEM;
		} else if (fitting < n) {
			say_impossible(d, job, &c, n, most_of(cores, n), why, why_size);
			err = -EINVAL;
		} else if (placement_open(&placement, d, job, n, ranks[0], why, why_size) ==
			   -EINVAL) {
			err = -EINVAL;
		}
	}
	if (err == -ENOMEM)
		snprintf(why, why_size, "scored has no memory");
	free(c.hosts);
	free(ranks);
	free(cores);
	return err;
}

/*
 * Hosts that go together, or any when these can't: some of a box may be down for long. A grid that
 * was asked for is waited for.
 */
static int enter(struct scored *d, uint64_t id, const struct job *job,
		 struct matrix_request *request, struct plan *plan)
{
	bool (*const pick)(void *, const uint32_t *, size_t, uint32_t *) = request->pick;
	void *const pick_arg = request->pick_arg;
	struct placement placement;
	char why[256];
	int err;

	if (!placement_open(&placement, d, job, request->n_wanted, plan->ranks[0], why,
			    sizeof(why))) {
		request->pick = placement_pick;
		request->pick_arg = &placement;
		err = matrix_add(d->matrix, id, request, plan->place);
		if (err != -ENOSPC || job->n_cart)
			return err;
		request->pick = pick;
		request->pick_arg = pick_arg;
	}
	return matrix_add(d->matrix, id, request, plan->place);
}

/* cluster.json was read anew: what the job wants is not in it now, and may be again. */
static int wait_for_group(char *why, size_t why_size)
{
	char what[256];

	snprintf(what, sizeof(what), "%s", why);
	snprintf(why, why_size, "waits for its hosts: %s", what);
	return -EBUSY;
}

/*
 * Jobs that can never fit were rejected at submission. If one does not fit an empty cluster now,
 * hosts have gone.
 */
static const char *waits_for_cores(int err, bool is_box)
{
	if (err != -EBUSY)
		return "waits for hosts that are down or drained";
	return is_box ? "waits for cores on hosts that form a box of the network; -map any takes "
			"any"
		      : "waits for cores";
}

static void say_waits(int err, bool is_box, const struct candidates *c, char *why, size_t why_size)
{
	char lock[400], more[32] = "";

	if (!c->lock) {
		snprintf(why, why_size, "%s", waits_for_cores(err, is_box));
		return;
	}
	if (c->n_locked > 1)
		snprintf(more, sizeof(more), " and %zu more", c->n_locked - 1);
	locks_say(c->lock, lock, sizeof(lock));
	snprintf(why, why_size, "waits: host%s %s%s %s %s", c->n_locked > 1 ? "s" : "",
		 c->locked->name, more, c->n_locked > 1 ? "are" : "is", lock);
}

/*
 * @cores: on each of plan->n hosts, of which plan->ranks are known. @readers: as far as the network
 * leaves a choice; NULL: the first that fit. As plan_place().
 */
static int enter_candidates(struct scored *d, uint64_t id, const struct job *job,
			    const struct candidates *c, const uint32_t *cores,
			    struct readers *readers, struct plan *plan, char *why, size_t why_size)
{
	struct matrix_request request = {.hosts = c->hosts,
					 .n_hosts = c->n,
					 .n_wanted = (uint32_t)plan->n,
					 .cores = cores,
					 .is_exclusive = job->class == JOB_EXCLUSIVE,
					 .pick = readers ? readers_pick : NULL,
					 .pick_arg = readers};
	int err;

	plan->place = calloc(plan->n ? plan->n : 1, sizeof(*plan->place));
	if (!cores || !plan->ranks || !plan->place)
		return -ENOMEM;
	/* Hosts of before went together already. */
	if (readers && readers_have_all(readers, c->hosts, c->n))
		err = matrix_add(d->matrix, id, &request, plan->place);
	else
		err = enter(d, id, job, &request, plan);
	if (err != -ENOSPC && err != -EBUSY)
		return err;
	say_waits(err, request.pick == placement_pick, c, why, why_size);
	return -EBUSY;
}

int plan_place(struct scored *d, uint64_t id, const struct job *job, struct plan *ret, char *why,
	       size_t why_size)
{
	struct candidates c;
	struct plan plan = {0};
	uint32_t n = 0, *cores = NULL;
	int err = find_candidates(d, job, id, &c, why, why_size);

	if (!err) {
		plan.ranks = spread(job, &c, &n);
		plan.n = n;
		cores = plan.ranks ? cores_for(job, plan.ranks, n, c.least_cores) : NULL;
		err = enter_candidates(d, id, job, &c, cores, NULL, &plan, why, why_size);
	}
	if (err == -EINVAL)
		err = wait_for_group(why, why_size);
	free(c.hosts);
	free(cores);
	if (err)
		plan_fini(&plan);
	else
		*ret = plan;
	return err;
}

void plan_fini(struct plan *plan)
{
	if (plan->place)
		matrix_place_fini(plan->place, plan->n);
	free(plan->place);
	free(plan->ranks);
	*plan = (struct plan){0};
}

struct sjob_host *plan_hosts(const struct scored *d, const struct plan *plan)
{
	struct sjob_host *hosts = calloc(plan->n, sizeof(*hosts));

	for (size_t h = 0; hosts && h < plan->n; h++)
		hosts[h] = (struct sjob_host){.node = d->nodes[plan->place[h].host],
					      .ranks = plan->ranks[h]};
	return hosts;
}

/* ---- the order ---- */

/* Where the hosts stand in the network, if all of them do. */
static void fill_places(struct order *order, const struct scored *d, const struct plan *plan)
{
	const struct cluster *cluster = d->cluster;

	for (size_t k = 0; k < plan->n; k++)
		if (!cluster || d->nodes[plan->place[k].host]->point < 0)
			return;
	order->n_dims = cluster->space.n_dims;
	for (size_t k = 0; k < plan->n; k++)
		box_coordinates(&cluster->space, (uint32_t)d->nodes[plan->place[k].host]->point,
				order->hosts[k].at);
}

static bool fill_host(struct order_host *to, const struct node *node,
		      const struct matrix_host *place, uint32_t first, uint32_t ranks)
{
	to->name = strdup(node->name);
	to->address = strdup(node->host->address);
	to->cores = calloc(place->n_cores ? place->n_cores : 1, sizeof(uint32_t));
	if (!to->name || !to->address || !to->cores)
		return false;
	memcpy(to->cores, place->cores, place->n_cores * sizeof(uint32_t));
	to->n_cores = place->n_cores;
	to->first = first;
	to->ranks = ranks;
	return true;
}

struct order *plan_order(struct scored *d, uint64_t id, uid_t uid, gid_t gid, struct job *job,
			 const struct plan *plan)
{
	struct order *order = calloc(1, sizeof(*order));
	uint32_t first = 0;

	if (!order)
		return NULL;
	order->id = id;
	order->incarnation = 1;
	order->uid = uid;
	order->gid = gid;
	order->cluster = strdup(d->cluster ? d->cluster->name : "openscore");
	order->hosts = calloc(plan->n, sizeof(*order->hosts));
	if (!order->cluster || !order->hosts ||
	    getrandom(&order->key, sizeof(order->key), 0) != sizeof(order->key)) {
		order_free(order);
		return NULL;
	}
	order->key &= INT64_MAX; /* as JSON carries it */
	for (size_t k = 0; k < plan->n; k++) {
		order->n_hosts = k + 1;
		if (!fill_host(&order->hosts[k], d->nodes[plan->place[k].host], &plan->place[k],
			       first, plan->ranks[k])) {
			order_free(order);
			return NULL;
		}
		first += plan->ranks[k];
	}
	fill_places(order, d, plan);
	order->job = job;
	return order;
}

/* ---- once more, from a checkpoint ---- */

int plan_again(struct scored *d, const struct order *order, const char *hosts, struct plan *ret,
	       char *why, size_t why_size)
{
	struct job job = *order->job;
	struct readers readers = {d, order};
	struct candidates c;
	struct plan plan = {.n = order->n_hosts};
	uint32_t *cores = calloc(order->n_hosts, sizeof(*cores));
	const struct node *other;
	int err;

	if (hosts)
		job.group = (char *)(uintptr_t)hosts;
	err = find_candidates(d, &job, order->id, &c, why, why_size);
	other = err ? NULL : readers_keep(&readers, c.hosts, &c.n);
	if (!err && other && hosts && c.n < order->n_hosts) {
		snprintf(why, why_size,
			 "host %s does not share the directory of checkpoints with %s, which has "
			 "images of the job",
			 other->name, order->hosts[0].name);
		err = -EINVAL;
	}
	plan.ranks = calloc(order->n_hosts, sizeof(*plan.ranks));
	for (size_t h = 0; cores && plan.ranks && h < order->n_hosts; h++) {
		plan.ranks[h] = order->hosts[h].ranks;
		cores[h] = (uint32_t)order->hosts[h].n_cores;
	}
	if (!err)
		err = enter_candidates(d, order->id, &job, &c, cores, &readers, &plan, why,
				       why_size);
	free(c.hosts);
	free(cores);
	if (err)
		plan_fini(&plan);
	else
		*ret = plan;
	return err;
}

int plan_readdress(const struct scored *d, struct order *order, const struct plan *plan)
{
	for (size_t k = 0; k < plan->n; k++) {
		struct order_host old = order->hosts[k], new = {0};

		if (!fill_host(&new, d->nodes[plan->place[k].host], &plan->place[k], old.first,
			       old.ranks)) {
			free(new.name);
			free(new.address);
			free(new.cores);
			return -ENOMEM;
		}
		order->hosts[k] = new;
		free(old.name);
		free(old.address);
		free(old.cores);
	}
	order->n_dims = 0;
	fill_places(order, d, plan);
	return 0;
}
