// SPDX-License-Identifier: BSD-3-Clause
/*
 * match: each rule of MPI matching by itself, then long random runs against a model that keeps two
 * plain lists and searches them from the front.
 */
#include "mpi-glue/common/match.h"
#include "tests/harness/tap.h"

#include <stdlib.h>
#include <string.h>

#define ANY MATCH_ANY_SOURCE

static struct match_entry entry(int32_t source, int32_t tag)
{
	return (struct match_entry){.source = source, .tag = tag};
}

static int dropped_receives, dropped_messages;

static void count_drop(void *arg, struct match_entry *e, bool is_message)
{
	if (is_message)
		dropped_messages++;
	else
		dropped_receives++;
	free(arg ? e : NULL);
}

TAP_TEST(match_arrive__nothing_posted)
{
	struct match m;
	struct match_context *c;

	match_init(&m);
	c = match_context(&m, 3);
	must(c);
	ok(match_context(&m, 3) == c);
	ok(match_arrive(c, 0, 0) == NULL);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_arrive__oldest_of_equal_receives)
{
	struct match m;
	struct match_context *c;
	struct match_entry r[3] = {entry(1, 5), entry(1, 5), entry(1, 5)};

	match_init(&m);
	c = match_context(&m, 0);
	for (int i = 0; i < 3; i++)
		is_int(match_post(c, &r[i]), 0);
	for (int i = 0; i < 3; i++)
		ok(match_arrive(c, 1, 5) == &r[i]);
	ok(match_arrive(c, 1, 5) == NULL);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_arrive__open_source_and_named_in_post_order)
{
	struct match m;
	struct match_context *c;
	struct match_entry r[4] = {entry(ANY, 5), entry(1, 5), entry(ANY, MATCH_ANY_TAG),
				   entry(1, MATCH_ANY_TAG)};

	match_init(&m);
	c = match_context(&m, 0);
	for (int i = 0; i < 4; i++)
		is_int(match_post(c, &r[i]), 0);
	ok(match_arrive(c, 2, 9) == &r[2]);
	ok(match_arrive(c, 1, 5) == &r[0]);
	ok(match_arrive(c, 1, 5) == &r[1]);
	ok(match_arrive(c, 1, 5) == &r[3]);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_arrive__internal_tags_skip_open_tags)
{
	struct match m;
	struct match_context *c;
	struct match_entry open = entry(ANY, MATCH_ANY_TAG), open1 = entry(1, MATCH_ANY_TAG);
	struct match_entry internal = entry(1, -17);

	match_init(&m);
	c = match_context(&m, 0);
	is_int(match_post(c, &open), 0);
	is_int(match_post(c, &open1), 0);
	ok(match_arrive(c, 1, -17) == NULL);
	is_int(match_post(c, &internal), 0);
	ok(match_arrive(c, 1, -17) == &internal);
	ok(match_arrive(c, 1, 0) == &open);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_claim__internal_messages_hidden_from_open_tags)
{
	struct match m;
	struct match_context *c;
	struct match_entry internal = entry(1, -17), user = entry(1, 4);

	match_init(&m);
	c = match_context(&m, 0);
	is_int(match_store(c, &internal), 0);
	is_int(match_store(c, &user), 0);
	ok(match_peek(c, ANY, MATCH_ANY_TAG) == &user);
	ok(match_claim(c, 1, MATCH_ANY_TAG) == &user);
	ok(match_claim(c, ANY, MATCH_ANY_TAG) == NULL);
	ok(match_claim(c, 1, -17) == &internal);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_claim__open_source_in_order_of_arrival)
{
	struct match m;
	struct match_context *c;
	struct match_entry msg[4] = {entry(3, 1), entry(1, 1), entry(2, 2), entry(3, 1)};

	match_init(&m);
	c = match_context(&m, 0);
	for (int i = 0; i < 4; i++)
		is_int(match_store(c, &msg[i]), 0);
	ok(match_peek(c, ANY, 1) == &msg[0]);
	ok(match_peek(c, ANY, 1) == &msg[0]);
	ok(match_claim(c, ANY, 2) == &msg[2]);
	ok(match_claim(c, 3, MATCH_ANY_TAG) == &msg[0]);
	ok(match_claim(c, ANY, MATCH_ANY_TAG) == &msg[1]);
	ok(match_claim(c, ANY, MATCH_ANY_TAG) == &msg[3]);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match__contexts_are_separate)
{
	struct match m;
	struct match_entry a = entry(1, 1), b = entry(1, 1);

	match_init(&m);
	is_int(match_post(match_context(&m, 1), &a), 0);
	is_int(match_post(match_context(&m, 0x10001), &b), 0);
	ok(match_arrive(match_context(&m, 2), 1, 1) == NULL);
	ok(match_arrive(match_context(&m, 0x10001), 1, 1) == &b);
	ok(match_arrive(match_context(&m, 1), 1, 1) == &a);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_cancel__queued_and_already_matched)
{
	struct match m;
	struct match_context *c;
	struct match_entry a = entry(1, 1), b = entry(ANY, 1), n = entry(1, 1);

	match_init(&m);
	c = match_context(&m, 0);
	is_int(match_post(c, &a), 0);
	is_int(match_post(c, &b), 0);
	is_int(match_post(c, &n), 0);
	ok(match_cancel(&a));
	ok(!match_cancel(&a));
	ok(match_arrive(c, 1, 1) == &b);
	ok(!match_cancel(&b));
	ok(match_arrive(c, 1, 1) == &n);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_take_posted__only_that_source)
{
	struct match m;
	struct match_context *c;
	struct match_entry a = entry(1, 1), b = entry(ANY, 1), d = entry(1, MATCH_ANY_TAG);

	match_init(&m);
	c = match_context(&m, 0);
	is_int(match_post(c, &a), 0);
	is_int(match_post(c, &b), 0);
	is_int(match_post(c, &d), 0);
	ok(match_take_posted(c, 2) == NULL);
	ok(match_take_posted(c, 1) == &a);
	ok(match_take_posted(c, 1) == &d);
	ok(match_take_posted(c, 1) == NULL);
	ok(match_arrive(c, 1, 1) == &b);
	match_fini(&m, NULL, NULL);
}

