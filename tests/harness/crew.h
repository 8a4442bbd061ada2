/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew - a few contexts of one job in one process, knowing each other's addresses: what a test of
 * the public API starts from. Messages carry a pattern made of (source, number), so that every
 * loss, duplicate, reordering and corruption is noticed where it happens.
 */
#ifndef TESTS_HARNESS_CREW_H
#define TESTS_HARNESS_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm.h"

#define CREW_MAX 4

struct crew {
	unsigned int n;
	pmContext ctx[CREW_MAX];
	uint64_t key;
	uint32_t base; /* node number of member 0: numbers are sparse on purpose */
	uint8_t address[CREW_MAX][PM_ADDRESS_MAX];
	size_t address_len[CREW_MAX];
	uint64_t sent[CREW_MAX][CREW_MAX];     /* pattern messages from -> to */
	uint64_t received[CREW_MAX][CREW_MAX]; /* checked, from -> to */
	uint64_t n_turns;                      /* calls of crew_turn */
};

/* Opens @n members, member i with configs[i]. False (with a diagnosis) when one can't be opened. */
bool crew_open(struct crew *crew, unsigned int n, const char *const *configs);
void crew_close(struct crew *crew);
/* Opens member @i anew, as another incarnation of the same node; its old context must be closed. */
bool crew_reopen(struct crew *crew, unsigned int i, const char *config);

pmNode crew_node(const struct crew *crew, unsigned int i);
/* The member with that node number, or -1. */
int crew_member(const struct crew *crew, pmNode node);

/* Bytes of pattern message @number of @from; its size is given by the caller, at least 1. */
void crew_fill(uint8_t *buf, size_t len, unsigned int from, uint64_t number);
/* Sends the next pattern message; 0 or the pm error (ENOBUFS: nothing was sent). */
int crew_send(struct crew *crew, unsigned int from, unsigned int to, size_t len);
/*
 * Takes at most one message of member @to, checks it is the next of its source, releases it. 1 or
 * 0.
 */
int crew_receive(struct crew *crew, unsigned int to);
/* Sends, giving every member turns to receive while there is no room. False after about 10 s. */
bool crew_send_hard(struct crew *crew, unsigned int from, unsigned int to, size_t len);
/* The same by pmPost, from @buf. */
bool crew_post_hard(struct crew *crew, unsigned int from, unsigned int to, uint8_t *buf,
		    size_t len);
/*
 * A row of pattern messages of @part bytes, the last one shorter if @len bytes are no multiple,
 * from @buf. The first of most rows has some bytes as a head of its own. @is_gathered: by
 * pmGatherRow or pmGatherHeadedRow.
 */
bool crew_row_hard(struct crew *crew, unsigned int from, unsigned int to, uint8_t *buf, size_t len,
		   size_t part, bool is_gathered);
/* Receives on all members until everything sent has arrived. False after about 20 s. */
bool crew_drain(struct crew *crew);
/* Calls pmReceive on every member once, checking what comes. */
void crew_turn(struct crew *crew);

#endif
