// SPDX-License-Identifier: BSD-3-Clause
/* Tests of packetpool. */
#include "pmcore/util/packetpool.h"

#include "tests/harness/tap.h"

TAP_TEST(packetpool_take__empty)
{
	struct packetpool pool = {0};

	ok(!packetpool_take(&pool));
}

TAP_TEST(packetpool_take__what_was_in_it_is_gone)
{
	struct packetpool pool = {0};
	struct pm_packet p = {.room = 64, .len = 8};

	packetpool_put(&pool, &p);
	is_int(pool.n_free, 1);
	ok(packetpool_take(&pool) == &p);
	ok(!p.next && !p.len && p.room == 64);
	is_int(pool.n_free, 0);
	ok(!packetpool_take(&pool));
}

TAP_TEST(packetpool_take__last_in_first_out)
{
	struct packetpool pool = {0};
	struct pm_packet p[2] = {0};

	packetpool_put(&pool, &p[0]);
	packetpool_put(&pool, &p[1]);
	ok(packetpool_take(&pool) == &p[1]);
	ok(packetpool_take(&pool) == &p[0]);
}

TAP_TEST(packetpool_give__busy_ones_come_back_when_let_go)
{
	struct packetpool pool = {0};
	struct pm_packet p = {.busy = 2};

	packetpool_give(&pool, &p);
	ok(!pool.free && p.is_freed);
	packetpool_let_go(&pool, &p);
	ok(!pool.free);
	packetpool_let_go(&pool, &p);
	ok(pool.free == &p && !p.is_freed);
}

TAP_TEST(packetpool_let_go__still_in_use)
{
	struct packetpool pool = {0};
	struct pm_packet p = {.busy = 1};

	packetpool_let_go(&pool, &p);
	ok(!pool.free && !p.busy);
	packetpool_give(&pool, &p);
	ok(pool.free == &p);
}
