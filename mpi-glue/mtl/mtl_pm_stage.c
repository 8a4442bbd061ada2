// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_stage - long messages that lie in one piece at their sender, and do not at their receiver.
 * Where a stream leads to the sender, the receiver reads such a message in pieces into the stage,
 * which is memory of this component. Four pieces are under way at once, and each is unpacked in its
 * turn. The stream brings them sooner than the sender's datagrams, by which all other messages come
 * that must be unpacked (mtl_pm_fetch). The stage holds one message at a time.
 */
#include "mpi-glue/mtl/mtl_pm_stage.h"

#include <errno.h>
#include <stdlib.h>

/* A piece is in the cache still when it is unpacked. */
#define PIECE ((size_t)128 << 10)
/* Read at once: as many as are under way on a fast network, and one that is unpacked. */
#define PIECES 4
/* Shorter messages arrive as soon by the datagrams of their sender. */
#define LEAST (PIECE + PIECE / 2)

static struct {
	char *memory;        /* PIECES of them, kept for the next message */
	pmDesc read[PIECES]; /* ring of those that are read */
	uint32_t first, count;
	size_t asked; /* bytes of the message that reads were begun for */
	int error;    /* of a piece: no more are read */
} stage;

static size_t length_of(size_t at)
{
	size_t left = mtl_pm.staged->wanted - at;

	return left < PIECE ? left : PIECE;
}

static void read_more(void)
{
	struct mtl_pm_receive *r = mtl_pm.staged;
	uint32_t most = mtl_pm.read_limit < PIECES ? (uint32_t)mtl_pm.read_limit : PIECES;

	while (!stage.error && stage.count < most && stage.asked < r->wanted) {
		uint32_t i = (stage.first + stage.count) % PIECES;
		size_t len = length_of(stage.asked);
		int rc = pmRead(mtl_pm.ctx, r->peer->node, &r->handle, stage.asked,
				stage.memory + i * PIECE, len, &stage.read[i]);

		if (rc == ENOBUFS)
			break;
		stage.error = rc;
		if (rc)
			break;
		stage.asked += len;
		stage.count++;
	}
}

bool mtl_pm_stage_begin(struct mtl_pm_receive *r)
{
	/* those that wait for their turn to read from the peer are not overtaken */
	if (mtl_pm.staged || !r->peer->stages || r->read_from || r->wanted < LEAST ||
	    !TAILQ_EMPTY(&r->peer->waiting))
		return false;
	if (!stage.memory)
		stage.memory = malloc(PIECES * PIECE);
	if (!stage.memory)
		return false;
	stage.first = stage.count = 0;
	stage.asked = 0;
	stage.error = 0;
	mtl_pm.staged = r;
	read_more();
	return true;
}

/* Unpacks the oldest piece; false: it is not here yet. */
static bool take_piece(void)
{
	int rc = pmIsReadDone(mtl_pm.ctx, stage.read[stage.first]);

	if (rc == ENOBUFS)
		return false;
	if (rc && !stage.error)
		stage.error = rc;
	if (!stage.error)
		mtl_pm_unpack(mtl_pm.staged, stage.memory + stage.first * PIECE,
			      length_of(mtl_pm.staged->got));
	stage.first = (stage.first + 1) % PIECES;
	stage.count--;
	return true;
}

int mtl_pm_progress_stage(struct mtl_pm_receive **ret_over, int *ret_error)
{
	struct mtl_pm_receive *r = mtl_pm.staged;
	int n = 0;

	*ret_over = NULL;
	if (!r)
		return 0;
	/* no more in a row: others wait for the lock and for their messages */
	while (n < PIECES && stage.count && take_piece()) {
		n++;
		read_more();
	}
	read_more();
	/* reads under way still write to the stage */
	if (stage.count || (!stage.error && r->got < r->wanted))
		return n;
	mtl_pm.staged = NULL;
	*ret_over = r;
	*ret_error = stage.error;
	return n + 1;
}

bool mtl_pm_stage_is_reading(void)
{
	return mtl_pm.staged && stage.count;
}

void mtl_pm_stage_close(void)
{
	free(stage.memory);
	stage.memory = NULL;
}
