// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/fairqueue.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define MAX 1024
#define EACH 512
#define FLOOD_HZ 2456 /* garbage credentials, as many as kept all scruns out */
#define READ_HZ 2000  /* credentials that munged reads */
#define LIMIT_S 5     /* of a handshake */

/* Somebody who waits. */
struct caller {
	struct fairqueue_item item;
	bool is_honest;
	uint64_t came; /* step */
};

static struct netaddr_net net(unsigned int number)
{
	struct netaddr_net net = {{0}};

	memcpy(net.bytes, &number, sizeof(number));
	return net;
}

static struct caller *add(struct fairqueue *queue, unsigned int from, bool is_known)
{
	struct caller *caller = calloc(1, sizeof(*caller));

	caller->item.owner = caller;
	is_int(fairqueue_add(queue, &caller->item, net(from), is_known), 0);
	return caller;
}

static void take_is(struct fairqueue *queue, const struct caller *want)
{
	struct fairqueue_item *item = fairqueue_take(queue);

	ok(item && item->owner == want);
	free(item ? item->owner : NULL);
}

TAP_TEST(fairqueue_take__networks_in_turns_and_the_youngest_first)
{
	struct fairqueue queue;
	struct caller *a[3], *b;

	fairqueue_init(&queue);
	for (int i = 0; i < 3; i++)
		a[i] = add(&queue, 1, false);
	b = add(&queue, 2, false);
	is_int(queue.n, 4);
	take_is(&queue, b);
	take_is(&queue, a[2]);
	b = add(&queue, 2, false);
	take_is(&queue, b);
	take_is(&queue, a[1]);
	take_is(&queue, a[0]);
	ok(!fairqueue_take(&queue));
	is_int(queue.n, 0);
}

TAP_TEST(fairqueue_take__known_ones_have_three_of_four_turns)
{
	struct fairqueue queue;
	struct caller *known[6], *stranger[2];

	fairqueue_init(&queue);
	for (int i = 0; i < 6; i++)
		known[i] = add(&queue, 1, true);
	for (int i = 0; i < 2; i++)
		stranger[i] = add(&queue, 2, false);
	for (int i = 5; i > 2; i--)
		take_is(&queue, known[i]);
	take_is(&queue, stranger[1]);
	for (int i = 2; i >= 0; i--)
		take_is(&queue, known[i]);
	take_is(&queue, stranger[0]);
	ok(!fairqueue_take(&queue));
}

TAP_TEST(fairqueue_excess__the_largest_gives_way)
{
	struct fairqueue queue;
	struct caller *a[3], *b, *c;

	fairqueue_init(&queue);
	for (int i = 0; i < 3; i++)
		a[i] = add(&queue, 1, false);
	b = add(&queue, 2, false);
	c = add(&queue, 3, true);
	ok(!fairqueue_excess(&queue, net(2), 6, 3));
	ok(fairqueue_excess(&queue, net(2), 5, 3) == &a[0]->item);
	ok(fairqueue_excess(&queue, net(1), 6, 3) == &a[0]->item);
	fairqueue_remove(&queue, &a[0]->item);
	fairqueue_remove(&queue, &a[0]->item);
	is_int(queue.n, 4);
	ok(fairqueue_excess(&queue, net(1), 6, 2) == &a[1]->item);
	fairqueue_remove(&queue, &a[1]->item);
	/* All have one: the stranger that will be served last. */
	ok(fairqueue_excess(&queue, net(4), 3, 2) == &a[2]->item);
	fairqueue_remove(&queue, &a[2]->item);
	fairqueue_remove(&queue, &b->item);
	ok(fairqueue_excess(&queue, net(4), 1, 2) == &c->item);
	fairqueue_remove(&queue, &c->item);
	for (int i = 0; i < 3; i++)
		free(a[i]);
	free(b);
	free(c);
}

static void enter(struct fairqueue *queue, unsigned int from, bool is_known, bool is_honest,
		  uint64_t now)
{
	struct fairqueue_item *out = fairqueue_excess(queue, net(from), MAX, EACH);
	struct caller *caller;

	if (out) {
		fairqueue_remove(queue, out);
		free(out->owner);
	}
	caller = add(queue, from, is_known);
	caller->is_honest = is_honest;
	caller->came = now;
}

/*
 * Ten seconds of garbage from @n_nets networks, more than munged can read, and one honest caller in
 * each tenth of a second. How many of the 100 were read in time; in @worst, how many credentials
 * were read before the one that waited longest.
 */
static int read_in_time(unsigned int n_nets, bool is_known, uint64_t *worst)
{
	struct fairqueue queue;
	struct fairqueue_item *item;
	uint64_t steps = 10 * READ_HZ, flooded = 0;
	int n = 0;

	*worst = 0;
	fairqueue_init(&queue);
	for (uint64_t now = 0; now < steps; now++) {
		struct caller *caller;

		if (now % (READ_HZ / 10) == READ_HZ / 20)
			enter(&queue, 1000000, is_known, true, now);
		for (; flooded * READ_HZ < now * FLOOD_HZ; flooded++)
			enter(&queue, (unsigned int)(flooded % n_nets), false, false, now);
		item = fairqueue_take(&queue);
		caller = item ? item->owner : NULL;
		if (caller && caller->is_honest && now - caller->came < LIMIT_S * READ_HZ) {
			n++;
			*worst = now - caller->came > *worst ? now - caller->came : *worst;
		}
		free(caller);
	}
	while ((item = fairqueue_take(&queue)))
		free(item->owner);
	return n;
}

TAP_TEST(fairqueue__a_flood_of_garbage_keeps_nobody_out)
{
	uint64_t worst;

	is_int(read_in_time(1, false, &worst), 100);
	okf(worst <= 2, "%lu credentials were read first", (unsigned long)worst);
	is_int(read_in_time(64, false, &worst), 100);
	okf(worst <= 65, "%lu credentials were read first", (unsigned long)worst);
	/*
	 * Somebody of a network from which others have proved who they are does not mind a thousand
	 * others.
	 */
	is_int(read_in_time(2000, true, &worst), 100);
	okf(worst <= 2, "%lu credentials were read first", (unsigned long)worst);
}
