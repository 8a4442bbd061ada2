// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree, all hosts of a job in one process, over links that are queues in memory: whatever the order
 * in which messages travel, nothing is lost when all hosts part and join again.
 */
#include "scheduler/scstepd/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "tests/harness/tap.h"

#define HOSTS_MAX 40

struct message {
	struct message *next;
	json_t *head;
};

/* One end. A link that is closed tells its other end when that has read all. */
struct link {
	struct link *next; /* of all */
	struct link *other;
	size_t host; /* where this end is */
	const struct link_events *events;
	void *owner;
	struct message *first, **last; /* to be read here */
	bool is_connector, is_ready, is_told;
	bool is_over; /* closed here */
	bool is_cut;  /* closed there */
};

struct host {
	struct tree *tree;
	unsigned int n_joined, n_parted, n_lost;
	unsigned int got[HOSTS_MAX]; /* messages by their sender: their numbers rise by one */
};

static struct {
	struct ev_loop *loop;
	struct link *links;
	struct host hosts[HOSTS_MAX];
	struct order orders[HOSTS_MAX];
	struct order_host list[HOSTS_MAX];
	char addresses[HOSTS_MAX][24];
	size_t n, here; /* whose function runs */
	unsigned int seed;
	unsigned int sent[HOSTS_MAX][HOSTS_MAX];
} w;

/* ---- links ---- */

static struct link *link_new(size_t host)
{
	struct link *link = calloc(1, sizeof(*link));

	link->host = host;
	link->last = &link->first;
	link->next = w.links;
	w.links = link;
	return link;
}

struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address, uint64_t id,
			  const char *role, uid_t expect, const struct link_events *events,
			  void *owner)
{
	struct link *link = link_new(w.here), *other = link_new((size_t)atoi(address));

	link->events = events;
	link->owner = owner;
	link->is_connector = true;
	link->other = other;
	other->other = link;
	return link;
}

void link_set(struct link *link, const struct link_events *events, void *owner)
{
	link->events = events;
	link->owner = owner;
}

int link_send(struct link *link, json_t *head, const void *body, size_t size)
{
	struct message *message = calloc(1, sizeof(*message));

	ok(!link->is_over);
	message->head = head;
	*link->other->last = message;
	link->other->last = &message->next;
	return 0;
}

void link_close(struct link *link, double seconds)
{
	link->is_over = true;
	link->other->is_cut = true;
}

bool link_is_full(const struct link *link)
{
	return false;
}

uid_t link_uid(const struct link *link)
{
	return getuid();
}

/* ---- the hosts ---- */

static void on_joined(void *owner)
{
	struct host *host = owner;

	host->n_joined++;
}

static void on_parted(void *owner)
{
	struct host *host = owner;

	host->n_parted++;
}

static void on_lost(size_t which, const char *why, void *owner)
{
	struct host *host = owner;

	host->n_lost++;
}

static void on_message(const char *op, size_t from, json_t *head, const char *body, size_t size,
		       void *owner)
{
	struct host *host = owner;

	if (!strcmp(op, OP_FENCED)) {
		tree_part(host->tree);
		return;
	}
	is_int(json_integer_value(json_object_get(head, "number")), host->got[from]);
	host->got[from]++;
}

static unsigned int parts[HOSTS_MAX]; /* of the farewell, that have come to a host */

static unsigned int below(size_t host)
{
	unsigned int n = 0;

	for (size_t i = tree_first_child(host); i < tree_first_child(host) + TREE_FANOUT; i++)
		n += i < w.n;
	return n;
}

static json_t *farewell(const char *op)
{
	return json_pack("{s:s, s:s}", "op", op, "kind", OP_STOOD);
}

/* Its own part, or a child's. With the last one it goes up, or down to all. */
static void part_came(size_t host)
{
	if (++parts[host] <= below(host))
		return;
	parts[host] = 0;
	w.here = host;
	if (host)
		tree_send_up(w.hosts[host].tree, farewell(OP_STOOD), NULL, 0);
	else
		tree_send(w.hosts[0].tree, TREE_ALL, farewell(OP_FENCED), NULL, 0);
}

