// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree - the links to the parent and the children, and which host gets which message. Messages for
 * this host go through a queue, so that no caller is called back from within the function that it
 * called.
 */
#include "scheduler/scstepd/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/letters.h"

struct branch {
	struct tree *tree;
	struct branch *next; /* pending: not joined yet */
	struct link *link;   /* NULL: not there yet, or lost */
	size_t host;         /* children: known when joined */
	bool is_awaited;     /* has not joined, or we not it: what is sent there waits */
	struct letters letters;
};

#define TO_PARENT -2

enum phase {
	PHASE_OPEN,
	PHASE_HELD,
	PHASE_LEAVING, /* held, and all were told to part: children may close their links */
	PHASE_PARTING, /* as soon as no child has a link, the one to the parent goes */
	PHASE_PARTED,
};

struct tree {
	struct ev_loop *loop;
	struct auth *auth;
	enum phase phase;
	const struct order *order;
	const struct tree_events *events;
	void *owner;
	size_t here, n;
	struct branch parent;
	struct branch children[TREE_FANOUT];
	struct branch *pending;
	size_t n_joined, n_children;
	bool has_parent; /* it is ready */
	bool may_retry;  /* it was there before, so it can only be late */
	ev_timer limit;
	ev_timer deliver, parted;
	ev_timer retry;       /* the parent's host may have lost the one that hands us on */
	struct letters local; /* for ourselves */
	struct letters held;  /* to a host, TREE_ALL or TO_PARENT */
};

static bool is_combined(const char *op)
{
	return !strcmp(op, OP_FENCE) || !strcmp(op, OP_BARRIER) || !strcmp(op, OP_CONNECT) ||
	       !strcmp(op, OP_DISCONNECT) || !strcmp(op, OP_STOOD);
}

static void on_deliver(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct tree *tree = watcher->data;

	/* Only what is there now: an answer to oneself must not shut out the sockets. */
	struct letter *letter;
	struct letter *const *end = tree->local.last;
	bool is_last = false;

	while (!is_last && (letter = letters_take(&tree->local))) {
		is_last = &letter->next == end;
		tree->events->message(json_string_value(json_object_get(letter->head, "op")),
				      tree->here, letter->head, letter->body, letter->size,
				      tree->owner);
		letters_free(letter);
	}
	if (tree->local.first)
		ev_feed_event(loop, watcher, EV_CUSTOM);
}

static int deliver(struct tree *tree, json_t *head, const void *body, size_t size)
{
	if (!tree->local.first)
		ev_feed_event(tree->loop, &tree->deliver, EV_CUSTOM);
	return letters_keep(&tree->local, 0, head, body, size);
}

static struct branch *branch_to(struct tree *tree, size_t host)
{
	size_t first = tree_first_child(tree->here);

	if (host >= first && host < first + TREE_FANOUT)
		return &tree->children[host - first];
	return tree->here && host == tree_parent(tree->here) ? &tree->parent : NULL;
}

static int send_to(struct branch *branch, json_t *head, const void *body, size_t size)
{
	if (branch && branch->is_awaited)
		return letters_keep(&branch->letters, 0, head, body, size);
	if (branch && branch->link)
		return link_send(branch->link, head, body, size);
	json_decref(head);
	return -EPIPE;
}

static int send_down(struct tree *tree, json_t *head, const void *body, size_t size)
{
	int rc = 0;

	for (size_t i = 0; i < TREE_FANOUT; i++) {
		int failed = send_to(&tree->children[i], json_incref(head), body, size);

		/* A link that is ending says so itself. */
		if (failed && failed != -EPIPE)
			rc = failed;
	}
	json_decref(head);
	return rc;
}

/* Of the collective after which all part. */
static bool is_farewell(const json_t *head)
{
	const char *op = json_string_value(json_object_get(head, "op"));
	const char *kind = json_string_value(json_object_get(head, "kind"));

	return kind && !strcmp(kind, OP_STOOD) && (!strcmp(op, OP_STOOD) || !strcmp(op, OP_FENCED));
}

static bool waits(struct tree *tree, const json_t *head)
{
	if (tree->phase == PHASE_OPEN)
		return false;
	if (tree->phase != PHASE_HELD || !is_farewell(head))
		return true;
	/* The root tells it: from now on children may go. */
	if (!tree->here)
		tree->phase = PHASE_LEAVING;
	return false;
}

