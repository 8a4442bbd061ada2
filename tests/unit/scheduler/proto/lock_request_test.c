// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/lock_request.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static char why[256];

/* Decodes @from and encodes the result again; NULL with a reason in why. Takes the reference. */
static json_t *again(json_t *from)
{
	struct lock_request *request = NULL;
	json_t *to;
	int err;

	*why = 0;
	err = lock_request_decode(&request, from, why, sizeof(why));
	is_int(err, request ? 0 : -EINVAL);
	to = request ? lock_request_encode(request) : NULL;
	lock_request_free(request);
	json_decref(from);
	return to;
}

TAP_TEST(lock_request__all_and_nothing_but_hosts)
{
	json_t *full = json_pack("{s:[s,s], s:i, s:s, s:b, s:b, s:b, s:s, s:s, s:i}", "hosts", "n1",
				 "n2", "count", 1, "mode", "shared", "scatter", 1, "wait", 1,
				 "force", 1, "reason", "disks", "place", "n0 12", "lease_s", 5);
	json_t *to = again(json_incref(full));

	ok(json_equal(to, full));
	json_decref(to);
	json_decref(full);
	to = again(json_pack("{s:[s,s]}", "hosts", "n1", "n2"));
	is_str(json_string_value(json_object_get(to, "mode")), "exclusive");
	is_int(json_integer_value(json_object_get(to, "count")), 2);
	is_int(json_integer_value(json_object_get(to, "lease_s")), LOCK_LEASE_S);
	is_str(json_string_value(json_object_get(to, "reason")), "");
	ok(json_is_false(json_object_get(to, "wait")));
	json_decref(to);
}

TAP_TEST(lock_request__refused)
{
	char text[LOCK_TEXT_MAX + 2] = "";

	ok(!again(json_object()));
	is_str(why, "lock: hosts are missing");
	ok(!again(json_pack("{s:[]}", "hosts")));
	ok(!again(json_pack("{s:[s]}", "hosts", "a b")));
	ok(!again(json_pack("{s:[s], s:i}", "hosts", "a", "count", 0)));
	ok(!again(json_pack("{s:[s], s:i}", "hosts", "a", "count", 2)));
	is_str(why, "lock: count must be a whole number from 1 to 1");
	ok(!again(json_pack("{s:[s], s:i}", "hosts", "a", "lease_s", LOCK_LEASE_MIN_S - 1)));
	ok(!again(json_pack("{s:[s], s:i}", "hosts", "a", "lease_s", LOCK_LEASE_MAX_S + 1)));
	ok(!again(json_pack("{s:[s], s:s}", "hosts", "a", "mode", "half")));
	ok(!again(json_pack("{s:[s], s:s}", "hosts", "a", "reason", "two\nlines")));
	/* Of U+0080 to U+009F terminals make commands as of ESC. */
	ok(!again(json_pack("{s:[s], s:s}", "hosts", "a", "reason",
			    "\xc2\x9b"
			    "2J")));
	memset(text, 'x', LOCK_TEXT_MAX + 1);
	ok(!again(json_pack("{s:[s], s:s}", "hosts", "a", "reason", text)));
	is_str(why, "lock: reason may have 200 bytes at most");
}