static void on_combine(const char *op, size_t child, json_t *head, const char *body, size_t size,
		       void *owner)
{
	part_came((size_t)((struct host *)owner - w.hosts));
}

static const struct tree_events tree_events = {.joined = on_joined,
					       .message = on_message,
					       .combine = on_combine,
					       .lost = on_lost,
					       .parted = on_parted};

/* ---- what happens next, by chance ---- */

static unsigned int chance(unsigned int n)
{
	w.seed = w.seed * 1103515245u + 12345u;
	return (w.seed >> 16) % n;
}

static void forget(struct link *link)
{
	struct link **at = &w.links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	free(link);
}

/* Both ends are over, and nobody reads any more. */
static void sweep(void)
{
	struct link *link = w.links, *next;

	for (; link; link = next) {
		next = link->next;
		if (!link->is_over || !link->other || !link->other->is_over)
			continue;
		while (link->first) {
			struct message *message = link->first;

			link->first = message->next;
			json_decref(message->head);
			free(message);
		}
		link->last = &link->first;
		link->is_told = true;
	}
	for (link = w.links; link; link = next) {
		struct link *other = link->other;

		next = link->next;
		if (!link->is_told || !other->is_told)
			continue;
		if (next == other)
			next = other->next;
		forget(other);
		forget(link);
	}
}

/* One thing at this end: it gets ready, reads a message, or hears of the end. False: nothing. */
static bool one_thing(struct link *link)
{
	struct message *message = link->first;

	if (link->is_over)
		return false;
	w.here = link->host;
	if (!link->is_ready) {
		link->is_ready = true;
		if (link->is_connector)
			link->events->ready(link, link->owner);
		else if (w.hosts[link->host].tree)
			tree_enter(w.hosts[link->host].tree, link);
		return true;
	}
	if (message && link->events) {
		link->first = message->next;
		if (!link->first)
			link->last = &link->first;
		link->events->message(link, json_string_value(json_object_get(message->head, "op")),
				      message->head, "", 0, link->owner);
		json_decref(message->head);
		free(message);
		return true;
	}
	if (message || !link->is_cut)
		return false;
	link->is_over = true;
	if (link->events)
		link->events->closed(link, 0, "closed", link->owner);
	return true;
}

/* Until nothing happens any more. */
static void run(void)
{
	for (int quiet = 0; quiet < 3;) {
		size_t n = 0, i = 0, which;
		struct link *link;
		bool was_any = false;

		for (link = w.links; link; link = link->next)
			n++;
		which = n ? chance((unsigned int)n) : 0;
		/* From one that chance has chosen on, the first that has something to do. */
		for (size_t round = 0; round < 2 && !was_any; round++)
			for (link = w.links, i = 0; link && !was_any; link = link->next, i++)
				if (round || i >= which)
					was_any = one_thing(link);
		if (!was_any || chance(4) == 0)
			ev_run(w.loop, EVRUN_NOWAIT);
		quiet = was_any ? 0 : quiet + 1;
		sweep();
	}
}

static void open_trees(size_t n, unsigned int seed)
{
	memset(&w, 0, sizeof(w));
	memset(parts, 0, sizeof(parts));
	w.loop = ev_loop_new(EVFLAG_AUTO);
	w.n = n;
	w.seed = seed;
	for (size_t i = 0; i < n; i++) {
		snprintf(w.addresses[i], sizeof(w.addresses[i]), "%zu", i);
		w.list[i].address = w.addresses[i];
		w.list[i].name = w.addresses[i];
		w.orders[i] = (struct order){
			.id = 7, .key = 99, .here = i, .n_hosts = n, .hosts = w.list};
	}
	for (size_t i = 0; i < n; i++) {
		w.here = i;
		w.hosts[i].tree = tree_open(w.loop, NULL, &w.orders[i], &tree_events, &w.hosts[i]);
	}
	run();
	for (size_t i = 0; i < n; i++)
		is_int(w.hosts[i].n_joined, n > 1);
}