int tree_send(struct tree *tree, int64_t to, json_t *head, const void *body, size_t body_size)
{
	if (!head)
		return -ENOMEM;
	if (to != TREE_ALL && (to < 0 || (size_t)to >= tree->n)) {
		json_decref(head);
		return -EINVAL;
	}
	if (json_object_set_new(head, "from", json_integer((json_int_t)tree->here)) ||
	    json_object_set_new(head, "to", json_integer(to))) {
		json_decref(head);
		return -ENOMEM;
	}
	if (to == (int64_t)tree->here)
		return deliver(tree, head, body, body_size);
	if (waits(tree, head))
		return letters_keep(&tree->held, to, head, body, body_size);
	if (to != TREE_ALL)
		return send_to(branch_to(tree, tree_toward(tree->here, (size_t)to)), head, body,
			       body_size);
	if (tree->here) {
		json_decref(head);
		return -EINVAL;
	}
	send_down(tree, json_incref(head), body, body_size);
	return deliver(tree, head, body, body_size);
}

int tree_send_up(struct tree *tree, json_t *head, const void *body, size_t body_size)
{
	if (!head)
		return -ENOMEM;
	if (!tree->here) {
		json_decref(head);
		return -EINVAL;
	}
	if (waits(tree, head))
		return letters_keep(&tree->held, TO_PARENT, head, body, body_size);
	return send_to(&tree->parent, head, body, body_size);
}

/*
 * The way of a message is checked before it is followed: who is at a link speaks only for his own
 * part of the tree.
 */
static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct branch *branch = owner;
	struct tree *tree = branch->tree;
	bool is_from_parent = branch == &tree->parent;
	const json_t *j_from = json_object_get(head, "from"), *j_to = json_object_get(head, "to");
	json_int_t from = json_integer_value(j_from), to = json_integer_value(j_to);
	struct branch *next;

	if (is_combined(op) && !is_from_parent) {
		tree->events->combine(op, branch->host, head, body, body_size, tree->owner);
		return;
	}
	if (!json_is_integer(j_from) || !json_is_integer(j_to) || from < 0 ||
	    (size_t)from >= tree->n || to < TREE_ALL || to >= (json_int_t)tree->n ||
	    (to == TREE_ALL && !is_from_parent)) {
		tree->events->lost(branch->host, "it sent a message that makes no sense",
				   tree->owner);
		return;
	}
	if (to == TREE_ALL) {
		if (tree->phase == PHASE_HELD && is_farewell(head))
			tree->phase = PHASE_LEAVING;
		send_down(tree, json_incref(head), body, body_size);
	}
	if (to == TREE_ALL || (size_t)to == tree->here) {
		tree->events->message(op, (size_t)from, head, body, body_size, tree->owner);
		return;
	}
	next = branch_to(tree, tree_toward(tree->here, (size_t)to));
	/* -EPIPE: that host is being lost, which ends the job. */
	if (next != branch)
		send_to(next, json_incref(head), body, body_size);
}

static bool is_leaving(const struct tree *tree)
{
	return tree->phase == PHASE_LEAVING || tree->phase == PHASE_PARTING;
}

static void check_parted(struct tree *tree)
{
	if (tree->phase != PHASE_PARTING || tree->n_joined)
		return;
	tree->phase = PHASE_PARTED;
	/* Nothing is on its way there: the outcome that came from there was behind all of ours. */
	if (tree->parent.link)
		link_close(tree->parent.link, 0);
	tree->parent.link = NULL;
	/* Children that join before we do may have something for it. */
	tree->parent.is_awaited = tree->here > 0;
	tree->has_parent = false;
	ev_feed_event(tree->loop, &tree->parted, EV_CUSTOM);
}

static void on_parted(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct tree *tree = watcher->data;

	tree->events->parted(tree->owner);
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct branch *branch = owner;
	struct tree *tree = branch->tree;

	branch->link = NULL;
	if (branch == &tree->parent && branch->is_awaited && tree->may_retry) {
		ev_timer_again(tree->loop, &tree->retry);
		return;
	}
	if (branch != &tree->parent)
		tree->n_joined--;
	if (branch != &tree->parent && is_leaving(tree)) {
		branch->is_awaited = true;
		check_parted(tree);
		return;
	}
	tree->events->lost(branch->host, why, tree->owner);
}

static void on_drained(struct link *link, void *owner)
{
	struct branch *branch = owner;

	if (branch == &branch->tree->parent)
		branch->tree->events->drained(branch->tree->owner);
}

