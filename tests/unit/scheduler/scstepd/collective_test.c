// SPDX-License-Identifier: BSD-3-Clause
/*
 * collective: whole jobs of hosts that meet, with the tree played by a queue of messages between
 * them.
 */
#include "scheduler/scstepd/collective.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

enum { HOSTS_MAX = 300 };

struct message {
	struct message *next;
	size_t from;
	bool is_to_all;
	json_t *head;
	size_t size;
	char *body;
};

struct tree { /* ours: what a host has sent */
	size_t here;
};

static struct message *queue, **queue_end = &queue;
static struct tree trees[HOSTS_MAX];
static struct collectives *tables[HOSTS_MAX];
static struct small_order small;
static struct worlds worlds;

static int enqueue(struct tree *tree, bool is_to_all, json_t *head, const void *body, size_t size)
{
	struct message *message = calloc(1, sizeof(*message));

	message->from = tree->here;
	message->is_to_all = is_to_all;
	message->head = head;
	message->size = size;
	message->body = calloc(1, size + 1);
	if (size)
		memcpy(message->body, body, size);
	*queue_end = message;
	queue_end = &message->next;
	return 0;
}

int tree_send(struct tree *tree, int64_t to, json_t *head, const void *body, size_t size)
{
	return enqueue(tree, true, head, body, size);
}

int tree_send_up(struct tree *tree, json_t *head, const void *body, size_t size)
{
	return enqueue(tree, false, head, body, size);
}

/* Passes on all messages, and what comes of them. */
static void run(void)
{
	while (queue) {
		struct message *message = queue;

		queue = message->next;
		if (!queue)
			queue_end = &queue;
		if (message->is_to_all)
			for (size_t i = 0; i < small.order.n_hosts; i++)
				is_int(collective_told(tables[i], message->head, message->body,
						       message->size),
				       0);
		else
			is_int(collective_combine(
				       tables[tree_parent(message->from)],
				       json_string_value(json_object_get(message->head, "op")),
				       message->from, message->head, message->body, message->size),
			       0);
		json_decref(message->head);
		free(message->body);
		free(message);
	}
}

static void begin(size_t n_hosts, uint32_t each)
{
	small_order_init(&small, n_hosts, each);
	worlds_init(&worlds, &small.order);
	for (size_t i = 0; i < n_hosts; i++) {
		trees[i].here = i;
		tables[i] = collective_open(&worlds, i, &trees[i]);
	}
}

static void end(void)
{
	for (size_t i = 0; i < small.order.n_hosts; i++)
		collective_close(tables[i]);
	worlds_fini(&worlds);
	small_order_fini(&small);
}

struct result {
	int count, error;
	char data[4096];
};

static void met(int error, const char *data, size_t size, void *arg)
{
	struct result *result = arg;

	result->count++;
	result->error = error;
	snprintf(result->data, sizeof(result->data), "%.*s", (int)size, size ? data : "");
}

static char *set_of(const struct collective_rank *ranks, size_t n)
{
	struct collective_rank copy[16];

	memcpy(copy, ranks, n * sizeof(*ranks));
	return collective_set(&worlds, copy, n);
}

TAP_TEST(collective_set__the_same_whatever_the_order)
{
	static const struct collective_rank one[] = {{0, 3}, {0, 1}, {0, 2}, {0, 7}};
	static const struct collective_rank other[] = {{0, 7}, {0, 2}, {0, 1}, {0, 3}, {0, 3}};
	static const struct collective_rank all[] = {{0, 1}, {0, 0}, {0, 2}, {0, 3},
						     {0, 4}, {0, 5}, {0, 6}, {0, 7}};
	static const struct collective_rank wildcard[] = {{0, COLLECTIVE_ALL_RANKS}};
	static const struct collective_rank strange[] = {{0, 8}}, unknown[] = {{1, 0}};
	char *text;

	begin(2, 4);
	text = set_of(one, 4);
	is_str(text, "0:1-3,7");
	free(text);
	text = set_of(other, 5);
	is_str(text, "0:1-3,7");
	free(text);
	text = set_of(all, 8);
	is_str(text, "0");
	free(text);
	text = set_of(wildcard, 1);
	is_str(text, "0");
	free(text);
	ok(!set_of(strange, 1));
	ok(!set_of(unknown, 1));
	end();
}

