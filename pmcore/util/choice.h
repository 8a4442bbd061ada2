/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choice - which of two ways brings long reads faster, found out while they are used. Reads are
 * taken in spells of one way; each spell gives a rate: bytes by the time in which any read was
 * under way. The way with the better rate is used, and the other one tried again after ever longer
 * times. Pure: time is an argument, ns.
 */
#ifndef PM_UTIL_CHOICE_H
#define PM_UTIL_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The first one is used before anything is known, and is given more trials before it counts as the
 * slower one.
 */
enum choice_way { CHOICE_OTHER, CHOICE_FIRST, CHOICE_WAYS };

/* All zero: nothing is known yet. */
struct choice {
	double rate[CHOICE_WAYS]; /* bytes per ns, 0 = not known */
	bool is_begun;
	enum choice_way best, way; /* way: of this spell; another one than the best: a trial */
	uint32_t spell;            /* number of it */
	uint32_t under_way;        /* reads */
	uint32_t older;            /* ... that began before this spell, and spoil the measurement */
	bool is_warm;              /* none of them is of the other way */
	uint32_t ended;            /* reads of this spell that were measured */
	uint64_t bytes, busy_ns;   /* of them */
	uint64_t since_ns;         /* from when on it is busy, while reads are under way */
	uint64_t spent;            /* bytes since the way was changed */
	uint64_t rest;             /* bytes until the next trial */
	uint32_t patience;         /* rest after a trial, in parts of what it spent */
	uint32_t defeats;          /* trials in a row in which the first way was the slower one */
};

/* A read begins now: its way, and the number to give back when it ends. */
enum choice_way choice_begin(struct choice *c, uint64_t now, uint32_t *ret_spell);
/* Were both ways measured, and the first one found slower? */
bool choice_is_first_slower(const struct choice *c);
/* It could not begin by the first way, and goes by the other one: the number to give back. */
uint32_t choice_refused(struct choice *c);
/*
 * It is over, with @len bytes. Not @tells: it failed, or something else was in its way, so it says
 * nothing of the way that it took, nor do the reads that are under way with it.
 */
void choice_end(struct choice *c, uint32_t spell, uint64_t len, bool tells, uint64_t now);

#endif
