/* SPDX-License-Identifier: BSD-3-Clause */
/* plan - what a run of pmtest is asked to do: the command line after it was understood. */
#ifndef PMTEST_PLAN_H
#define PMTEST_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/tools/common/options.h"
#include "pmcore/tools/common/wait.h"

#define PLAN_ATOMIC_SIZE 8 /* of --test atomic, bytes */
#define PLAN_SIZE_MAX (4ull << 20)
#define PLAN_DEPTH_MAX 64

enum test {
	TEST_LATENCY,       /* ping-pong */
	TEST_BANDWIDTH,     /* one way */
	TEST_BIDIRECTIONAL, /* both ways at once */
	TEST_RATE,          /* one way, small ones */
	TEST_READ,          /* pmRead */
	TEST_WRITE,         /* pmWrite */
	TEST_ATOMIC,        /* pmAtomic */
	TESTS
};

struct plan {
	const char *test;          /* the words of --test */
	bool tests[TESTS];         /* those to do */
	struct option_sizes sizes; /* of messages, bytes */
	bool is_default_sizes;     /* none were given */
	uint64_t iterations;       /* messages of a measurement; 0 = by time */
	double seconds;            /* time of a measurement; 0 = by iterations */
	uint64_t warmup;           /* messages before it; UINT64_MAX = as many as needed */
	uint64_t depth;            /* one-sided operations at once; 0 = by size */
	const char *wait;          /* the word of --wait, NULL = none */
	enum wait_how how;         /* and what it means */
	double limit;              /* longest silence of the other node, s */
	bool no_check;             /* no pass with verified data */
	bool json;                 /* JSON lines instead of a table */
	bool histogram;            /* of the latency samples as well */
	bool alone;                /* one node, to itself */
	bool once;                 /* --listen ends after one client */
	const char *listen;        /* not NULL: wait for a client; its text is the port */
	const char *host;          /* not NULL: connect there */
	uint16_t port;             /* to listen on */
};

/* 0; -ECANCELED: help or version was printed; -EINVAL after saying why. */
int plan_read(int argc, char **argv, struct plan *ret_plan);
const char *plan_test_name(enum test test);
bool plan_is_one_sided(enum test test);
/* Whether the plan wants @size in @test: unasked, the message rate is for small messages. */
bool plan_has(const struct plan *plan, enum test test, uint64_t size);

#endif