TAP_TEST(collective_join__all_hosts_of_every_size)
{
	static const size_t sizes[] = {1, 2, 3, 17, 18, 290};
	struct result results[HOSTS_MAX];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(results, 0, sizeof(results));
		begin(sizes[i], 1);
		/* The last first: children before their parents. */
		for (size_t host = sizes[i]; host-- > 0;) {
			ok(!results[0].count);
			is_int(collective_join(tables[host], OP_FENCE, "0", "x", 1, met,
					       &results[host]),
			       0);
			run();
		}
		for (size_t host = 0; host < sizes[i]; host++) {
			is_int(results[host].count, 1);
			is_int(strlen(results[host].data), sizes[i]);
		}
		end();
	}
}

TAP_TEST(collective_join__many_at_once)
{
	struct result results[3][3] = {0}, subset[2] = {0}, barrier[3] = {0};

	begin(3, 1);
	for (size_t host = 0; host < 3; host++)
		for (int k = 0; k < 3; k++) {
			char data[8];

			snprintf(data, sizeof(data), "%d", k);
			collective_join(tables[host], OP_FENCE, "0", data, 1, met,
					&results[host][k]);
		}
	/* Another kind, and a set without the root. */
	for (size_t host = 1; host < 3; host++)
		collective_join(tables[host], OP_FENCE, "0:1-2", "s", 1, met, &subset[host - 1]);
	for (size_t host = 0; host < 3; host++)
		collective_join(tables[host], OP_BARRIER, "0", "b", 1, met, &barrier[host]);
	run();
	for (size_t host = 0; host < 3; host++) {
		is_str(results[host][0].data, "000");
		is_str(results[host][1].data, "111");
		is_str(results[host][2].data, "222");
		is_str(barrier[host].data, "bbb");
	}
	is_str(subset[0].data, "ss");
	is_str(subset[1].data, "ss");
	end();
}

TAP_TEST(collective_join__more_data_than_fits)
{
	struct result results[2] = {0};
	char *much = calloc(1, COLLECTIVE_DATA_MAX);

	begin(2, 1);
	collective_join(tables[0], OP_FENCE, "0", much, COLLECTIVE_DATA_MAX, met, &results[0]);
	collective_join(tables[1], OP_FENCE, "0", much, 1, met, &results[1]);
	run();
	is_int(results[0].error, EMSGSIZE);
	is_int(results[1].error, EMSGSIZE);
	free(much);
	end();
}

TAP_TEST(collective_join__sets_that_make_no_sense)
{
	static const char *const wrong[] = {
		"",      "x",  "7",    "0:", "0:5",  "0:1-", "0:1-0",
		"0:0-9", "0;", "0:0,", "0 ", "0:-1", "-1",   "0:99999999999999999999"};
	struct result result = {0};

	begin(2, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		okf(collective_join(tables[0], OP_FENCE, wrong[i], NULL, 0, met, &result) ==
			    -EINVAL,
		    "%s", wrong[i]);
	/* Sensible, but no rank of it is here. */
	is_int(collective_join(tables[0], OP_FENCE, "0:1", NULL, 0, met, &result), -EINVAL);
	is_int(result.count, 0);
	end();
}

TAP_TEST(collective_combine__children_that_lie)
{
	json_t *head = json_pack("{s:s, s:I}", "set", "0", "serial", (json_int_t)0);
	json_t *bare = json_object(), *foreign;

	begin(3, 1);
	is_int(collective_combine(tables[0], OP_FENCE, 1, bare, "", 0), -EPROTO);
	is_int(collective_combine(tables[0], OP_FENCE, 1, head, "", 0), 0);
	/* Twice, and from a host that is no child. */
	is_int(collective_combine(tables[0], OP_FENCE, 1, head, "", 0), -EPROTO);
	is_int(collective_combine(tables[0], OP_FENCE, 50, head, "", 0), -EPROTO);
	foreign = json_pack("{s:s, s:I}", "set", "0:0-1", "serial", (json_int_t)0);
	is_int(collective_combine(tables[0], OP_FENCE, 2, foreign, "", 0), -EPROTO);
	is_int(collective_told(tables[1], bare, "", 0), -EPROTO);
	/* The end of a collective that nobody here went to. */
	json_object_set_new(head, "kind", json_string(OP_FENCE));
	is_int(collective_told(tables[1], head, "", 0), -EPROTO);
	json_decref(head);
	json_decref(bare);
	json_decref(foreign);
	end();
}
