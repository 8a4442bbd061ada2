/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * match - MPI message matching: posted receives against arrived messages.
 *
 * Pure: knows no MPI header, no network, no lock, no buffer. Both sides are struct match_entry
 * embedded in the caller's objects; memory of entries stays the caller's. An envelope is (context,
 * source, tag); a receive may leave source and tag open. Order is MPI's: a message takes the
 * receive posted first among those that fit, a receive the message that arrived first.
 *
 * Receives with a given source and all messages hang in a bin per (context, source); receives from
 * any source in one list per context. A post sequence number decides between the two, so the common
 * case looks at one list head. Caller: one thread at a time.
 */
#ifndef MPI_GLUE_MATCH_H
#define MPI_GLUE_MATCH_H

#include "mpi-glue/common/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Open source and open tag of a receive; the values of MPI_ANY_SOURCE and MPI_ANY_TAG in Open MPI.
 */
#define MATCH_ANY_SOURCE (-1)
#define MATCH_ANY_TAG (-1)

/* One link of a circular list; its head is a link as well. */
struct match_link {
	struct match_link *next; /* itself when the list is empty */
	struct match_link *prev; /* itself when the list is empty */
};

/* A posted receive or an arrived message. */
struct match_entry {
	struct match_link in_bin;   /* place in its bin, or in the list of open-source receives */
	struct match_link in_order; /* messages only: place among all messages of the context */
	int32_t source;             /* rank in the communicator, or MATCH_ANY_SOURCE */
	int32_t tag;                /* negative tags other than MATCH_ANY_TAG are Open MPI's own */
	uint64_t posted_at;         /* receives only: post sequence number in the context */
	bool is_queued;             /* waits in a list of the context */
};

/* The queues of one source rank of a context. */
struct match_bin {
	struct match_link posted;     /* receives from this source, oldest first */
	struct match_link unexpected; /* messages of this source, oldest first */
};

/* The queues of one communicator. */
struct match_context {
	uint32_t id;                  /* context id */
	struct table bins;            /* source rank -> struct match_bin, made at first use */
	struct match_link posted_any; /* receives from any source, oldest first */
	struct match_link unexpected; /* all messages, oldest first */
	uint64_t next_post;           /* sequence number of the next posted receive */
	struct match_bin *last_bin;   /* the bin looked up last, NULL at first */
	int32_t last_source;          /* whose bin that is */
};

struct match {
	struct table contexts;      /* context id -> struct match_context */
	struct match_context *last; /* the context looked up last, NULL: none */
};

void match_init(struct match *m);
/* Calls @drop (may be NULL) for every entry still queued, then frees all contexts. */
void match_fini(struct match *m, void (*drop)(void *arg, struct match_entry *e, bool is_message),
		void *arg);

/* The context, made if new; NULL when out of memory. */
struct match_context *match_context(struct match *m, uint32_t id);
/* Forgets a context as match_fini does; nothing happens if there is none. */
void match_drop_context(struct match *m, uint32_t id,
			void (*drop)(void *arg, struct match_entry *e, bool is_message), void *arg);

/* A message arrived: takes out and returns the receive it belongs to, NULL if none is posted. */
struct match_entry *match_arrive(struct match_context *c, int32_t source, int32_t tag);
/*
 * The same for the most common case, inline: another message of the last source in the last
 * context, for the oldest receive posted there. NULL: not that case; match_arrive decides.
 */
static inline struct match_entry *match_arrive_again(const struct match *m, uint32_t id,
						     int32_t source, int32_t tag)
{
	const struct match_context *c = m->last;
	struct match_link *first;
	struct match_entry *e;

	if (!c || c->id != id || !c->last_bin || c->last_source != source ||
	    c->posted_any.next != &c->posted_any)
		return NULL;
	first = c->last_bin->posted.next;
	e = (struct match_entry *)((char *)first - offsetof(struct match_entry, in_bin));
	if (first == &c->last_bin->posted || e->tag != tag)
		return NULL;
	first->prev->next = first->next;
	first->next->prev = first->prev;
	e->is_queued = false;
	return e;
}
/* Queues a message that matched nothing; @e has source and tag set. 0 or -ENOMEM. */
int match_store(struct match_context *c, struct match_entry *e);

/* A receive starts (or a matched probe): takes out and returns its message, NULL if none came. */
struct match_entry *match_claim(struct match_context *c, int32_t source, int32_t tag);
/* Whether any message waits: if not, match_claim finds nothing. */
static inline bool match_has_messages(const struct match_context *c)
{
	return c->unexpected.next != &c->unexpected;
}
/* Queues a receive that found nothing; @e has source and tag set. 0 or -ENOMEM. */
int match_post(struct match_context *c, struct match_entry *e);
/* The message match_claim would take; it stays queued. */
struct match_entry *match_peek(struct match_context *c, int32_t source, int32_t tag);

/* Takes a queued receive out; false if it has been matched already. */
bool match_cancel(struct match_entry *e);

/* Takes a queued message out; nothing happens if it has been claimed. */
void match_discard(struct match_entry *e);

/* Takes out and returns the oldest receive posted for exactly @source, NULL if none. */
struct match_entry *match_take_posted(struct match_context *c, int32_t source);

#endif
