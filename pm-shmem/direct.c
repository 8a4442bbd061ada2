// SPDX-License-Identifier: BSD-3-Clause
/*
 * direct - reads of regions that are on their owner's board: the initiator copies them by itself.
 * It need not wait for the owner, who may be computing.
 */
#include <errno.h>

#include "pm-shmem/board.h"
#include "pm-shmem/bulk.h"
#include "pm-shmem/cma.h"
#include "pm-shmem/liveness.h"
#include "pmcore/util/clock.h"

/*
 * The kernel gives a pid to another process only after all others. By default there are 32768 and
 * more, which takes far longer than this.
 */
#define SEEN_NS 10000000

/* Whether the process that was in the slot when its pid was read is there still. */
static bool is_held(const struct pms_link *link, struct pm_link_peer *peer)
{
	uint64_t now = clock_monotonic_ns();

	if (now - peer->held_ns < SEEN_NS)
		return true;
	if (!pms_slot_is_held(link->seg.dir.file, peer->index))
		return false;
	peer->held_ns = now;
	return true;
}

int pms_direct_step(struct pms_link *link, struct pms_op *op)
{
	uint32_t index = op->peer->index;
	const struct pms_board *board = &link->seg.boards[index];
	uint64_t left = op->len - op->moved, from;
	size_t len = left < PMS_CMA_PIECE ? (size_t)left : PMS_CMA_PIECE;
	int err;

	if (!pms_board_find(board, op->rkey, op->roffset + op->moved, len, &from))
		return -EACCES;
	err = pms_cma_read(link->seg.slots[index].pid, from, op->local + op->moved, len);
	if (err)
		return err;
	if (!pms_board_has(board, op->rkey))
		return -EACCES;
	/* if it had ended before, its pid might have been another's */
	if (!is_held(link, op->peer))
		return -EPIPE;
	op->moved += len;
	return 0;
}

/* The kernel forbids copies between these two processes, now and for ever. */
static bool is_forbidden(int err)
{
	return err == -EPERM || err == -ENOSYS || err == -ESRCH;
}

bool pms_direct_begin(struct pms_link *link, struct pms_op *op)
{
	struct pms_bulk *bulk = op->peer->bulk;
	int err;

	if (!bulk->is_direct_possible || op->len < PMS_DIRECT_MIN)
		return false;
	err = pms_direct_step(link, op);
	if (is_forbidden(err))
		bulk->is_direct_possible = false;
	/* the owner knows better than its board why */
	return !err;
}
