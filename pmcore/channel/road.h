/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * road - by which kind of rails a packet goes where there are two: single ones, which are for packets that somebody
 * waits for, and bulk ones, which carry many packets at once for little (raw frames and segmented datagrams,
 * device/lane.c). Short messages, requests and acks go by single rails, long data by bulk ones if that is
 * faster. Rails of the other kind stand in where none of a kind is left.
 *
 * A bulk rail is trusted once the peer has told that something came by it: a firewall may be on its way. Which kind is
 * faster is measured: what is in flight divided by the time until it is acked, as in stripe.c, while much is in
 * flight. A few packets now and then go the other way for this, more often when the way in use got slower.
 */
#ifndef PM_CHANNEL_ROAD_H
#define PM_CHANNEL_ROAD_H

#include <stdbool.h>
#include <stdint.h>

#define CHAN_BULK 4    /* packets in a row that are long data */
#define ROAD_LOOK 2048 /* packets of long data between two looks at what they cost */

struct chan;
struct chan_peer;

/* What is known of the two kinds of rails towards one peer. Costs in picoseconds per byte. */
struct road {
	uint64_t ask_ns;    /* whether the rest of the bulk rails work: not before */
	uint64_t sum;       /* of the costs of a trial's packets */
	uint64_t average;   /* of the costs of the kind in use, times their number; 0 = unknown */
	uint32_t base;      /* what it was at the last verdict, once */
	uint32_t n_sent;    /* packets of long data */
	uint32_t left;      /* packets of long data until the next trial, or until its end */
	uint32_t period;    /* between trials */
	uint16_t n_samples; /* costs in sum */
	uint8_t proven;     /* rails by which something has come to the peer */
	bool is_trying;     /* long data takes the other kind just now */
	bool is_judging;    /* costs of the other kind are gathered */
};

void road_init(struct chan *chan, struct chan_peer *peer);
/* Of @rails, never empty as long as these are not: those for single packets; those for long data. */
uint8_t road_single(const struct chan *chan, uint8_t rails);
uint8_t road_bulk(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/* Long data to the peer, which has a flow, goes by bulk rails now. */
bool road_is_bulk(const struct chan *chan, const struct chan_peer *peer);
/* So many packets of long data go the same way for certain, at least one: until something is tried or looked at. */
static inline uint32_t road_run(const struct road *road)
{
	uint32_t look = ROAD_LOOK - road->n_sent % ROAD_LOOK;

	return look < road->left ? look : road->left;
}
/* A packet of long data has left. */
void road_sent(struct chan *chan, struct chan_peer *peer);
/* One came back, sent while much was in flight on its rail, at that cost. */
void road_acked(const struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t cost);
/* One was lost on its rail. */
void road_lost(const struct chan *chan, struct chan_peer *peer, uint32_t rail);

#endif
