/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_way - by which way long messages come from a process of the same host: read out of its memory, which the kernel
 * copies once, or streamed through shared memory, which both processes copy. Which is faster differs with the machine,
 * the length, and whether the data were just written. So it is measured, by the receiver, with messages that are alone
 * on their way. Where several come together they are streamed: both processes copy at once then.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/common/choice.h"

/* Classes of length: of up to twice 64 KiB, and so on. */
#define SMALLEST 16
#define CLASSES 8

enum { WAY_STREAM, WAY_READ };

struct mtl_pm_ways {
	struct choice of[CLASSES]; /* by length */
	uint32_t open;             /* messages on their way */
	bool were_many;            /* more than one were, the last time that any was */
	unsigned class, way;       /* of the one that is alone */
	uint64_t since_ns;         /* when it was announced */
};

static unsigned class_of(size_t size)
{
	unsigned log = 63 - (unsigned)__builtin_clzll(size);

	return log <= SMALLEST ? 0 : log - SMALLEST < CLASSES ? log - SMALLEST : CLASSES - 1;
}

static void begin(struct mtl_pm_ways *ways, size_t size)
{
	ways->class = class_of(size);
	ways->way = ways->were_many ? WAY_STREAM : choice_pick(&ways->of[ways->class]);
	ways->were_many = false;
	ways->since_ns = mtl_pm_now_ns();
}

bool mtl_pm_way_begin(struct mtl_pm_receive *r, struct mtl_pm_peer *peer)
{
	struct mtl_pm_ways *ways = peer->ways;

	if (!ways)
		ways = peer->ways = calloc(1, sizeof(*ways));
	if (!ways)
		return false;
	r->has_way = true;
	if (ways->open++) {
		ways->were_many = true;
		return false;
	}
	begin(ways, r->wanted);
	return ways->way == WAY_READ;
}

void mtl_pm_way_over(struct mtl_pm_receive *r, int error)
{
	struct mtl_pm_ways *ways = r->peer->ways;

	r->has_way = false;
	if (!--ways->open && !ways->were_many && !error)
		choice_note(&ways->of[ways->class], ways->way, mtl_pm_now_ns() - ways->since_ns,
			    r->wanted);
}
