// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_way - by which way long messages come from a process of the same host: read out of its
 * memory, which the kernel copies once, or through shared memory, which both processes copy. Which
 * is faster differs with the machine, the length, and whether the data were just written: so the
 * receiver measures it (ways.h). Messages that need not be announced are sent by the way that their
 * receiver asked for last; of others it chooses when the announcement comes.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "pmcore/util/clock.h"

/*
 * The time of a stamp, which is the lower half of its sender's clock. All processes of a host have
 * the same clock.
 */
static uint64_t time_of(uint32_t stamp, uint64_t now_ns)
{
	return stamp ? now_ns - (uint32_t)((uint32_t)now_ns - stamp) : now_ns;
}

uint32_t mtl_pm_way_stamp(struct mtl_pm_peer *peer, size_t size)
{
	uint32_t stamp;

	if (!peer->ways || size < WAYS_MIN)
		return 0;
	stamp = (uint32_t)clock_monotonic_ns();
	return stamp ? stamp : 1;
}

/* Asks the sender to take @way from now on, unless it does so. */
static void ask_for(struct mtl_pm_peer *peer, unsigned class, enum way way)
{
	uint32_t bit = 1u << class;

	if (((peer->asked_classes & bit) != 0) == (way == WAY_READ))
		return;
	peer->asked_classes ^= bit;
	mtl_pm_note_control(peer, way == WAY_READ ? ENVELOPE_READ : ENVELOPE_COPY, class, 0);
}

void mtl_pm_way_note(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, size_t size,
		     uint32_t stamp, enum way way)
{
	enum way next;

	if (!peer->ways || size < WAYS_MIN)
		return;
	/* it is unpacked, so it cannot be read, and tells nothing of either way */
	if (!r->data) {
		ask_for(peer, ways_class(size), WAY_COPY);
		return;
	}
	r->peer = peer;
	r->has_way = true;
	r->way_size = size;
	if (ways_note(peer->ways, size, time_of(stamp, clock_monotonic_ns()), way, &next))
		ask_for(peer, ways_class(size), next);
}

bool mtl_pm_way_is_read(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, size_t size,
			uint32_t stamp)
{
	uint64_t now;

	if (!r->data) {
		mtl_pm_way_note(r, peer, size, stamp, WAY_COPY);
		return false;
	}
	if (!peer->ways || size < WAYS_MIN)
		return true;
	if ((ssize_t)size <= peer->middle_limit) {
		mtl_pm_way_note(r, peer, size, stamp, WAY_READ);
		return true;
	}
	r->has_way = true;
	r->way_size = size;
	now = clock_monotonic_ns();
	return ways_begin(peer->ways, size, time_of(stamp, now), now, peer->announced) == WAY_READ;
}

void mtl_pm_way_over(struct mtl_pm_receive *r, int error)
{
	/* since it began the process may have got another device */
	struct ways *ways = r->peer->measured;

	r->has_way = false;
	if (error || r->wanted < r->way_size)
		ways_spoil(ways);
	ways_end(ways, clock_monotonic_ns());
}

void mtl_pm_on_way(const struct envelope_control *m, struct mtl_pm_peer *peer)
{
	if (m->id >= WAYS_CLASSES) {
		mtl_pm.damaged++;
		return;
	}
	/* it was on its way while the device changed */
	if (!peer->ways)
		return;
	if (m->kind == ENVELOPE_READ)
		peer->read_classes |= 1u << m->id;
	else
		peer->read_classes &= ~(1u << m->id);
}
