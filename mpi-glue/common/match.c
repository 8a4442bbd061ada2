// SPDX-License-Identifier: BSD-3-Clause
/*
 * match - bins per (context, source), lists for open sources, sequence numbers between them.
 * Owns contexts and bins; entries are the caller's. See match.h for the rules.
 */
#include "mpi-glue/common/match.h"

#include <errno.h>
#include <stdlib.h>

#define ENTRY_OF(link, member)                                                                     \
	((struct match_entry *)((char *)(link)-offsetof(struct match_entry, member)))

static void link_init(struct match_link *head)
{
	head->next = head;
	head->prev = head;
}

static void link_append(struct match_link *head, struct match_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

static void link_remove(struct match_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* Open tags stand for the user's tags only; negative ones are separate channels of Open MPI. */
static inline bool tag_fits(int32_t wanted, int32_t tag)
{
	return wanted == tag || (wanted == MATCH_ANY_TAG && tag >= 0);
}

static struct match_entry *first_receive(const struct match_link *head, int32_t tag)
{
	for (struct match_link *l = head->next; l != head; l = l->next) {
		struct match_entry *e = ENTRY_OF(l, in_bin);

		if (tag_fits(e->tag, tag))
			return e;
	}
	return NULL;
}

/* Bins live as long as their context, so the last one found is good until another is wanted. */
static inline struct match_bin *find_bin(struct match_context *c, int32_t source)
{
	struct match_bin *bin = c->last_bin;

	if (bin && c->last_source == source)
		return bin;
	bin = table_get(&c->bins, (uint32_t)source);
	if (bin) {
		c->last_bin = bin;
		c->last_source = source;
	}
	return bin;
}

static struct match_bin *make_bin(struct match_context *c, int32_t source)
{
	struct match_bin *bin = find_bin(c, source);

	if (bin)
		return bin;
	bin = malloc(sizeof(*bin));
	if (!bin)
		return NULL;
	link_init(&bin->posted);
	link_init(&bin->unexpected);
	if (table_put(&c->bins, (uint32_t)source, bin)) {
		free(bin);
		return NULL;
	}
	return bin;
}

void match_init(struct match *m)
{
	*m = (struct match){0};
}

static void drop_list(struct match_link *head, bool is_message,
		      void (*drop)(void *arg, struct match_entry *e, bool is_message), void *arg)
{
	while (head->next != head) {
		struct match_entry *e = ENTRY_OF(head->next, in_bin);

		link_remove(&e->in_bin);
		if (is_message)
			link_remove(&e->in_order);
		e->is_queued = false;
		if (drop)
			drop(arg, e, is_message);
	}
}

static void destroy_context(struct match_context *c,
			    void (*drop)(void *arg, struct match_entry *e, bool is_message),
			    void *arg)
{
	drop_list(&c->posted_any, false, drop, arg);
	for (uint32_t i = 0; c->bins.slots && i <= c->bins.mask; i++) {
		struct match_bin *bin = c->bins.slots[i].value;

		if (!bin)
			continue;
		drop_list(&bin->posted, false, drop, arg);
		drop_list(&bin->unexpected, true, drop, arg);
		free(bin);
	}
	table_fini(&c->bins);
	free(c);
}

void match_fini(struct match *m, void (*drop)(void *arg, struct match_entry *e, bool is_message),
		void *arg)
{
	for (uint32_t i = 0; m->contexts.slots && i <= m->contexts.mask; i++) {
		if (m->contexts.slots[i].value)
			destroy_context(m->contexts.slots[i].value, drop, arg);
	}
	table_fini(&m->contexts);
	m->last = NULL;
}

struct match_context *match_context(struct match *m, uint32_t id)
{
	struct match_context *c = m->last;

	if (c && c->id == id)
		return c;
	c = table_get(&m->contexts, id);
	if (c) {
		m->last = c;
		return c;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->id = id;
	link_init(&c->posted_any);
	link_init(&c->unexpected);
	if (table_put(&m->contexts, id, c)) {
		free(c);
		return NULL;
	}
	return c;
}

void match_drop_context(struct match *m, uint32_t id,
			void (*drop)(void *arg, struct match_entry *e, bool is_message), void *arg)
{
	struct match_context *c = table_take(&m->contexts, id);

	if (c == m->last)
		m->last = NULL;
	if (c)
		destroy_context(c, drop, arg);
}

static struct match_entry *take_receive(struct match_entry *e)
{
	link_remove(&e->in_bin);
	e->is_queued = false;
	return e;
}

struct match_entry *match_arrive(struct match_context *c, int32_t source, int32_t tag)
{
	struct match_bin *bin = find_bin(c, source);
	struct match_entry *named = bin ? first_receive(&bin->posted, tag) : NULL;
	struct match_entry *open;

	if (c->posted_any.next == &c->posted_any)
		return named ? take_receive(named) : NULL;
	open = first_receive(&c->posted_any, tag);
	if (!named && !open)
		return NULL;
	if (!named || (open && open->posted_at < named->posted_at))
		return take_receive(open);
	return take_receive(named);
}

int match_store(struct match_context *c, struct match_entry *e)
{
	struct match_bin *bin = make_bin(c, e->source);

	if (!bin)
		return -ENOMEM;
	link_append(&bin->unexpected, &e->in_bin);
	link_append(&c->unexpected, &e->in_order);
	e->is_queued = true;
	return 0;
}

struct match_entry *match_peek(struct match_context *c, int32_t source, int32_t tag)
{
	const struct match_bin *bin;

	if (source == MATCH_ANY_SOURCE) {
		for (struct match_link *l = c->unexpected.next; l != &c->unexpected; l = l->next) {
			struct match_entry *e = ENTRY_OF(l, in_order);

			if (tag_fits(tag, e->tag))
				return e;
		}
		return NULL;
	}
	bin = find_bin(c, source);
	if (!bin)
		return NULL;
	for (struct match_link *l = bin->unexpected.next; l != &bin->unexpected; l = l->next) {
		struct match_entry *e = ENTRY_OF(l, in_bin);

		if (tag_fits(tag, e->tag))
			return e;
	}
	return NULL;
}

void match_discard(struct match_entry *e)
{
	if (!e->is_queued)
		return;
	link_remove(&e->in_bin);
	link_remove(&e->in_order);
	e->is_queued = false;
}

struct match_entry *match_claim(struct match_context *c, int32_t source, int32_t tag)
{
	struct match_entry *e = match_peek(c, source, tag);

	if (!e)
		return NULL;
	match_discard(e);
	return e;
}

int match_post(struct match_context *c, struct match_entry *e)
{
	struct match_link *head = &c->posted_any;

	if (e->source != MATCH_ANY_SOURCE) {
		struct match_bin *bin = make_bin(c, e->source);

		if (!bin)
			return -ENOMEM;
		head = &bin->posted;
	}
	e->posted_at = c->next_post++;
	link_append(head, &e->in_bin);
	e->is_queued = true;
	return 0;
}

bool match_cancel(struct match_entry *e)
{
	if (!e->is_queued)
		return false;
	take_receive(e);
	return true;
}

struct match_entry *match_take_posted(struct match_context *c, int32_t source)
{
	struct match_bin *bin = find_bin(c, source);

	if (!bin || bin->posted.next == &bin->posted)
		return NULL;
	return take_receive(ENTRY_OF(bin->posted.next, in_bin));
}
