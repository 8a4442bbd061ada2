// SPDX-License-Identifier: BSD-3-Clause
/*
 * auth: its end. Credentials, made and read: handshake_test.c and link_credential_test.c.
 */
#include "scheduler/proto/auth.h"

#include "tests/harness/tap.h"

static void answered(const struct auth_answer *answer, void *owner)
{
	int *n = owner;

	(void)answer;
	++*n;
}

TAP_TEST(auth_close__of_none)
{
	auth_close(NULL);
	ok(true);
}

TAP_TEST(auth_close__before_the_answer)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct auth *auth = auth_open(loop, "/no/such/munged");
	int n = 0;

	must(auth != NULL);
	ok(auth_make(auth, "payload", (uid_t)-1, answered, &n) != NULL);
	auth_close(auth);
	/* Nothing keeps the loop. */
	ok(!ev_run(loop, EVRUN_NOWAIT));
	is_int(n, 0);
	ev_loop_destroy(loop);
}
