/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front - the link to scrun, on host 0 only. Messages sent before scrun has come wait for it;
 * messages sent after it went are dropped.
 */
#ifndef SCHEDULER_SCSTEPD_FRONT_H
#define SCHEDULER_SCSTEPD_FRONT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;
struct front;

struct front_events {
	void (*attached)(const json_t *head, void *owner); /* its first message */
	void (*message)(const char *op, const json_t *head, const char *body, size_t size,
			void *owner);
	void (*drained)(void *owner);
	void (*gone)(void *owner);
	void (*parted)(void *owner); /* after front_part() */
};

/* @job: whose scrun it waits for. */
struct front *front_open(uint64_t job, const struct front_events *events, void *owner);
/* scrun, authenticated. A second one is refused, and one that wants another job. */
void front_enter(struct front *front, struct link *link);
/* Takes the reference. */
void front_send(struct front *front, json_t *head, const void *body, size_t size);
/* Output should wait: scrun is not there yet, or does not keep up. */
bool front_is_full(const struct front *front);
/*
 * scrun shall close its link, having taken all that was sent, and attach anew later; what is sent
 * meanwhile waits. True: there is none. Else parted() follows, or gone().
 */
bool front_part(struct front *front);
/* It has not attached yet, nor gone. */
bool front_is_awaited(const struct front *front);
void front_close(struct front *front);

#endif
