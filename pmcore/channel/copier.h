/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copier - how packets are filled that leave uncopied, so that the receiver reads them where they
 * lie. The cost of an ordinary copy depends on how far away the core is that read these buffers
 * last. Nobody tells us: copier.c measures it.
 */
#ifndef PM_CHANNEL_COPIER_H
#define PM_CHANNEL_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/util/copy.h"

#define COPIER_SAMPLES 7 /* of either way; odd, the median counts */

struct chan;

/* Of the last runs that were filled by one way. */
struct copier_samples {
	uint32_t ns_per_kib[COPIER_SAMPLES];
	uint32_t n; /* noted; the newest ones are kept */
};

struct copier {
	bool is_far;                      /* the verdict: copy past the caches */
	bool is_trial;                    /* the other way is tried */
	bool is_doubted;                  /* the last trial was against the verdict */
	bool has_judged;                  /* once at least */
	bool has_strings;                 /* COPY_STRING is fast here */
	uint32_t rest;                    /* runs until the trial begins, or ends */
	uint32_t interval, trial_runs;    /* runs between two trials, and of a trial */
	struct copier_samples samples[2]; /* [1]: past the caches */
};

/* A run of packets that is being filled. */
struct copier_run {
	enum copy_way way;
	bool is_timed;
	uint64_t begin_ns;
};

/* The device has @buffers transmit buffers, and a run takes @run of them. */
void copier_init(struct copier *copier, uint32_t buffers, uint32_t run);
/*
 * How to fill the next run of a message, or of a range that is read, with @len bytes.
 * *ret_is_timed: it is a sample, if it gets all its packets (@is_full: it should), and then goes to
 * copier_note.
 */
enum copy_way copier_choose(struct copier *copier, uint64_t len, bool is_full, bool *ret_is_timed);
/* So long the last run took that copier_choose wanted to be timed. */
void copier_note(struct copier *copier, uint64_t ns, uint64_t bytes);

/*
 * Around the filling of a run. @most: full packets that it gets if there are buffers. @n, @bytes:
 * packets and data it got.
 */
void copier_begin(struct chan *chan, bool is_bulk, uint64_t len, uint64_t most,
		  struct copier_run *ret);
void copier_end(struct chan *chan, const struct copier_run *run, uint32_t n, uint64_t bytes);

#endif
