/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep - when a thread looks after PM's timers for a program that has left MPI. Pure: the answers
 * are times to sleep.
 *
 *   DOZES --away for a whole doze--> KEEPS --nothing is owed--> RESTS
 *     ^------------- the program calls MPI ----/-----------------/
 *
 * A packet that was lost just before the program left MPI is sent again by nobody else. While the
 * program is in MPI now and then, the thread only wakes to see that. Once it is away, the thread
 * wakes for PM's timers, ever more seldom as long as the peer is silent, because a peer that
 * computes answers nothing. When all is acknowledged it needs no time any more.
 */
#ifndef MPI_GLUE_KEEP_H
#define MPI_GLUE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

enum {
	KEEP_DOZE_MS = 50,       /* between two looks at a program that calls MPI */
	KEEP_PAUSE_MIN_MS = 1,   /* the first sleep while packets are not acknowledged */
	KEEP_PAUSE_MAX_MS = 500, /* the longest one: each is twice the one before */
	KEEP_FOR_GOOD = -1,      /* sleep until the program calls MPI */
};

enum keep_state { KEEP_DOZES, KEEP_KEEPS, KEEP_RESTS };

struct keep {
	enum keep_state state;
	int pause_ms; /* the last one; 0: none yet */
};

/*
 * The program has called MPI, or a doze begins. True: the thread rests and has to be woken to doze.
 */
static inline bool keep_back(struct keep *k)
{
	bool rests = k->state == KEEP_RESTS;

	*k = (struct keep){.state = KEEP_DOZES};
	return rests;
}

/*
 * The thread has given PM a round: are packets unacknowledged, and when does PM want its next round
 * (-1: it does not say)? Returns how long to sleep.
 */
static inline int keep_looked(struct keep *k, bool is_owed, int deadline_ms)
{
	if (!is_owed) {
		k->state = KEEP_RESTS;
		return KEEP_FOR_GOOD;
	}
	k->state = KEEP_KEEPS;
	k->pause_ms = k->pause_ms ? 2 * k->pause_ms : KEEP_PAUSE_MIN_MS;
	if (k->pause_ms > KEEP_PAUSE_MAX_MS)
		k->pause_ms = KEEP_PAUSE_MAX_MS;
	if (deadline_ms > KEEP_PAUSE_MAX_MS)
		return KEEP_PAUSE_MAX_MS;
	return deadline_ms > k->pause_ms ? deadline_ms : k->pause_ms;
}

#endif
