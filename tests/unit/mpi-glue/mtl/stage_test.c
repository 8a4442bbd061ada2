// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_stage: a message that is read in pieces of 128 KiB, each unpacked in its turn. */
#include <errno.h>
#include <string.h>

#include "mpi-glue/mtl/mtl_pm_stage.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define PIECE ((size_t)128 << 10)
#define PIECES 4
#define SIZE (6 * PIECE + 100)

static struct fake_receive r;
static struct mtl_pm_receive *over;
static int error;

static struct mtl_pm_peer *begin(void)
{
	struct mtl_pm_peer *peer;

	fake_open("udp");
	fake.long_read = 1 << 17;
	peer = mtl_pm_peer_of_node(NODE);
	fake_prepare(&r, SIZE);
	r.req.receive.peer = peer;
	over = NULL;
	error = -1;
	return peer;
}

static void finish(void)
{
	mtl_pm_stage_close();
	fake_close();
}

/* The read has brought bytes of this value. */
static void bring(size_t i, char value)
{
	memset(fake.reads[i].to, value, fake.reads[i].size);
	fake.reads[i].rc = 0;
}

TAP_TEST(stage__a_whole_message)
{
	begin();
	must(mtl_pm_stage_begin(&r.req.receive));
	is_int(fake.n_reads, PIECES);
	for (size_t i = 0; i < 7; i++) {
		must(i < fake.n_reads);
		is_int(fake.reads[i].from, i * PIECE);
		is_int(fake.reads[i].size, i < 6 ? PIECE : 100);
		bring(i, (char)('a' + i));
		is_int(mtl_pm_progress_stage(&over, &error), i < 6 ? 1 : 2);
		ok(!over == (i < 6));
	}
	ok(over == &r.req.receive);
	is_int(error, 0);
	is_int(fake.n_reads, 7);
	is_int(r.req.receive.got, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		if (!okf(r.data[i] == (char)('a' + i / PIECE), "byte %zu", i))
			break;
	ok(!mtl_pm.staged);
	finish();
}

TAP_TEST(stage__pieces_are_unpacked_in_order)
{
	begin();
	must(mtl_pm_stage_begin(&r.req.receive));
	bring(1, 'b');
	bring(2, 'c');
	is_int(mtl_pm_progress_stage(&over, &error), 0);
	is_int(r.req.receive.got, 0);
	bring(0, 'a');
	is_int(mtl_pm_progress_stage(&over, &error), 3);
	is_int(r.req.receive.got, 3 * PIECE);
	is_int(r.data[2 * PIECE], 'c');
	ok(!over);
	mtl_pm.staged = NULL;
	finish();
}

TAP_TEST(stage__an_error_waits_for_the_reads_that_run)
{
	begin();
	must(mtl_pm_stage_begin(&r.req.receive));
	fake.reads[0].rc = EIO;
	is_int(mtl_pm_progress_stage(&over, &error), 1);
	/* Three still write to the stage, and no more are begun. */
	ok(!over);
	is_int(fake.n_reads, PIECES);
	bring(1, 'b');
	bring(2, 'c');
	fake.reads[3].rc = EPIPE;
	is_int(mtl_pm_progress_stage(&over, &error), 4);
	ok(over == &r.req.receive);
	/* The first error counts, and nothing behind it was unpacked. */
	is_int(error, EIO);
	is_int(r.req.receive.got, 0);
	finish();
}

TAP_TEST(stage__pm_has_no_read_now)
{
	begin();
	fake.read_error = ENOBUFS;
	must(mtl_pm_stage_begin(&r.req.receive));
	is_int(mtl_pm_progress_stage(&over, &error), 0);
	ok(!over);
	fake.read_error = 0;
	is_int(mtl_pm_progress_stage(&over, &error), 0);
	is_int(fake.n_reads, PIECES);
	mtl_pm.staged = NULL;
	finish();
}

TAP_TEST(stage__pm_refuses_to_read)
{
	begin();
	fake.read_error = EPIPE;
	must(mtl_pm_stage_begin(&r.req.receive));
	is_int(mtl_pm_progress_stage(&over, &error), 1);
	ok(over == &r.req.receive);
	is_int(error, EPIPE);
	finish();
}

TAP_TEST(stage__keeps_to_the_limit_of_reads)
{
	begin();
	mtl_pm.read_limit = 2;
	must(mtl_pm_stage_begin(&r.req.receive));
	is_int(fake.n_reads, 2);
	mtl_pm.staged = NULL;
	finish();
}

TAP_TEST(stage_begin__messages_that_are_not_staged)
{
	struct mtl_pm_peer *peer = begin();
	struct mtl_pm_receive other = {0};

	r.req.receive.wanted = PIECE + PIECE / 2 - 1;
	ok(!mtl_pm_stage_begin(&r.req.receive));
	r.req.receive.wanted = SIZE;
	r.req.receive.read_from = 1;
	ok(!mtl_pm_stage_begin(&r.req.receive));
	r.req.receive.read_from = 0;
	peer->stages = false;
	ok(!mtl_pm_stage_begin(&r.req.receive));
	peer->stages = true;
	TAILQ_INSERT_TAIL(&peer->waiting, &other, link);
	ok(!mtl_pm_stage_begin(&r.req.receive));
	TAILQ_REMOVE(&peer->waiting, &other, link);
	mtl_pm.staged = &other;
	ok(!mtl_pm_stage_begin(&r.req.receive));
	mtl_pm.staged = NULL;
	is_int(fake.n_reads, 0);
	r.req.receive.wanted = PIECE + PIECE / 2;
	ok(mtl_pm_stage_begin(&r.req.receive));
	mtl_pm.staged = NULL;
	finish();
}
