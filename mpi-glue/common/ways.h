/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ways - by which of two ways long messages come from a process of the same host, as their receiver
 * decides it.
 *
 * Pure: time is an argument. Messages are a burst while each of them was begun before the one in
 * front of it had come. One that is alone takes the way that took less time lately (choice.h). Of a
 * burst, both processes copy at once what goes through shared memory, so that is the faster way.
 * Where both send, both have enough to do, and the way with one copy is taken. The next burst is
 * expected to be like the last one. A message that was announced cannot be copied while its sender
 * computes, so messages of such a sender are read.
 */
#ifndef MPI_GLUE_WAYS_H
#define MPI_GLUE_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi-glue/common/choice.h"

enum way {
	WAY_COPY, /* through shared memory: both processes copy */
	WAY_READ, /* out of the sender's memory: the receiver copies */
};

/* Shorter messages have one way. */
#define WAYS_MIN 8192
/* By length: from 8 KiB, from 16 KiB, and so on. */
#define WAYS_CLASSES 10

/* All zero at first. */
struct ways {
	struct choice of[WAYS_CLASSES]; /* of messages that are alone */
	bool were_many;                 /* in the burst before this one */
	/* the burst */
	unsigned class;
	enum way way;
	uint32_t n;        /* messages, 0 = there was no burst yet */
	uint32_t open;     /* of them have not come yet */
	bool is_spoiled;   /* its time tells nothing */
	bool is_both;      /* we sent such messages, too */
	bool is_asked;     /* its last message was announced, and had to be asked for */
	uint32_t away;     /* messages to read, as the sender was away */
	uint64_t bytes;    /* of its messages */
	uint64_t since_ns; /* when that was begun */
	uint64_t asked_ns; /* when it was asked for */
	uint64_t end_ns;   /* when the last one that has come had come */
};

/* The class of messages of @size bytes, WAYS_MIN and more. */
unsigned ways_class(size_t size);
/*
 * A message that its sender began at @since_ns is there, and may come either way: returns the one
 * to take. @is_both: we are sending such messages to that process.
 */
enum way ways_begin(struct ways *w, size_t size, uint64_t since_ns, uint64_t now_ns, bool is_both);
/*
 * A message that its sender began at @since_ns is there, and comes by @way, which the sender has
 * chosen. True: it may be alone, and the sender should choose *ret_next from now on.
 */
bool ways_note(struct ways *w, size_t size, uint64_t since_ns, enum way way, enum way *ret_next);
/* A message that was begun or noted has come, or has failed. To be called once for each. */
void ways_end(struct ways *w, uint64_t now_ns);
/* The time of the burst under way tells nothing: a message of it was cut, or has failed. */
void ways_spoil(struct ways *w);

#endif
