// SPDX-License-Identifier: BSD-3-Clause
/*
 * operate - reads of the other nodes' source, whose contents are known, and writes to our place at
 * them. There is one write per node at a time: the place is free again when the other node has
 * verified it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/scstest/stress.h"

#define SOURCE_BYTES (1u << 20)
#define PLACES_BYTES (32u << 20) /* of all places together */

static int export(struct stress *st, void *mem, size_t len, pmHandle *ret_handle)
{
	int err = pmMLock(st->session->ctx, mem, len, ret_handle);

	return err ? session_failed(st->session, "pmMLock", st->session->self, err) : 0;
}

static uint64_t place_size(const struct stress *st)
{
	uint64_t share = PLACES_BYTES / st->session->nodes, size = st->settings->max_size;

	return size < share ? size : share;
}

int operate_open(struct stress *st)
{
	struct packet_hello *h = &st->hello;
	uint64_t max = st->settings->max_size;
	int rc;

	h->seed = pattern_random(&st->random);
	h->source_size = max > SOURCE_BYTES ? max : SOURCE_BYTES;
	h->place_size = place_size(st);
	st->source = malloc(h->source_size);
	st->places = calloc(st->session->nodes, h->place_size);
	if (!st->source || !st->places)
		return -ENOMEM;
	pattern_fill(st->source, h->source_size, h->seed, 0);
	for (int i = 0; i < STRESS_OPERATIONS; i++) {
		st->operations[i].memory = malloc(max);
		if (!st->operations[i].memory)
			return -ENOMEM;
	}
	rc = export(st, st->source, h->source_size, &h->source);
	return rc ? rc : export(st, st->places, h->place_size * st->session->nodes, &h->places);
}

void operate_close(struct stress *st)
{
	if (st->hello.source.word[0])
		pmMUnlock(st->session->ctx, &st->hello.source);
	if (st->hello.places.word[0])
		pmMUnlock(st->session->ctx, &st->hello.places);
	for (int i = 0; i < STRESS_OPERATIONS; i++)
		free(st->operations[i].memory);
	free(st->source);
	free(st->places);
}

static struct operation *free_operation(struct stress *st)
{
	for (int i = 0; i < STRESS_OPERATIONS; i++)
		if (!st->operations[i].is_open)
			return &st->operations[i];
	return NULL;
}

static int begin_read(struct stress *st, struct operation *op, const struct peer *peer)
{
	uint64_t max = st->settings->max_size;

	if (max > peer->hello.source_size)
		max = peer->hello.source_size;
	op->size = 1 + send_random_size(st, max - 1);
	op->offset = pattern_random(&st->random) % (peer->hello.source_size - op->size + 1);
	/* Other data than those that are expected. */
	pattern_fill(op->memory, op->size, ~peer->hello.seed, 0);
	return pmRead(st->session->ctx, op->node, &peer->hello.source, op->offset, op->memory,
		      op->size, &op->desc);
}

static int begin_write(struct stress *st, struct operation *op, struct peer *peer)
{
	uint64_t max = st->settings->max_size;
	int err;

	if (max > peer->hello.place_size)
		max = peer->hello.place_size;
	op->size = 1 + send_random_size(st, max - 1);
	peer->write_seed = pattern_random(&st->random);
	peer->write_size = op->size;
	pattern_fill(op->memory, op->size, peer->write_seed, 0);
	err = pmWrite(st->session->ctx, op->node, &peer->hello.places,
		      st->session->self * peer->hello.place_size, op->memory, op->size, &op->desc);
	if (!err) {
		peer->is_writing = true;
		st->n_writing++;
	}
	return err;
}

int operate_begin(struct stress *st, uint32_t node, bool is_write)
{
	struct operation *op = free_operation(st);
	struct peer *peer = &st->peers[node];
	int err;

	if (!op || !peer->is_known || (is_write && peer->is_writing))
		return 0;
	op->node = node;
	op->is_write = is_write;
	err = is_write ? begin_write(st, op, peer) : begin_read(st, op, peer);
	if (err == ENOBUFS)
		return 0;
	if (err)
		return session_failed(st->session, is_write ? "pmWrite" : "pmRead", node, err);
	op->is_open = true;
	st->n_open++;
	return 1;
}

static void verify_read(struct stress *st, const struct operation *op)
{
	struct pattern_fault fault;

	st->totals.reads++;
	st->totals.read_bytes += op->size;
	if (!pattern_check(op->memory, op->size, st->peers[op->node].hello.seed, op->offset,
			   &fault))
		return;
	st->totals.corrupt++;
	if (arrive_may_complain(st))
		message_error("a read of %" PRIu64 " bytes from node %u: byte %" PRIu64
			      " of its memory: expected 0x%02x, got 0x%02x",
			      op->size, op->node, fault.offset, fault.expected, fault.got);
}

/*
 * Its data were damaged on the way: nothing else asks for what is not there. One more fault, and
 * others may follow.
 */
static void note_refused(struct stress *st, const struct operation *op)
{
	struct peer *peer = &st->peers[op->node];

	st->totals.corrupt++;
	if (op->is_write) {
		peer->is_writing = false;
		st->n_writing--;
	}
	if (arrive_may_complain(st))
		message_error("a %s of %" PRIu64 " bytes, node %u, was refused: %s",
			      op->is_write ? "write" : "read", op->size, op->node,
			      pmErrorString(EACCES));
}

/* 1: ended, 0: not yet, -errno. */
static int reap_one(struct stress *st, struct operation *op)
{
	int err = op->is_write ? pmIsWriteDone(st->session->ctx, op->desc)
			       : pmIsReadDone(st->session->ctx, op->desc);

	if (err == ENOBUFS)
		return 0;
	op->is_open = false;
	st->n_open--;
	if (err == EACCES) {
		note_refused(st, op);
		return 1;
	}
	if (err)
		return session_failed(st->session, op->is_write ? "pmIsWriteDone" : "pmIsReadDone",
				      op->node, err);
	if (op->is_write)
		send_owe(st, op->node, OWE_WRITTEN);
	else
		verify_read(st, op);
	return 1;
}

int operate_reap(struct stress *st)
{
	int ended = 0, rc;

	for (int i = 0; i < STRESS_OPERATIONS && st->n_open; i++) {
		if (!st->operations[i].is_open)
			continue;
		rc = reap_one(st, &st->operations[i]);
		if (rc < 0)
			return rc;
		ended += rc;
	}
	return ended;
}
