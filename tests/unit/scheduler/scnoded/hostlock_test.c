// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/hostlock.h"

#include <errno.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define ANN 70001u /* no users of this machine */
#define BOB 70002u

static int take(struct hostlock *lock, json_t *head)
{
	int err = hostlock_take(lock, head);

	json_decref(head);
	return err;
}

static struct hostlock of_ann(void)
{
	struct hostlock lock = {0};

	is_int(take(&lock, json_pack("{s:i, s:s}", "uid", ANN, "text", "locked by ann")), 0);
	return lock;
}

TAP_TEST(hostlock_keeps_off__others)
{
	struct hostlock lock = of_ann();

	ok(hostlock_keeps_off(&lock, BOB, 0));
	ok(!hostlock_keeps_off(&lock, ANN, 0));
	ok(!hostlock_keeps_off(&lock, 0, 0));
	ok(!hostlock_keeps_off(&lock, geteuid(), 0));
	ok(hostlock_is_of(&lock, ANN));
	ok(!hostlock_is_of(&lock, BOB));
	is_str(lock.text, "locked by ann");
	is_int(take(&lock, json_object()), 0);
	ok(!hostlock_keeps_off(&lock, BOB, 0));
	ok(!hostlock_is_of(&lock, ANN));
}

TAP_TEST(hostlock_take__nonsense_changes_nothing)
{
	struct hostlock lock = of_ann();

	is_int(take(&lock, json_pack("{s:s, s:s}", "uid", "0", "text", "x")), -EPROTO);
	is_int(take(&lock, json_pack("{s:i, s:s}", "uid", -1, "text", "x")), -EPROTO);
	is_int(take(&lock, json_pack("{s:I, s:s}", "uid", (json_int_t)1 << 40, "text", "x")),
	       -EPROTO);
	is_int(take(&lock, json_pack("{s:i}", "uid", 5)), -EPROTO);
	ok(hostlock_keeps_off(&lock, BOB, 0));
}

TAP_TEST(hostlock_lose__holds_for_a_while)
{
	struct hostlock lock = of_ann();

	hostlock_lose(&lock, 100);
	hostlock_lose(&lock, 130);
	ok(hostlock_keeps_off(&lock, BOB, 100 + HOSTLOCK_STALE_S - 1));
	ok(!hostlock_keeps_off(&lock, BOB, 100 + HOSTLOCK_STALE_S));
	hostlock_clear(&lock);
	hostlock_lose(&lock, 200);
	ok(!hostlock_keeps_off(&lock, BOB, 201));
}
