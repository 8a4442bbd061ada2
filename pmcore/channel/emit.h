/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emit - packets on rails, one by one or several in a row, and the few transmit buffers kept for
 * what the engine itself has to send; emit.c says how.
 */
#ifndef PM_CHANNEL_EMIT_H
#define PM_CHANNEL_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#define CHAN_RUN 16 /* packets in a row that are prepared and posted together */

struct chan;
struct chan_peer;
struct pm_packet;

/* A packet to be put on a rail. */
struct emit {
	uint8_t type;       /* enum wire_type */
	uint8_t flags;      /* of the header */
	uint8_t rails;      /* bit set of the rails to choose from */
	uint8_t rail;       /* out: the one taken */
	uint8_t last_flags; /* of the header of a run's last packet, beside flags */
	bool is_in_vain;    /* nothing waits for the answer that it asks for */
	uint32_t seq;       /* of a run: of its first packet, as the next */
	uint32_t rail_seq;  /* out */
};
/* 0 or -EAGAIN. */
int emit_packet(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
		struct emit *emit);
/*
 * @n packets of data in a row on the only rail of emit->rails, of which the peer's report tells one
 * rail at most: how many have left. As emit_packet for each of them.
 */
uint32_t emit_run(struct chan *chan, struct chan_peer *peer, struct pm_packet *const *packets,
		  uint32_t n, struct emit *emit);
/* Bare packets from the engine's own buffers: 0 or -EAGAIN. */
int emit_ack(struct chan *chan, struct chan_peer *peer);
int emit_probe(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/* One on each of the rails. The timer that called makes up for one that can't leave now. */
void emit_probes(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/* A probe that nothing waits for: a rail on which it stays unanswered is not taken for silent. */
int emit_knock(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/* One that the peer answers when it looks, and that nothing waits for either. */
int emit_question(struct chan *chan, struct chan_peer *peer, uint8_t rails);
/*
 * Buffers for what the engine itself sends under sequence numbers: messages can't take the last
 * ones.
 */
struct pm_packet *emit_alloc(struct chan *chan);
struct pm_packet *emit_alloc_bulk(struct chan *chan);
/* The bytes of such a packet leave as they are: nobody reads them but the peer, on its core. */
bool emit_is_read_elsewhere(const struct chan *chan, bool is_bulk);
/* Up to @n for messages; their number. */
uint32_t emit_alloc_run(struct chan *chan, bool is_bulk, uint32_t n,
			struct pm_packet **ret_packets);
void emit_free_run(struct chan *chan, struct pm_packet *const *packets, uint32_t n);
void emit_free(struct chan *chan, struct pm_packet *packet);
void emit_init(struct chan *chan);
void emit_fini(struct chan *chan);

#endif
