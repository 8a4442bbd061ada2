// SPDX-License-Identifier: BSD-3-Clause
/* forget: every world that this host knows, from another thread, and a PMIx that hangs. */
#include "scheduler/scstepd/pmix/forget.h"

#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define LONG_MS 60000

static struct {
	struct world a, b;
	struct world *all[3];
	struct worlds worlds;
	pthread_t threads[2];
	int n;
	bool is_hung;
	char said[64];
} t;

static void *answer(void *done)
{
	/* Late enough for the caller to wait, in most cases. */
	usleep(2000);
	(*(pmix_op_cbfunc_t *)done)(PMIX_SUCCESS, NULL);
	return NULL;
}

void PMIx_server_deregister_nspace(const pmix_nspace_t nspace, pmix_op_cbfunc_t done, void *arg)
{
	static pmix_op_cbfunc_t called;

	called = done;
	snprintf(t.said + strlen(t.said), sizeof(t.said) - strlen(t.said), "%s ", nspace);
	if (!t.is_hung)
		must(!pthread_create(&t.threads[t.n++], NULL, answer, &called));
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	snprintf(t.a.nspace, sizeof(t.a.nspace), "a");
	snprintf(t.b.nspace, sizeof(t.b.nspace), "b");
	/* The host has not been told of the one in the middle. */
	t.all[0] = &t.a;
	t.all[2] = &t.b;
	t.worlds = (struct worlds){.all = t.all, .n = 3};
}

static void finish(void)
{
	for (int i = 0; i < t.n; i++)
		pthread_join(t.threads[i], NULL);
}

TAP_TEST(forget_worlds__of_all_that_are_known)
{
	begin();
	ok(forget_worlds(&t.worlds, LONG_MS));
	is_str(t.said, "a b ");
	finish();
}

TAP_TEST(forget_worlds__of_none)
{
	begin();
	t.worlds.n = 0;
	ok(forget_worlds(&t.worlds, LONG_MS));
	is_str(t.said, "");
}

/* The last one: the count of open calls stays. */
TAP_TEST(forget_worlds__does_not_wait_for_ever)
{
	begin();
	t.is_hung = true;
	ok(!forget_worlds(&t.worlds, 1));
	is_str(t.said, "a b ");
}
