/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attach - the link to the leader of the job: input there, output, notes and exit states back. Owns
 * the credit for input.
 */
#ifndef SCHEDULER_SCRUN_ATTACH_H
#define SCHEDULER_SCRUN_ATTACH_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/auth.h"
#include "scheduler/scrun/place.h"

struct attach_events {
	void (*heard)(void *owner); /* anything at all; before what it is */
	void (*attached)(void *owner);
	void (*room)(void *owner); /* attach_room() has become more */
	void (*output)(uint64_t world, uint64_t rank, int stream, const char *data, size_t size,
		       void *owner);
	void (*note)(const char *text, void *owner);
	void (*processes)(const json_t *ranks, void *owner);
	void (*answered)(void *owner);                       /* the leader has a signal of ours */
	void (*rank_ended)(const json_t *head, void *owner); /* OP_RANK_ENDED */
	void (*ended)(int code, const char *text, void *owner);
	/* The end, unless ended() was before; @error as link_events.closed has it. */
	void (*lost)(int error, const char *why, void *owner);
};

struct attach;

/* The place must outlive it. NULL: no memory. */
struct attach *attach_open(struct ev_loop *loop, struct auth *auth, const struct place *place,
			   const struct attach_events *events, void *owner);
void attach_close(struct attach *attach);

/* Bytes of input that may be sent now. */
size_t attach_room(const struct attach *attach);
/* At most attach_room() bytes; size 0: the end of the input. */
void attach_input(struct attach *attach, const void *data, size_t size);
/* false: the leader is not there. One that is away gets it when it is back. */
bool attach_signal(struct attach *attach, int signal);
/* Nobody can tell any more that the job has ended: one that is away is not tried for ever. */
void attach_alone(struct attach *attach);
/* The leader has closed its links for a while, and is tried again and again. */
bool attach_is_away(const struct attach *attach);
void attach_window(struct attach *attach, int columns, int rows);
/* The debugger has seen the ranks: they may leave MPI_Init. */
void attach_release(struct attach *attach);
/* Back pressure: what the ranks print stays where it is. */
void attach_pause(struct attach *attach, bool is_paused);

#endif