static void check_joined(struct tree *tree)
{
	if (tree->n_joined < tree->n_children || !tree->has_parent)
		return;
	ev_timer_stop(tree->loop, &tree->limit);
	tree->events->joined(tree->owner);
}

static void key_text(const struct tree *tree, char to[17])
{
	snprintf(to, 17, "%016" PRIx64, tree->order->key);
}

/* The link is there now. A failure is followed by closed(). */
static void send_kept(struct branch *branch)
{
	branch->is_awaited = false;
	for (struct letter *each = branch->letters.first; each; each = each->next)
		link_send(branch->link, json_incref(each->head), each->body, each->size);
	letters_drop(&branch->letters);
}

static void on_ready(struct link *link, void *owner)
{
	struct branch *branch = owner;
	struct tree *tree = branch->tree;

	if (link_uid(link) != getuid()) {
		tree->events->lost(branch->host, "somebody else answers there", tree->owner);
		return;
	}
	tree->has_parent = true;
	send_kept(branch);
	check_joined(tree);
}

/*
 * Goes out when the parent is known to be root or our user, and ahead of all that our children may
 * already want to be passed on. A failure is followed by closed().
 */
static void join_parent(struct tree *tree)
{
	char key[17];

	key_text(tree, key);
	link_send(tree->parent.link,
		  json_pack("{s:s, s:I, s:s, s:I}", "op", OP_JOIN, "id",
			    (json_int_t)tree->order->id, "key", key, "host",
			    (json_int_t)tree->here),
		  NULL, 0);
}

static const struct link_events branch_events = {.ready = on_ready,
						 .message = on_message,
						 .drained = on_drained,
						 .closed = on_closed};

static void forget_pending(struct branch *pending)
{
	struct branch **at = &pending->tree->pending;

	while (*at != pending)
		at = &(*at)->next;
	*at = pending->next;
	free(pending);
}

static void on_stranger_closed(struct link *link, int error, const char *why, void *owner)
{
	forget_pending(owner);
}

static void on_stranger_message(struct link *link, const char *op, json_t *head, const char *body,
				size_t body_size, void *owner)
{
	struct branch *pending = owner;
	struct tree *tree = pending->tree;
	const char *key = json_string_value(json_object_get(head, "key"));
	json_int_t id = json_integer_value(json_object_get(head, "id"));
	json_int_t host = json_integer_value(json_object_get(head, "host"));
	struct branch *child = NULL;
	char own[17], why[256];
	int said = messages_check(MESSAGES_SCSTEPD_TO_SCSTEPD, head, why, sizeof(why));

	key_text(tree, own);
	if (said == ON_JOIN && !strcmp(key, own) && id == (json_int_t)tree->order->id && host > 0 &&
	    (size_t)host < tree->n && tree_parent((size_t)host) == tree->here)
		child = branch_to(tree, (size_t)host);
	forget_pending(pending);
	if (!child || !child->is_awaited) {
		link_close(link, 0);
		return;
	}
	child->link = link;
	link_set(link, &branch_events, child);
	tree->n_joined++;
	send_kept(child);
	check_joined(tree);
}

static const struct link_events pending_events = {.message = on_stranger_message,
						  .closed = on_stranger_closed};

void tree_enter(struct tree *tree, struct link *link)
{
	struct branch *pending = calloc(1, sizeof(*pending));

	if (!pending) {
		link_close(link, 0);
		return;
	}
	*pending = (struct branch){.tree = tree, .next = tree->pending, .link = link};
	tree->pending = pending;
	link_set(link, &pending_events, pending);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct tree *tree = watcher->data;
	size_t missing = tree_parent(tree->here ? tree->here : 1);

	for (size_t i = 0; tree->has_parent && i < tree->n_children; i++)
		if (!tree->children[i].link) {
			missing = tree->children[i].host;
			break;
		}
	tree->events->lost(missing, "it did not come in time", tree->owner);
}

/* Until it has said who it is, messages to it wait. 0 or -ENOMEM. */
static int connect_to_parent(struct tree *tree)
{
	const struct order *order = tree->order;
	size_t host = tree_parent(tree->here);

	tree->parent.is_awaited = true;
	tree->parent.host = host;
	tree->parent.link = link_connect(tree->loop, tree->auth, order->hosts[host].address,
					 order->id, "scstepd", (uid_t)-1, &branch_events,
					 &tree->parent);
	if (!tree->parent.link)
		return -ENOMEM;
	join_parent(tree);
	return 0;
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct tree *tree = watcher->data;

	ev_timer_stop(loop, watcher);
	if (connect_to_parent(tree))
		tree->events->lost(tree->parent.host, strerror(ENOMEM), tree->owner);
}

