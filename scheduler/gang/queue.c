// SPDX-License-Identifier: BSD-3-Clause
/* An array kept in order: queues are short beside what starting a job costs. */
#include "scheduler/gang/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_overdue(const struct queue_item *item)
{
	return item->overtaken >= QUEUE_OVERTAKEN_MAX;
}

static bool comes_before(const struct queue_item *a, const struct queue_item *b)
{
	if (is_overdue(a) != is_overdue(b))
		return is_overdue(a);
	if (!is_overdue(a) && a->priority != b->priority)
		return a->priority > b->priority;
	return a->arrival < b->arrival;
}

/* Moves the item at @at forward to its place. */
static void rise(struct queue *q, size_t at)
{
	struct queue_item item = q->items[at];

	while (at && comes_before(&item, &q->items[at - 1])) {
		q->items[at] = q->items[at - 1];
		at--;
	}
	q->items[at] = item;
}

int64_t queue_position(const struct queue *q, uint64_t id)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->items[i].id == id)
			return (int64_t)i;
	return -ENOENT;
}

int queue_push(struct queue *q, uint64_t id, int32_t priority)
{
	if (queue_position(q, id) >= 0)
		return -EEXIST;
	if (q->n == q->room) {
		size_t room = q->room ? 2 * q->room : 16;
		struct queue_item *items = realloc(q->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		q->items = items;
		q->room = room;
	}
	q->items[q->n] =
		(struct queue_item){.id = id, .priority = priority, .arrival = q->arrivals++};
	rise(q, q->n++);
	return 0;
}

int queue_remove(struct queue *q, uint64_t id)
{
	int64_t at = queue_position(q, id);

	if (at < 0)
		return -ENOENT;
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - (size_t)at) * sizeof(*q->items));
	return 0;
}

int queue_start(struct queue *q, uint64_t id)
{
	int64_t at = queue_position(q, id);
	uint64_t arrival;

	if (at < 0)
		return -ENOENT;
	arrival = q->items[at].arrival;
	queue_remove(q, id);
	for (size_t i = 0; i < q->n; i++)
		if (q->items[i].arrival < arrival)
			q->items[i].overtaken++;
	for (size_t i = 1; i < q->n; i++)
		rise(q, i);
	return 0;
}

size_t queue_open(const struct queue *q)
{
	return q->n && is_overdue(&q->items[0]) ? 1 : q->n;
}

void queue_fini(struct queue *q)
{
	free(q->items);
	*q = (struct queue){0};
}
