/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlist - circular doubly linked list through a member of its elements. An element that is on no
 * list points to itself, so that leaving one is always allowed.
 */
#ifndef PM_CHANNEL_DLIST_H
#define PM_CHANNEL_DLIST_H

#include <stdbool.h>
#include <stddef.h>

struct dlist {
	struct dlist *prev; /* the head itself when empty */
	struct dlist *next;
};

#define dlist_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void dlist_init(struct dlist *link)
{
	link->prev = link;
	link->next = link;
}

static inline bool dlist_is_empty(const struct dlist *link)
{
	return link->next == link;
}

static inline void dlist_del(struct dlist *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	dlist_init(link);
}

static inline void dlist_add_tail(struct dlist *head, struct dlist *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

static inline void dlist_add_head(struct dlist *head, struct dlist *link)
{
	dlist_add_tail(head->next, link);
}

/* Moves all of @from to the end of @to. */
static inline void dlist_splice_tail(struct dlist *to, struct dlist *from)
{
	if (dlist_is_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	dlist_init(from);
}

#endif
