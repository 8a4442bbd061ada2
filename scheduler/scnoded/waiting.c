/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scnoded/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "pmcore/util/stats.h"

struct context {
	pid_t pid;
	uint32_t node;
	uint64_t messages, looks;
	bool is_waiting;
};

struct contexts {
	struct context *all;
	size_t n, room;
};

struct waiting {
	struct contexts now, before;
};

struct waiting *waiting_open(void)
{
	return calloc(1, sizeof(struct waiting));
}

void waiting_close(struct waiting *w)
{
	if (!w)
		return;
	free(w->now.all);
	free(w->before.all);
	free(w);
}

static uint64_t messages_of(const struct stats_page *page)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < page->n_links && i < STATS_LINKS; i++) {
		const struct stats_link *link = &page->links[i];

		n += link->tx_messages + link->rx_messages + link->read_bytes + link->write_bytes;
	}
	return n;
}

static const struct context *find(const struct contexts *c, pid_t pid, uint32_t node)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->all[i].pid == pid && c->all[i].node == node)
			return &c->all[i];
	return NULL;
}

static int note(void *arg, const struct stats_page *page)
{
	struct waiting *w = arg;
	struct contexts *c = &w->now;
	const struct context *old = find(&w->before, (pid_t)page->pid, page->node);
	struct context new = {.pid = (pid_t)page->pid,
			      .node = page->node,
			      .messages = messages_of(page),
			      .looks = page->looks};

	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct context *all = realloc(c->all, room * sizeof(*all));

		if (!all)
			return 0;
		c->all = all;
		c->room = room;
	}
	new.is_waiting = old &&new.looks > old->looks &&new.messages == old->messages;
	c->all[c->n++] = new;
	return 0;
}

void waiting_look(struct waiting *w)
{
	struct contexts old = w->before;

	w->before = w->now;
	w->now = old;
	w->now.n = 0;
	stats_visit(note, w);
}

bool waiting_is(const struct waiting *w, const struct step *step)
{
	pid_t *pids = NULL;
	ssize_t n_pids = w->now.n && step->group ? cgroup_pids(step->group, &pids) : 0;
	bool is_waiting = n_pids > 0;
	size_t n = 0;

	for (size_t i = 0; is_waiting && i < w->now.n; i++)
		if (cgroup_has(pids, (size_t)n_pids, w->now.all[i].pid)) {
			is_waiting = w->now.all[i].is_waiting;
			n++;
		}
	free(pids);
	return is_waiting && n && n >= step->order->hosts[step->order->here].ranks;
}
