/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * takeover_private - the nodes that were taken over, shared by takeover.c (how a node changes its
 * link), takeover_queue.c (what waits), takeover_frame.c (what goes between the two ends) and
 * takeover_state.c (stopping, saving, observing).
 */
#ifndef PM_DEVICE_TAKEOVER_PRIVATE_H
#define PM_DEVICE_TAKEOVER_PRIVATE_H

#include "pmcore/device/takeover.h"

#define TAKEOVER_OPS 32 /* operations of the old link started again at once */

/* A message on its way out: lent to the program, or queued. */
struct taken_out {
	struct taken_out *next;
	uint64_t number; /* UINT64_MAX: not given yet */
	uint32_t len;    /* bytes */
	uint32_t sent;   /* of them */
	bool is_carried; /* not the user's, and short */
	uint8_t bytes[];
};

/* A received part that waits for the old link to be left, or a received message for the program. */
struct taken_in {
	struct taken_in *next;
	struct taken_in **at; /* where it is linked while the program has it */
	uint32_t src;
	uint32_t len;
	uint8_t *data;
	int slot;        /* of the link that lent it, -1 = it is in bytes */
	bool is_carried; /* not for the user */
	uint64_t cookie; /* of that link */
	uint8_t bytes[];
};

struct taken_in_list {
	struct taken_in *head, **tail;
};

/* The message that is put together from parts. */
struct taken_parts {
	struct taken_in *message; /* NULL: none, or it is not wanted */
	uint64_t number;
	uint32_t left; /* bytes to come, 0 = none */
};

/* A node that was taken over: the peer of this link. */
struct taken {
	struct taken *next_taken; /* all of the takeover */
	struct takeover *takeover;
	struct composite_node *node;
	struct composite_slot *from, *to;
	struct pm_link_peer *from_peer, *to_peer;
	bool is_leaving;  /* the old link has not given all yet */
	bool is_marked;   /* our mark has been sent */
	bool is_answered; /* theirs has come: the other end has left the old link */
	bool is_dying;    /* to be reported */
	bool is_dead;
	uint64_t next;                     /* number of our next message */
	uint64_t expected;                 /* number of theirs */
	struct taken_out *lent;            /* to the program */
	struct taken_out *out, **out_tail; /* queued */
	uint32_t n_out;                    /* of both */
	struct taken_in_list waiting;      /* parts that came while leaving */
	struct taken_parts parts;
	struct pm_unfinished ops[TAKEOVER_OPS]; /* of the old link */
	uint32_t again[TAKEOVER_OPS];           /* the new link's names of them, 0 = not started */
	uint32_t n_ops;
	bool has_ops;  /* the old link may have some */
	char why[160]; /* the old link's reason */
};

struct takeover {
	struct pm_link base;
	struct composite *c;
	struct stats_link *stats;
	struct taken *all;
	struct taken_in_list ready; /* for the program */
	struct taken_in *given;     /* the program has them */
	bool is_stopped;
};

static inline struct takeover *takeover_of(struct pm_link *link)
{
	return (struct takeover *)link;
}

static inline struct taken *taken_of(struct pm_link_peer *peer)
{
	return (struct taken *)peer;
}

/* takeover_frame.c: sends the mark and what is queued; true when something went. */
bool takeover_send(struct taken *t);
/* Takes a part of a message, or a mark: 0, -EBADMSG, -ENOMEM. Whatever it gives, @in is used up. */
int takeover_take(struct taken *t, struct taken_in *in);
/* The name of the link in a mark, or NULL: it is none. Room for CONF_NAME_MAX. */
const char *takeover_mark(const void *data, uint32_t len, char *name);

static inline void taken_in_init(struct taken_in_list *list)
{
	list->head = NULL;
	list->tail = &list->head;
}

static inline void taken_in_add(struct taken_in_list *list, struct taken_in *in)
{
	in->next = NULL;
	*list->tail = in;
	list->tail = &in->next;
}

static inline struct taken_in *taken_in_take(struct taken_in_list *list)
{
	struct taken_in *in = list->head;

	if (in && !(list->head = in->next))
		list->tail = &list->head;
	return in;
}

/* takeover_queue.c */
/* A message of @len bytes that goes out; NULL: no memory. Then: it is queued. */
struct taken_out *takeover_out(struct taken *t, uint32_t len);
void takeover_enqueue(struct taken *t, struct taken_out *out);
/* Room for @room bytes that come from @src; NULL: no memory. */
struct taken_in *takeover_in(uint32_t src, uint32_t room);
/* Gives back what @in lies in. */
void takeover_drop_in(struct takeover *tk, struct taken_in *in);
/* Forgets what waits to go out or to be put together. */
void takeover_drop_queues(struct taken *t);
void takeover_drop_list(struct takeover *tk, struct taken_in_list *list);

/* takeover.c: the node goes by slot @to from now on. -ENOMEM: it does not. */
int takeover_enter(struct composite *c, struct composite_node *n, unsigned int to,
		   struct pm_link_peer *to_peer, const char *why);
/* It can't go on: receive() tells the program. */
void takeover_kill(struct taken *t, const char *why);

/* takeover_link.c: whether anything of the node waits to be done. */
bool takeover_is_busy(const struct taken *t);
extern const struct pm_link_ops takeover_ops;

/* takeover_state.c */
int takeover_quiesce(struct pm_link *link);
void takeover_resume(struct pm_link *link);
int takeover_save(struct pm_link *link, void *buf, size_t room);
int takeover_restore(struct pm_link *link, const void *buf, size_t len,
		     int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		     void *arg);
int takeover_dump(struct pm_link *link, char *buf, size_t room);
uint64_t takeover_memory(struct pm_link *link);

#endif