TAP_TEST(match_drop_context__hands_every_entry_back_once)
{
	struct match m;
	struct match_context *c;
	struct match_entry r[3] = {entry(1, 1), entry(ANY, 1), entry(2, 1)};
	struct match_entry msg[2] = {entry(1, 2), entry(9, 2)};

	dropped_receives = 0;
	dropped_messages = 0;
	match_init(&m);
	c = match_context(&m, 8);
	for (int i = 0; i < 3; i++)
		is_int(match_post(c, &r[i]), 0);
	for (int i = 0; i < 2; i++)
		is_int(match_store(c, &msg[i]), 0);
	match_drop_context(&m, 8, count_drop, NULL);
	is_int(dropped_receives, 3);
	is_int(dropped_messages, 2);
	ok(!match_cancel(&r[0]));
	match_drop_context(&m, 8, count_drop, NULL);
	is_int(dropped_receives, 3);
	ok(match_arrive(match_context(&m, 8), 1, 1) == NULL);
	match_fini(&m, count_drop, NULL);
	is_int(dropped_messages, 2);
}

/* The model: entries in order of coming, searched from the front. */
struct naive {
	struct match_entry *item[512]; /* oldest first */
	uint32_t context[512];         /* context id of each */
	int n;                         /* entries in use */
};

static bool fits(const struct match_entry *receive, int32_t source, int32_t tag)
{
	if (receive->source != MATCH_ANY_SOURCE && receive->source != source)
		return false;
	if (receive->tag == MATCH_ANY_TAG)
		return tag >= 0;
	return receive->tag == tag;
}

static void naive_remove(struct naive *l, int i)
{
	l->n--;
	memmove(&l->item[i], &l->item[i + 1], (size_t)(l->n - i) * sizeof(l->item[0]));
	memmove(&l->context[i], &l->context[i + 1], (size_t)(l->n - i) * sizeof(l->context[0]));
}

static void naive_add(struct naive *l, struct match_entry *e, uint32_t context)
{
	l->item[l->n] = e;
	l->context[l->n++] = context;
}

static int naive_find_receive(const struct naive *l, uint32_t context, int32_t source, int32_t tag)
{
	for (int i = 0; i < l->n; i++) {
		if (l->context[i] == context && fits(l->item[i], source, tag))
			return i;
	}
	return -1;
}

static int naive_find_message(const struct naive *l, uint32_t context,
			      const struct match_entry *receive)
{
	for (int i = 0; i < l->n; i++) {
		if (l->context[i] == context && fits(receive, l->item[i]->source, l->item[i]->tag))
			return i;
	}
	return -1;
}

