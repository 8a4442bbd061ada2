/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pass - one run of one test over a number of messages, as node 0 drives it: to verify, to warm up
 * or to measure. Alone, the node plays both parts.
 */
#ifndef PMTEST_PASS_H
#define PMTEST_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/tools/common/session.h"
#include "pmcore/tools/pmtest/plan.h"

#define PASS_SAMPLES 1000 /* latency samples of a pass at most */
#define PASS_DEPTH_BYTES (8ull << 20)

struct pass {
	enum test test;
	uint64_t size;   /* of a message, bytes */
	uint64_t count;  /* messages or operations */
	uint64_t seed;   /* of the data */
	uint64_t depth;  /* one-sided operations under way at once */
	bool is_checked; /* every message is filled and verified */
	char *out, *in;  /* what we send and where we receive; depth * size bytes for one-sided */
	double *samples; /* PASS_SAMPLES; latency: half round trips, us, each the mean of a batch */
	size_t n_samples;    /* result */
	uint64_t elapsed_ns; /* result: until everything had arrived */
	/* Called between batches of a long pass; may be NULL. */
	void (*tick)(uint64_t done, uint64_t count);
};

/* Each: 0 or -errno after saying why; -EBADMSG: data were wrong. */
int pass_run(struct session *s, struct pass *pass);
int pass_two_sided(struct session *s, struct pass *pass);
int pass_one_sided(struct session *s, struct pass *pass);

/* Fills and verifies message @index of a checked pass. */
void pass_fill(const struct pass *pass, uint64_t index);
int pass_verify(struct session *s, const struct pass *pass, uint64_t index);

#endif
