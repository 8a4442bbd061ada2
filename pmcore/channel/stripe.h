/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe - what rails offer the other parts of the engine; stripe.c says how one is chosen.
 */
#ifndef PM_CHANNEL_STRIPE_H
#define PM_CHANNEL_STRIPE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A rail that does not answer for so long may be silent: a full queue on the way holds answers up
 * for 5 ms and more.
 */
#define STRIPE_SILENCE_MIN_NS 15000000

struct chan;
struct chan_flow;
struct chan_peer;
struct tx_slot;

void stripe_init(struct chan *chan, struct chan_peer *peer);
/* Rails to use for the peer now, never empty while one has carrier. */
uint8_t stripe_rails(const struct chan *chan, const struct chan_peer *peer);
/* Of @rails those for single packets, never empty as long as these are not. */
uint8_t stripe_single(const struct chan *chan, uint8_t rails);
/* The rail of a non-empty set for @bytes more. */
uint32_t stripe_pick(const struct chan_flow *flow, uint8_t rails, uint32_t bytes);
/* @n packets left on a rail; @is_asking: they will be answered. */
void stripe_sent(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t n,
		 bool is_asking);
/* In flight and back. */
void stripe_add(struct chan_flow *flow, struct tx_slot *slot);
/* The same for the slots of @n numbers from @seq on, 1 or more, which took one rail. */
void stripe_add_row(const struct chan *chan, struct chan_flow *flow, uint32_t seq, uint32_t n);
/* Nothing is in flight on the rail any more. */
void stripe_cleared(struct chan_flow *flow, uint32_t rail);
void stripe_del(struct chan_flow *flow, struct tx_slot *slot);
/* The slot's packet, sent once, has arrived: what a byte costs on its rail. */
void stripe_acked(const struct chan *chan, struct chan_flow *flow, const struct tx_slot *slot);
/* The peer expects @next on @rail; true: more than before. */
bool stripe_answer(struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t next);
/* No answer is waited for on the rail any more. */
void stripe_expect_nothing(struct chan_flow *flow, uint32_t rail);
/* The rail is silent: others are taken until the peer answers by it. */
void stripe_take_out(struct chan *chan, struct chan_peer *peer, uint32_t rail);

#endif
