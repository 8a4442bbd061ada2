/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree - the scstepds of one job as one tree: host 0 is the root, the children of host i are
 * i*TREE_FANOUT + 1 and the following. A child connects to its parent's host port. Messages are
 * passed on by index; who they are for is decided by tree_toward(). Loss of any link is the loss of
 * that host, and the end of the job.
 */
#ifndef SCHEDULER_SCSTEPD_TREE_H
#define SCHEDULER_SCSTEPD_TREE_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/order.h"

#define TREE_FANOUT 16
#define TREE_ALL -1
#define TREE_JOIN_S 20.0 /* all hosts are there by then, or the job ends */
/*
 * The same after all have parted: each host writes its processes to disk meanwhile, and one may
 * have far more to write. scored tells that a host is lost.
 */
#define TREE_RETURN_S 600.0
#define TREE_RETRY_S 0.2 /* to a parent that was there before */

/* Pure part. */
static inline size_t tree_parent(size_t host)
{
	return (host - 1) / TREE_FANOUT;
}
static inline size_t tree_first_child(size_t host)
{
	return host * TREE_FANOUT + 1;
}
/* The neighbour of @here on the way to @to: a child or the parent. */
size_t tree_toward(size_t here, size_t to);
/* Hosts in the subtree of @host, itself included, of a tree of @n. */
size_t tree_size(size_t host, size_t n);

struct tree;
struct tree_events {
	void (*joined)(
		/* the parent and all children are there (their subtrees may not be yet) */
		void *owner);
	/* A message for this host (or for all). @from: index of the sender. */
	void (*message)(const char *op, size_t from, json_t *head, const char *body,
			size_t body_size, void *owner);
	/*
	 * A message that is combined on its way up (OP_FENCE, OP_BARRIER, OP_CONNECT,
	 * OP_DISCONNECT, OP_STOOD): from a child, never passed on by itself.
	 */
	void (*combine)(const char *op, size_t child, json_t *head, const char *body,
			size_t body_size, void *owner);
	void (*lost)(size_t host, const char *why, void *owner);
	void (*drained)(void *owner); /* the way up has room again */
	/* After tree_part(): no link is left. */
	void (*parted)(void *owner);
};

struct tree *tree_open(struct ev_loop *loop, struct auth *auth, const struct order *order,
		       const struct tree_events *events, void *owner);
/*
 * A connection whose role is "scstepd" was authenticated: the tree takes the link if it is
 * a child of ours.
 */
struct link;
void tree_enter(struct tree *tree, struct link *link);
/*
 * @to: a host or TREE_ALL (this host included). Takes the reference; "from" and "to" are set. 0 or
 * -errno.
 */
int tree_send(struct tree *tree, int64_t to, json_t *head, const void *body, size_t body_size);
/* To the parent, for combine(); at the root -EINVAL. */
int tree_send_up(struct tree *tree, json_t *head, const void *body, size_t body_size);
/*
 * The links of a whole tree go, with nothing lost, and come again: perhaps after the hosts'
 * programs were written to disk and started elsewhere. All hosts hold. Then they meet in a
 * collective of the kind OP_STOOD: as each link keeps the order of messages, whoever is told its
 * outcome has got all that was on its way to him. Then they part, from the leaves to the root.
 */
/* From now on our messages wait, but for collectives of that kind; others' are passed on. */
void tree_hold(struct tree *tree);
/* Those that have waited are sent after all, as the job ends; unless all were told to part. */
void tree_release(struct tree *tree);
/* The outcome of the collective was told, and all hosts part: parted() follows. */
void tree_part(struct tree *tree);
/*
 * After parted(): joins anew, by the addresses of @order, which has the same hosts in number.
 * joined() follows when parent and children are there, and what has waited is sent. Or nobody has
 * parted after all: what has waited is sent at once. 0 or -ENOMEM.
 */
int tree_go_on(struct tree *tree, const struct order *order);
/*
 * Children whose links are open, or who are still to join: who ends waits for them, for they stand
 * between us and their own children.
 */
size_t tree_children(const struct tree *tree);
/* Whether the way to the root is full: output of the ranks is not read meanwhile. */
bool tree_is_full(const struct tree *tree);
void tree_close(struct tree *tree);

#endif
