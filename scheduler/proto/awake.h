/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * awake - a clock by which a daemon judges how long others have been silent. It stands still while
 * the daemon itself does: stopped, starved or busy with one thing it hears nobody, and takes
 * nobody's silence for an end. The time is an argument. Pure.
 */
#ifndef SCHEDULER_PROTO_AWAKE_H
#define SCHEDULER_PROTO_AWAKE_H

#include <stdint.h>

struct awake {
	uint64_t period_ns; /* at most so long is counted between two beats */
	uint64_t beat_ns;   /* CLOCK_MONOTONIC of the last beat */
	uint64_t sum_ns;    /* counted until then */
};

/* @period_s: how often awake_beat() will be called. */
void awake_begin(struct awake *awake, uint64_t now_ns, double period_s);
/* The daemon's timer has come, late or not. */
void awake_beat(struct awake *awake, uint64_t now_ns);
/* Seconds awake since the beginning. */
double awake_now(const struct awake *awake, uint64_t now_ns);

#endif