static void close_trees(void)
{
	for (size_t i = 0; i < w.n; i++) {
		tree_close(w.hosts[i].tree);
		is_int(w.hosts[i].n_lost, 0);
	}
	while (w.links) {
		w.links->is_over = w.links->is_told = true;
		while (w.links->first) {
			struct message *message = w.links->first;

			w.links->first = message->next;
			json_decref(message->head);
			free(message);
		}
		forget(w.links);
	}
	ev_loop_destroy(w.loop);
}

static void send_some(size_t from, unsigned int n)
{
	while (n--) {
		size_t to = chance((unsigned int)w.n);

		if (to == from)
			continue;
		w.here = from;
		is_int(tree_send(w.hosts[from].tree, (int64_t)to,
				 json_pack("{s:s, s:I}", "op", OP_IN, "number",
					   (json_int_t)w.sent[from][to]++),
				 NULL, 0),
		       0);
	}
}

static void all_came(void)
{
	for (size_t from = 0; from < w.n; from++)
		for (size_t to = 0; to < w.n; to++)
			is_int(w.hosts[to].got[from], w.sent[from][to]);
}

static void part_all(void)
{
	for (size_t i = 0; i < w.n; i++) {
		send_some(i, chance(6));
		tree_hold(w.hosts[i].tree);
		part_came(i);
		send_some(i, chance(6));
	}
	run();
	for (size_t i = 0; i < w.n; i++)
		is_int(w.hosts[i].n_parted, 1);
	ok(!w.links);
}

static void join_all(void)
{
	unsigned int first = chance((unsigned int)w.n);

	for (size_t k = 0; k < w.n; k++) {
		size_t i = (first + k * 7) % w.n;

		w.here = i;
		send_some(i, chance(4));
		is_int(tree_go_on(w.hosts[i].tree, &w.orders[i]), 0);
		send_some(i, chance(4));
		if (chance(3) == 0)
			run();
	}
	run();
	all_came();
}

TAP_TEST(tree_part__nothing_is_lost)
{
	static const size_t sizes[] = {1, 2, 3, 17, 18, 34, 39};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (unsigned int seed = 1; seed <= 20; seed++) {
			open_trees(sizes[i], seed);
			for (int round = 0; round < 3; round++) {
				part_all();
				join_all();
				for (size_t k = 0; k < w.n; k++)
					w.hosts[k].n_parted = 0;
			}
			close_trees();
		}
}

TAP_TEST(tree_hold__and_on_again)
{
	open_trees(18, 5);
	for (size_t i = 0; i < w.n; i++) {
		tree_hold(w.hosts[i].tree);
		send_some(i, 3);
	}
	run();
	for (size_t from = 0; from < w.n; from++)
		for (size_t to = 0; to < w.n; to++)
			is_int(w.hosts[to].got[from], 0);
	for (size_t i = 0; i < w.n; i++)
		is_int(tree_go_on(w.hosts[i].tree, &w.orders[i]), 0);
	run();
	all_came();
	close_trees();
}

/* The job ends before all were told to part: the cause must reach the others. */
TAP_TEST(tree_release__what_has_waited_is_sent)
{
	open_trees(18, 5);
	for (size_t i = 0; i < w.n; i++) {
		tree_release(w.hosts[i].tree);
		tree_hold(w.hosts[i].tree);
		send_some(i, 3);
	}
	run();
	for (size_t i = 0; i < w.n; i++)
		tree_release(w.hosts[i].tree);
	run();
	all_came();
	part_all();
	/* Now there are no links. */
	send_some(0, 3);
	tree_release(w.hosts[0].tree);
	run();
	ok(!w.links);
	join_all();
	close_trees();
}

/* Before all were told it is a loss. */
TAP_TEST(tree_hold__a_host_that_dies)
{
	open_trees(3, 5);
	tree_hold(w.hosts[0].tree);
	w.here = 2;
	tree_close(w.hosts[2].tree);
	w.hosts[2].tree = NULL;
	run();
	is_int(w.hosts[0].n_lost, 1);
	w.hosts[0].n_lost = 0;
	close_trees();
}
