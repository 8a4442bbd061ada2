/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample - the counters of all contexts of the host at one time, and what changed since another
 * time.
 */
#ifndef PMSTAT_SAMPLE_H
#define PMSTAT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmcore/util/stats.h"

/*
 * Contexts of one sample. A host has some hundred, but anybody may put there what looks like one.
 */
#define SAMPLE_MAX 8192

/* Zeroed is empty. */
struct sample {
	struct stats_page *pages; /* sorted by pid and node */
	size_t count;
	size_t room;      /* pages allocated */
	uint64_t time_ns; /* monotonic */
	bool is_cut;      /* there are more than SAMPLE_MAX */
};

/* @pid 0: every process. 0 or -errno. */
int sample_take(struct sample *sample, uint32_t pid);
/* Makes an empty one of it. */
void sample_free(struct sample *sample);
/* The page of the same context in another sample, or NULL. */
const struct stats_page *sample_find(const struct sample *sample, const struct stats_page *page);

/* One counter, by name and place. */
struct sample_field {
	const char *name;  /* in JSON */
	const char *title; /* of the column, NULL = not in the table */
	size_t offset;     /* in struct stats_link or struct stats_rail */
	bool is_bytes;     /* shown in MB */
	bool is_level;     /* a number of things now, not one that grows */
};

/* Tables end with a zeroed entry. */
extern const struct sample_field sample_link_fields[];
extern const struct sample_field sample_rail_fields[];

/* The counter @offset bytes into @base; 0 when @base is NULL. */
uint64_t sample_value(const void *base, size_t offset);
/*
 * The number to show for a counter: with @seconds 0 its value, else its growth per second since
 * @before (NULL: since zero); levels are shown as they are.
 */
double sample_shown(const struct sample_field *field, const void *now, const void *before,
		    double seconds);

#endif
