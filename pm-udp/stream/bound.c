// SPDX-License-Identifier: BSD-3-Clause
#include "pm-udp/stream/bound.h"

#define FIRST_PARTS 4           /* of the least, before anything is known */
#define CALM 12                 /* rounds without loss, then growth doubles, and again */
#define SLOW_BYTES (768u << 10) /* of a round at least, but at the start: growth costs packets */
#define SHIFT_SLOW 5            /* a round of growth: 1/32 */
#define SHIFT_FAST 1            /* at the start, and after a long calm: 1/2 */

static void begin_round(struct pmt_bound *b)
{
	b->arrived = 0;
	b->round = b->is_starting || b->bytes > SLOW_BYTES ? b->bytes : SLOW_BYTES;
	b->is_settling = false;
}

void pmt_bound_init(struct pmt_bound *b, uint32_t rails)
{
	*b = (struct pmt_bound){.least = (uint64_t)PMT_BOUND_LEAST * rails, .is_starting = true};
	b->bytes = FIRST_PARTS * b->least;
	begin_round(b);
}

static void give_way(struct pmt_bound *b)
{
	uint64_t before = b->bytes;

	b->bytes -= before / (b->is_starting || !b->calm ? 2 : 4);
	if (b->bytes < b->least)
		b->bytes = b->least;
	b->calm = 0;
	b->is_starting = false;
	b->arrived = 0;
	b->round = before;
	b->is_settling = true;
}

static void grow(struct pmt_bound *b)
{
	uint32_t haste = b->calm++ / CALM;
	bool is_fast = b->is_starting || haste > SHIFT_SLOW - SHIFT_FAST;

	b->bytes += b->bytes >> (is_fast ? SHIFT_FAST : SHIFT_SLOW - haste);
	if (b->bytes > PMT_BOUND_MOST)
		b->bytes = PMT_BOUND_MOST;
}

void pmt_bound_arrived(struct pmt_bound *b, uint64_t bytes, bool is_lossy)
{
	if (is_lossy && !b->is_settling) {
		give_way(b);
		return;
	}
	b->arrived += bytes;
	if (b->arrived < b->round)
		return;
	if (!b->is_settling)
		grow(b);
	begin_round(b);
}
