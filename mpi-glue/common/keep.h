/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep - when a thread looks after PM's timers for a program that has left MPI. Pure: the answers
 * are times to sleep.
 *
 *   DOZES --away for a whole doze--> KEEPS --nothing is owed--> SETTLES --nor now--> RESTS
 *     ^                                ^ \--------------------------^                 |
 *     |                                 \------- SETTLES <------- after a while ------/
 *     the program calls MPI: from each state
 *
 * A packet that was lost just before the program left MPI is sent again by nobody else. While the
 * program is in MPI now and then, the thread only wakes to see that. Once it is away, the thread
 * wakes for PM's timers as long as anything is not acknowledged. Then it rests, and gives PM a
 * round each second, in which peers get their acknowledgements: to them a rank that computes lives.
 */
#ifndef MPI_GLUE_KEEP_H
#define MPI_GLUE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

enum {
	KEEP_DOZE_MS = 50, /* between two looks at a program that calls MPI */
	/* Between two looks while packets are not acknowledged: PM's time goes no further. */
	KEEP_PACE_MS = 10,
	KEEP_SETTLE_MS = 1, /* for acknowledgements of what the last round took */
	KEEP_REST_MS = 1000,
};

enum keep_state { KEEP_DOZES, KEEP_KEEPS, KEEP_SETTLES, KEEP_RESTS };

struct keep {
	enum keep_state state;
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
 * (-1: it does not say)? Returns how long to sleep, in ms.
 */
static inline int keep_looked(struct keep *k, bool is_owed, int deadline_ms)
{
	if (is_owed) {
		k->state = KEEP_KEEPS;
		return deadline_ms > 0 && deadline_ms < KEEP_PACE_MS ? deadline_ms : KEEP_PACE_MS;
	}
	if (k->state == KEEP_SETTLES) {
		k->state = KEEP_RESTS;
		return KEEP_REST_MS;
	}
	k->state = KEEP_SETTLES;
	return KEEP_SETTLE_MS;
}

#endif
