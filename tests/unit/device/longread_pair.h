/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * longread_pair - two contexts of one process, which reach each other over loopback: the second
 * one's memory is read.
 */
#ifndef TESTS_UNIT_DEVICE_LONGREAD_PAIR_H
#define TESTS_UNIT_DEVICE_LONGREAD_PAIR_H

#include "pmcore/device/longread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/api/context.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define LEN (3u << 20)
#define PATIENCE_NS 10000000000ull

struct two {
	pmContext ctx[2];
	uint8_t address[2][PM_ADDRESS_MAX];
	size_t address_len[2];
	uint8_t *from, *to; /* LEN bytes each; node 1 has the first, node 0 reads into the other */
	pmHandle handle;
	bool is_over; /* for a thread that polls the owner */
};

static inline bool open_one(struct two *t, int i, const char *config)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = (uint32_t)i,
				    .config = config};

	t->address_len[i] = PM_ADDRESS_MAX;
	return okf(!pmOpenContext(&options, &t->ctx[i]), "%s", pmLastError()) &&
	       is_int(pmGetAddress(t->ctx[i], t->address[i], &t->address_len[i]), 0);
}

static inline bool open_two(struct two *t, const char *reader, const char *owner)
{
	memset(t, 0, sizeof(*t));
	t->from = malloc(LEN);
	t->to = calloc(1, LEN);
	for (uint32_t i = 0; i < LEN; i++)
		t->from[i] = (uint8_t)(i * 2654435761u >> 24);
	if (!open_one(t, 0, reader) || !open_one(t, 1, owner))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		is_int(pmAddNode(t->ctx[i], !i, t->address[!i], t->address_len[!i]), 0);
	return is_int(pmMLock(t->ctx[1], t->from, LEN, &t->handle), 0);
}

static inline void close_two(struct two *t)
{
	for (int i = 0; i < 2; i++)
		if (t->ctx[i])
			pmCloseContext(t->ctx[i]);
	free(t->from);
	free(t->to);
}

static inline struct composite *composite_of(const struct two *t, int i)
{
	return context_get(t->ctx[i])->c;
}

static inline struct pmt_link *stream_of(const struct two *t, int i)
{
	return (struct pmt_link *)composite_of(t, i)->stream->link;
}

static inline void poll_owner(const struct two *t)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	if (t->ctx[1])
		pmReceive(t->ctx[1], &buf, &len, &src, &desc);
}

/* The end of the read, while the owner is polled. */
static inline int finish(const struct two *t, pmDesc desc)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	int rc;

	do {
		poll_owner(t);
		rc = pmIsReadDone(t->ctx[0], desc);
	} while (rc == ENOBUFS && clock_monotonic_ns() < end);
	return rc;
}

static inline int read_all(struct two *t)
{
	pmDesc desc;
	int rc;

	memset(t->to, 0, LEN);
	rc = pmRead(t->ctx[0], 1, &t->handle, 0, t->to, LEN, &desc);
	return rc ? rc : finish(t, desc);
}

/* Reads until the connection is open and one has gone by it. */
static inline bool is_by_stream(struct two *t)
{
	struct composite *c = composite_of(t, 0);
	uint64_t before = c->stream->stats->read_bytes;
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	do {
		if (!is_int(read_all(t), 0) || !is_mem(t->to, t->from, LEN))
			return false;
	} while (c->stream->stats->read_bytes == before && clock_monotonic_ns() < end);
	return c->stream->stats->read_bytes == before + LEN;
}

#define ALWAYS "devices=self+udp,stream=always"
#define AUTO "devices=self+udp"
#define NEVER "devices=self+udp,stream=never"

#endif
