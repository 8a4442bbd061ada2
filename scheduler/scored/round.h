/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round - the order of things while the hosts of a job write it to disk: a two-phase commit. All
 * hosts prepare. The ranks stand still, and each host dumps. When all have their images on disk,
 * all commit. Pure: what was told goes in, the next step comes out.
 */
#ifndef SCHEDULER_SCORED_ROUND_H
#define SCHEDULER_SCORED_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last stage that a host has done. */
enum round_stage { ROUND_NOTHING, ROUND_PREPARED, ROUND_DUMPED, ROUND_COMMITTED };

enum round_next {
	ROUND_WAIT,   /* for more answers */
	ROUND_STAND,  /* the ranks are to stand still */
	ROUND_COMMIT, /* all hosts are to commit */
	ROUND_DONE,   /* all have */
	ROUND_FAILED, /* all are to drop what they have; round.text says why */
};

struct round_host {
	enum round_stage stage;
	uint64_t bytes; /* of its images */
};

struct round {
	uint64_t number;
	size_t n_hosts;
	struct round_host *hosts;
	bool is_asked;  /* to stand still, and has not answered */
	bool has_stood; /* and all ranks go on */
	bool is_over;   /* done, or failed */
	char text[512]; /* the first thing that went wrong; "": nothing did */
	double stood_s; /* that the ranks stood still */
};

/* 0 or -ENOMEM. */
int round_init(struct round *round, uint64_t number, size_t n_hosts);
void round_fini(struct round *round);

/*
 * A host has done a stage, or could not: then @text is not empty. An answer that no question was
 * asked for is ignored.
 */
enum round_next round_told(struct round *round, size_t host, enum round_stage stage, uint64_t bytes,
			   const char *text);
/* The ranks have stood still and go on; @text: not empty if a host could not write them down. */
enum round_next round_stood(struct round *round, double stood_s, const char *text);
/* Something else ends it, as the loss of a host. ROUND_WAIT: the ranks' answer comes first. */
enum round_next round_fail(struct round *round, const char *text);
/* Of all images. */
uint64_t round_bytes(const struct round *round);

#endif