/* 0 or -ENOMEM. */
static int join(struct tree *tree)
{
	if (!tree->here)
		tree->has_parent = true;
	else if (connect_to_parent(tree))
		return -ENOMEM;
	if (tree->n > 1) {
		ev_timer_set(&tree->limit, tree->may_retry ? TREE_RETURN_S : TREE_JOIN_S, 0);
		ev_timer_start(tree->loop, &tree->limit);
	}
	/* children may have come back before us */
	if (!tree->here && tree->n_joined)
		check_joined(tree);
	return 0;
}

struct tree *tree_open(struct ev_loop *loop, struct auth *auth, const struct order *order,
		       const struct tree_events *events, void *owner)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	size_t first;

	if (!tree)
		return NULL;
	tree->loop = loop;
	tree->auth = auth;
	tree->order = order;
	tree->events = events;
	tree->owner = owner;
	tree->here = order->here;
	tree->n = order->n_hosts;
	letters_init(&tree->local);
	letters_init(&tree->held);
	letters_init(&tree->parent.letters);
	first = tree_first_child(tree->here);
	for (size_t i = 0; i < TREE_FANOUT; i++) {
		tree->children[i] = (struct branch){
			.tree = tree, .host = first + i, .is_awaited = first + i < tree->n};
		letters_init(&tree->children[i].letters);
		tree->n_children += first + i < tree->n;
	}
	ev_timer_init(&tree->limit, on_limit, TREE_JOIN_S, 0);
	tree->limit.data = tree;
	ev_timer_init(&tree->deliver, on_deliver, 0, 0);
	tree->deliver.data = tree;
	ev_timer_init(&tree->parted, on_parted, 0, 0);
	tree->parted.data = tree;
	tree->parent.tree = tree;
	ev_timer_init(&tree->retry, on_retry, TREE_RETRY_S, TREE_RETRY_S);
	tree->retry.data = tree;
	if (join(tree)) {
		free(tree);
		return NULL;
	}
	return tree;
}

void tree_hold(struct tree *tree)
{
	tree->phase = PHASE_HELD;
}

void tree_part(struct tree *tree)
{
	tree->phase = PHASE_PARTING;
	check_parted(tree);
}

/* Messages that have waited; a failure is followed by closed() of a link. */
static void send_held(struct tree *tree)
{
	struct letters held = tree->held;
	struct letter *letter;

	letters_init(&tree->held);
	while ((letter = letters_take(&held))) {
		json_t *head = json_incref(letter->head);

		if (letter->to == TO_PARENT)
			tree_send_up(tree, head, letter->body, letter->size);
		else
			tree_send(tree, letter->to, head, letter->body, letter->size);
		letters_free(letter);
	}
}

void tree_release(struct tree *tree)
{
	if (tree->phase != PHASE_HELD)
		return;
	tree->phase = PHASE_OPEN;
	send_held(tree);
}

int tree_go_on(struct tree *tree, const struct order *order)
{
	bool was_parted = tree->phase == PHASE_PARTED;

	tree->order = order;
	tree->phase = PHASE_OPEN;
	tree->may_retry = was_parted;
	if (was_parted && join(tree))
		return -ENOMEM;
	send_held(tree);
	return 0;
}

size_t tree_children(const struct tree *tree)
{
	size_t n = tree->n_joined;

	for (size_t i = 0; i < tree->n_children; i++)
		n += tree->children[i].is_awaited;
	return n;
}

bool tree_is_full(const struct tree *tree)
{
	return tree->parent.link && link_is_full(tree->parent.link);
}

void tree_close(struct tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < TREE_FANOUT; i++) {
		if (tree->children[i].link)
			link_close(tree->children[i].link, 1.0);
		letters_drop(&tree->children[i].letters);
	}
	if (tree->parent.link)
		link_close(tree->parent.link, 1.0);
	letters_drop(&tree->parent.letters);
	while (tree->pending) {
		struct branch *pending = tree->pending;

		tree->pending = pending->next;
		link_close(pending->link, 0);
		free(pending);
	}
	letters_drop(&tree->local);
	letters_drop(&tree->held);
	ev_timer_stop(tree->loop, &tree->limit);
	ev_timer_stop(tree->loop, &tree->retry);
	ev_clear_pending(tree->loop, &tree->deliver);
	ev_clear_pending(tree->loop, &tree->parted);
	free(tree);
}
