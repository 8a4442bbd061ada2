/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait - what a loop over PM calls does while nothing happens: poll on, give the core away, sleep;
 * and when to stop: a signal, a node that is gone, a time limit. Costs the busy path one store.
 *
 *   SPIN --20 us--> YIELD --100 us--> SLEEP    each success starts again at SPIN
 *
 * A yield that takes long has let somebody else run: cores are shared, then every idle poll yields.
 * Programs that measure may ask for polling or sleeping alone.
 */
#ifndef TOOLS_WAIT_H
#define TOOLS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "pm.h"

/* The event that an idle loop waits for. */
enum wait_for {
	WAIT_MESSAGE, /* something to receive */
	WAIT_ROOM,    /* room to send, or the end of a one-sided operation */
};

/* How an idle loop goes on. */
enum wait_how {
	WAIT_GRADUALLY, /* spin, yield, sleep */
	WAIT_POLLING,   /* spin for ever */
	WAIT_SLEEPING,  /* sleep at once */
};

struct wait {
	pmContext ctx;
	enum wait_how how;
	bool (*is_gone)(void *arg); /* asked now and then: the other side has left; may be NULL */
	void *arg;                  /* its argument */
	uint64_t limit_ns;          /* longest silence; 0 = for ever */
	uint64_t since_ns;          /* monotonic time of the first slow idle poll of this silence */
	uint64_t checked_ns;        /* when is_gone was last asked */
	uint32_t polls;             /* idle polls since the last success */
	bool is_shared;             /* somebody else wants this core */
	bool stays_awake;           /* others read and write our memory: sleep only if told to */
};

#define WAIT_CHECK_POLLS 64 /* polls between two looks at the clock, a power of two */

void wait_init(struct wait *wait, pmContext ctx, uint64_t limit_ns);

/* Something was got. */
static inline void wait_busy(struct wait *wait)
{
	wait->polls = 0;
}

int wait_slow(struct wait *wait, enum wait_for what);

/*
 * Nothing was got. 0: poll again. -EINTR: a signal asks to stop. -ECONNRESET: the other side is
 * gone. -ETIMEDOUT: the limit. Says nothing.
 */
static inline int wait_idle(struct wait *wait, enum wait_for what)
{
	if ((++wait->polls & (WAIT_CHECK_POLLS - 1)) && !wait->is_shared &&
	    wait->how != WAIT_SLEEPING)
		return 0;
	return wait_slow(wait, what);
}

/* SIGINT, SIGTERM and SIGHUP ask to stop from now on; a second one kills. */
void wait_catch_signals(void);
bool wait_is_interrupted(void);

#endif
