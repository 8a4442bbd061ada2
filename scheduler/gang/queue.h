/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue - jobs that wait, and in which order they are tried: higher priority first, then the older
 * one. A job that fits may start before others that do not (backfill), but only so often. One that
 * was overtaken QUEUE_OVERTAKEN_MAX times, by whatever priority, comes first. It lets nobody pass
 * until it starts, so that no job starves. Pure.
 */
#ifndef SCHEDULER_GANG_QUEUE_H
#define SCHEDULER_GANG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_OVERTAKEN_MAX 32

struct queue_item {
	uint64_t id;
	int32_t priority;
	uint64_t arrival; /* order of queue_push() */
	uint32_t overtaken;
};

/* Zeroed is empty. */
struct queue {
	struct queue_item *items; /* in the order in which they are tried; owned */
	size_t n, room;
	uint64_t arrivals;
};

/* 0, -EEXIST or -ENOMEM. */
int queue_push(struct queue *queue, uint64_t id, int32_t priority);
/* It gave up. -ENOENT. */
int queue_remove(struct queue *queue, uint64_t id);
/* It starts: all that came before it were overtaken. -ENOENT. */
int queue_start(struct queue *queue, uint64_t id);
/*
 * How many of the first items may be tried: the last of them is the first that may not be overtaken
 * any more.
 */
size_t queue_open(const struct queue *queue);
/* Counted from 0; -ENOENT. */
int64_t queue_position(const struct queue *queue, uint64_t id);
void queue_fini(struct queue *queue);

#endif
