/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * idle - what a polling process does when there is nothing to do: spin or give the core away.
 *
 * Pure: time is an argument. Alone on a core, spinning is the fastest way to see a message; as soon
 * as processes share cores it keeps the sender from running. Whether cores are shared cannot be
 * known from counts (containers, virtual hosts, pinning), so it is observed: a yield that takes
 * long and switched processes has let somebody else run. One that is long without a switch has only
 * met an interrupt.
 *
 *   ALONE  --long yield, switched-->  SHARED   (yields at every idle poll)
 *   SHARED --many short yields in a row-->  ALONE   (spins, yields when idle for long)
 */
#ifndef MPI_GLUE_IDLE_H
#define MPI_GLUE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	IDLE_CLOCK_POLLS = 32,      /* idle polls between two looks at the clock, a power of two */
	IDLE_SPIN_NS = 20000,       /* time without work before the first yield when alone */
	IDLE_LONG_YIELD_NS = 1500,  /* a yield that found nobody takes about 450 ns */
	IDLE_HOG_YIELD_NS = 200000, /* a yield that found somebody who does not yield in turn */
	IDLE_CALM_YIELDS = 200,     /* short yields in a row that mean nobody else wants the core */
};

struct idle {
	uint64_t since_ns; /* when the clock was first read without work; 0: not yet */
	uint32_t polls;    /* idle polls since the last work */
	uint32_t calm;     /* short yields since the last long one */
	bool is_shared;    /* somebody else runs on this core */
};

static inline void idle_init(struct idle *i, bool is_shared)
{
	*i = (struct idle){.is_shared = is_shared};
}

/* There was work. */
static inline void idle_busy(struct idle *i)
{
	i->polls = 0;
	i->since_ns = 0;
}

/* There was no work. Most calls say false: keep polling. Else read the clock and ask below. */
static inline bool idle_wants_clock(struct idle *i)
{
	return (++i->polls & (IDLE_CLOCK_POLLS - 1)) == 0 || i->is_shared;
}

/* True: yield now, then report with idle_yielded. */
static inline bool idle_wants_yield(struct idle *i, uint64_t now_ns)
{
	if (i->is_shared)
		return true;
	if (!i->since_ns)
		i->since_ns = now_ns;
	return now_ns - i->since_ns >= IDLE_SPIN_NS;
}

static inline bool idle_is_long(uint64_t took_ns)
{
	return took_ns >= IDLE_LONG_YIELD_NS;
}

/*
 * A yield was made and took this long. did_switch: somebody else ran; it counts for long ones only,
 * and true will do on a shared core. Very long ones tell nothing: a process that computes for
 * milliseconds would not give the core back sooner for our yielding early.
 */
static inline void idle_yielded(struct idle *i, uint64_t took_ns, bool did_switch)
{
	if (took_ns >= IDLE_HOG_YIELD_NS)
		return;
	if (idle_is_long(took_ns) && did_switch) {
		i->is_shared = true;
		i->calm = 0;
	} else if (++i->calm >= IDLE_CALM_YIELDS) {
		i->is_shared = false;
		i->calm = 0;
	}
}

#endif
