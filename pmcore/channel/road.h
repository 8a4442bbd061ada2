/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * road - by which kind of rails a packet goes where there are two. Single rails are for packets
 * that somebody waits for. Bulk rails carry many packets at once for little (raw frames and
 * segmented datagrams, device/lane.c). Short messages, requests and acks go by single rails, long
 * data by bulk ones if that is faster. Rails of the other kind stand in where none of a kind is
 * left.
 *
 * A bulk rail is trusted once the peer has told that something came by it: a firewall may be on its
 * way. Which kind is faster is measured: the time until packets are acked divided by what was in
 * flight, as in stripe.c. For this a trial sends packets by both kinds in turn, now and then, and
 * sooner when the kind in use got slower. It turns from one to the other while nothing is in
 * flight, so that no message takes both. The other kind is taken when it is faster several times in
 * a row: one time may be an accident. The packets in the middle of all costs are compared: a peer
 * that computes acks the last ones before it late, and a program does that in step with our turns.
 */
#ifndef PM_CHANNEL_ROAD_H
#define PM_CHANNEL_ROAD_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/channel/costs.h"

#define CHAN_BULK 4           /* packets in a row that are long data */
#define ROAD_LOOK 2048        /* packets of long data between two looks at what they cost */
#define ROAD_BUSY_BYTES 16384 /* in flight on a rail while a packet is sent that tells a cost */
/* Packets for which a turn waits until nothing is in flight: those of 256 KiB at MTU 1500. */
#define ROAD_OVERDUE 192

struct chan;
struct chan_flow;
struct chan_peer;

/* The packets of one kind in a trial. */
struct road_turn {
	uint64_t from_ns,
		until_ns; /* those count that were sent then: in the last turn of the kind */
	struct costs costs;
	uint32_t n_lost;
};

/* Measurements of the two kinds of rails towards one peer. Costs in picoseconds per byte. */
struct road {
	uint64_t ask_ns; /* whether the rest of the bulk rails work: not before */
	struct road_turn used,
		other;    /* since the last vote of a trial, by the kind in use and not */
	uint64_t average; /* of the costs of the kind in use, times their number; 0 = unknown */
	uint32_t base;    /* what it was at the last verdict, once */
	uint32_t n_sent;  /* packets of long data */
	uint32_t left;    /* packets of long data until a turn is due */
	uint32_t overdue; /* packets sent since then */
	uint32_t period;  /* between trials */
	uint8_t votes;    /* for the other kind, in a row */
	uint8_t proven;   /* rails by which something has come to the peer */
	bool is_trial;    /* one is on */
	bool is_settling; /* packets of the other kind are in flight since before this turn */
	bool is_pressed;  /* much was in flight, in a turn of the kind in use since the last vote */
	bool is_trying;   /* and long data takes the other kind just now */
};

void road_init(struct chan *chan, struct chan_peer *peer);
/* Of @rails those for long data, never empty as long as these are not. */
uint8_t road_bulk(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/* Something has come to the peer by @rail. */
void road_prove(struct chan_flow *flow, uint32_t rail);
/* Long data to the peer, which has a flow, goes by bulk rails now. */
bool road_is_bulk(struct chan *chan, struct chan_peer *peer);
/*
 * So many packets of long data can go the same way in a row, at least one: until a turn is overdue
 * or a look is due.
 */
static inline uint32_t road_run(const struct road *road)
{
	uint32_t look = ROAD_LOOK - road->n_sent % ROAD_LOOK;
	uint32_t turn = road->left + ROAD_OVERDUE - road->overdue;

	return look < turn ? look : turn ? turn : 1;
}
/* @n packets of long data have left, no more than road_run. */
void road_sent(struct chan *chan, struct chan_peer *peer, uint32_t n);
/*
 * One came back that was sent at @sent_ns with @load bytes in flight on its rail, at least
 * ROAD_BUSY_BYTES.
 */
void road_acked(const struct chan *chan, struct chan_peer *peer, uint32_t rail, uint64_t sent_ns,
		uint32_t load);
/* One was lost on its rail. */
void road_lost(const struct chan *chan, struct chan_peer *peer, uint32_t rail);

#endif