static int32_t random_tag(uint64_t *state, bool is_receive)
{
	uint64_t n = tap_rand(state) % 8;

	if (n == 0 && is_receive)
		return MATCH_ANY_TAG;
	return n <= 1 ? -10 - (int32_t)(tap_rand(state) % 2) : (int32_t)(n % 4);
}

/* The state of one random run. */
struct run {
	struct match m;
	struct naive receives; /* model of the posted receives */
	struct naive messages; /* model of the unexpected messages */
	uint64_t state;        /* random generator */
	int sources;           /* number of ranks in use */
	int contexts;          /* number of context ids in use */
};

static void step_arrive(struct run *r, struct match_context *c, struct match_entry *e)
{
	int at;
	struct match_entry *got;

	e->source = (int32_t)(tap_rand(&r->state) % (uint64_t)r->sources);
	e->tag = random_tag(&r->state, false);
	at = naive_find_receive(&r->receives, c->id, e->source, e->tag);
	got = match_arrive(c, e->source, e->tag);
	ok(got == (at < 0 ? NULL : r->receives.item[at]));
	if (at >= 0) {
		free(r->receives.item[at]);
		naive_remove(&r->receives, at);
		free(e);
		return;
	}
	is_int(match_store(c, e), 0);
	naive_add(&r->messages, e, c->id);
}

static void step_receive(struct run *r, struct match_context *c, struct match_entry *e)
{
	int at;
	bool is_open = tap_rand(&r->state) % 4 == 0;

	e->source = is_open ? MATCH_ANY_SOURCE
			    : (int32_t)(tap_rand(&r->state) % (uint64_t)r->sources);
	e->tag = random_tag(&r->state, true);
	at = naive_find_message(&r->messages, c->id, e);
	ok(match_peek(c, e->source, e->tag) == (at < 0 ? NULL : r->messages.item[at]));
	ok(match_claim(c, e->source, e->tag) == (at < 0 ? NULL : r->messages.item[at]));
	if (at >= 0) {
		free(r->messages.item[at]);
		naive_remove(&r->messages, at);
		free(e);
		return;
	}
	is_int(match_post(c, e), 0);
	naive_add(&r->receives, e, c->id);
}

static void step_cancel(struct run *r)
{
	int at;

	if (!r->receives.n)
		return;
	at = (int)(tap_rand(&r->state) % (uint64_t)r->receives.n);
	ok(match_cancel(r->receives.item[at]));
	free(r->receives.item[at]);
	naive_remove(&r->receives, at);
}

static void step_drop_context(struct run *r, uint32_t id)
{
	int receives = dropped_receives, messages = dropped_messages;
	int model_receives = 0, model_messages = 0;

	match_drop_context(&r->m, id, count_drop, r);
	for (int i = r->receives.n - 1; i >= 0; i--) {
		if (r->receives.context[i] == id) {
			naive_remove(&r->receives, i);
			model_receives++;
		}
	}
	for (int i = r->messages.n - 1; i >= 0; i--) {
		if (r->messages.context[i] == id) {
			naive_remove(&r->messages, i);
			model_messages++;
		}
	}
	is_int(dropped_receives - receives, model_receives);
	is_int(dropped_messages - messages, model_messages);
}

static void random_run(uint64_t seed, int sources, int contexts, int steps)
{
	static struct run r;

	r = (struct run){.state = seed, .sources = sources, .contexts = contexts};
	match_init(&r.m);
	for (int step = 0; step < steps && !tap_has_failed(); step++) {
		uint32_t id = (uint32_t)(tap_rand(&r.state) % (uint64_t)contexts);
		struct match_context *c = match_context(&r.m, id);
		uint64_t what = tap_rand(&r.state) % 100;

		/* Long queues make wrong order visible, full lists of the model must not occur. */
		if (what < 8 || r.receives.n == 512)
			step_cancel(&r);
		else if ((what == 8 && step % 32 == 0) || r.messages.n == 512)
			step_drop_context(&r, id);
		else if (what < 54)
			step_receive(&r, c, calloc(1, sizeof(struct match_entry)));
		else
			step_arrive(&r, c, calloc(1, sizeof(struct match_entry)));
	}
	match_fini(&r.m, count_drop, &r);
}

TAP_TEST(match__random_few_sources_against_model)
{
	for (uint64_t i = 0; i < 20; i++)
		random_run(tap_seed() + i, 2, 2, 10000);
}

TAP_TEST(match__random_many_sources_against_model)
{
	for (uint64_t i = 0; i < 20; i++)
		random_run(tap_seed() + 1000 + i, 40, 5, 10000);
}
