/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source - the ranks that have printed something, with what output keeps of each.
 */
#ifndef SCHEDULER_SCRUN_SOURCE_H
#define SCHEDULER_SCRUN_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/proto/job.h"
#include "scheduler/scrun/label.h"

struct sink;

/* Ranks of a job with all worlds that it has spawned: a leader that lies names no end of them. */
#define SOURCES_MAX JOB_RANKS_MAX

struct source {
	struct source *next; /* in the order of their first words */
	uint64_t world, rank;
	char label[LABEL_MAX];
	struct label_line line[2]; /* of standard output and error */
	struct sink *file[2];      /* or NULL */
	bool is_ended[2];
};

/* Zeroed: empty. */
struct sources {
	struct source *first, **last;
	void *by_number; /* tsearch(3) */
	uint32_t n;      /* at most SOURCES_MAX */
};

/* NULL: there is none yet. */
struct source *sources_find(const struct sources *sources, uint64_t world, uint64_t rank);
/* NULL: no memory, or there are SOURCES_MAX. */
struct source *sources_add(struct sources *sources, uint64_t world, uint64_t rank);
void sources_fini(struct sources *sources);

#endif
