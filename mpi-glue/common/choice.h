/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choice - which of two ways something is done, by what either took before.
 *
 * Pure: time is an argument. At first both ways are tried, later the dearer one now and then, and
 * more rarely as long as it stays the dearer one. A trial is a run of several: the first of them
 * finds the caches as the other way left them. The least of a way's last costs counts: whoever
 * waits for a peer that computes pays more by either way.
 */
#ifndef MPI_GLUE_CHOICE_H
#define MPI_GLUE_CHOICE_H

#include <stdint.h>

enum {
	CHOICE_WAYS = 2,
	CHOICE_RUN = 8, /* of a trial */
	CHOICE_WINDOW =
		16, /* costs of which the least counts: the last ones, up to twice as many */
	CHOICE_EVERY = 128,      /* a trial of the dearer way comes after so many picks, */
	CHOICE_EVERY_MAX = 4096, /* at most, when trials have changed nothing */
};

/* The last costs of one way, in ps per byte. */
struct choice_costs {
	uint32_t least;  /* of this window */
	uint32_t before; /* of the window before */
	uint32_t n;      /* costs noted in all */
};

enum choice_phase {
	CHOICE_ONE,   /* the first way is tried for the first time */
	CHOICE_OTHER, /* and the second */
	CHOICE_USE,   /* the cheaper way is in use */
	CHOICE_TRIAL, /* the other one is tried */
};

/* All zero at first. */
struct choice {
	struct choice_costs of[CHOICE_WAYS];
	enum choice_phase phase;
	unsigned way;   /* of this phase */
	uint32_t picks; /* in this phase */
	uint32_t every; /* picks between trials */
};

/* The way to take now, 0 or 1. */
unsigned choice_pick(struct choice *c);
/*
 * Tells that @way took @ns for @bytes, at least 1. Nobody need tell of work that something
 * disturbed.
 */
void choice_note(struct choice *c, unsigned way, uint64_t ns, uint64_t bytes);

#endif
