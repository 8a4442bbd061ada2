// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "pmcore/util/pidns.h"
#include "pmcore/util/stats.h"

#define HOLES_MAX 4 /* a process that closes a context leaves a hole in the numbers of the others */

struct context {
	pid_t pid;
	unsigned int number; /* among those of its process */
	uint64_t messages, looks;
};

/* In ascending order of process and number. */
struct contexts {
	struct context *all;
	size_t n, room;
};

struct waiting {
	struct contexts now, before;
};

/* One call of waiting_look(). */
struct look {
	struct waiting *waiting;
	const struct waiting_job *job;
	uint32_t names;  /* that may still be tried */
	size_t at;       /* in the contexts of before: those in front have smaller numbers */
	bool is_waiting; /* so far */
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

static bool is_less(const struct context *a, const struct context *b)
{
	return a->pid != b->pid ? a->pid < b->pid : a->number < b->number;
}

/* Both are in order, so each is passed once. */
static const struct context *find_before(struct look *look, const struct context *new)
{
	const struct contexts *before = &look->waiting->before;

	while (look->at < before->n && is_less(&before->all[look->at], new))
		look->at++;
	return look->at < before->n && !is_less(new, &before->all[look->at])
		       ? &before->all[look->at]
		       : NULL;
}

/* false: no memory. */
static bool note(struct look *look, const struct context *new)
{
	struct contexts *c = &look->waiting->now;
	const struct context *old = find_before(look, new);

	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 16;
		struct context *all = realloc(c->all, room * sizeof(*all));

		if (!all)
			return false;
		c->all = all;
		c->room = room;
	}
	c->all[c->n++] = *new;
	look->is_waiting &= old && new->looks > old->looks &&new->messages == old->messages;
	return true;
}

/* false: not all could be looked at. */
static bool look_at(struct look *look, pid_t pid)
{
	/* also one in a namespace of its own within the job's */
	uint64_t ns = look->job->ns ? pidns_of(pid) : 0;
	uint32_t inner = (uint32_t)(ns ? pidns_inner(pid) : pid);
	unsigned int holes = 0;

	if (look->job->ns && !ns)
		return true; /* it has ended */
	if (ns && look->names < WAITING_FILE)
		return false;
	look->names -= ns ? WAITING_FILE : 0;

	for (unsigned int number = 0; number < STATS_CONTEXTS && holes < HOLES_MAX; number++) {
		struct context new = {.pid = pid, .number = number};
		struct stats_page page;
		int err;

		if (look->names < WAITING_FILE)
			return false;
		err = stats_read(look->job->uid, ns, inner, number, &page);
		look->names -= err ? 1 : WAITING_FILE;
		holes += err == -ENOENT;
		if (err)
			continue;
		new.messages = messages_of(&page);
		new.looks = page.looks;
		if (!note(look, &new))
			return false;
	}
	return true;
}

bool waiting_look(struct waiting *w, const struct waiting_job *job)
{
	struct look look = {.waiting = w, .job = job, .names = job->names, .is_waiting = true};
	struct contexts old = w->before;
	bool is_whole = true;

	w->before = w->now;
	w->now = old;
	w->now.n = 0;
	for (size_t i = 0; is_whole && i < job->n_pids; i++)
		is_whole = look_at(&look, job->pids[i]);
	return is_whole && look.is_waiting && w->now.n && w->now.n >= job->ranks;
}
