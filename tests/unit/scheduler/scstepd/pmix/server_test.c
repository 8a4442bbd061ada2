// SPDX-License-Identifier: BSD-3-Clause
/* server: its opening in a thread, what PMIx is told of it, and its end at any time. */
#include "scheduler/scstepd/pmix/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/pmix/forget.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

static struct {
	struct small_order small;
	struct step step;
	pmix_status_t status, listen_status;
	pthread_t opener;
	int n_inits, n_listens, n_forgets, n_finals;
	bool is_hung;
	char nspace[300], tmpdir[64];
	pmix_rank_t rank;
	bool has_topology;
	int n_served;
	char why[256]; /* "": it is up */
} t;

void course_served(struct step *step, const char *why)
{
	ok(step == &t.step);
	t.n_served++;
	snprintf(t.why, sizeof(t.why), "%s", why ? why : "");
}

pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t v[], size_t n)
{
	const pmix_value_t *shared = infos_find(v, n, PMIX_TOPOLOGY2);

	t.n_inits++;
	t.opener = pthread_self();
	ok(module->fence_nb && module->direct_modex && module->spawn && module->client_connected2);
	snprintf(t.nspace, sizeof(t.nspace), "%s",
		 infos_find(v, n, PMIX_SERVER_NSPACE)->data.string);
	snprintf(t.tmpdir, sizeof(t.tmpdir), "%s",
		 infos_find(v, n, PMIX_SERVER_TMPDIR)->data.string);
	t.rank = infos_find(v, n, PMIX_SERVER_RANK)->data.rank;
	ok(!infos_find(v, n, PMIX_SERVER_TOOL_SUPPORT)->data.flag);
	/* Ours, not a copy. */
	t.has_topology = shared && shared->type == PMIX_TOPO &&
			 shared->data.topo->topology == bind_topology(t.step.bind);
	return t.status;
}

bool forget_worlds(const struct worlds *worlds, unsigned int limit_ms)
{
	ok(worlds == &t.step.worlds && limit_ms < 4000);
	t.n_forgets++;
	return !t.is_hung;
}

pmix_status_t PMIx_server_finalize(void)
{
	t.n_finals++;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t n, pmix_info_t infos[],
					  size_t n_infos, pmix_notification_fn_t handler,
					  pmix_hdlr_reg_cbfunc_t done, void *arg)
{
	t.n_listens++;
	return t.listen_status;
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	small_order_init(&t.small, 2, 2);
	t.step = (struct step){.order = &t.small.order,
			       .here = 1,
			       .host = "n1",
			       .tmpdir = (char *)(uintptr_t) "/tmp/job",
			       .loop = ev_loop_new(EVFLAG_AUTO)};
	t.step.bind = bind_open(&t.small.order, "", t.why, sizeof(t.why));
	ok(t.step.bind != NULL);
	ok(!worlds_init(&t.step.worlds, &t.small.order));
	shift_open(t.step.loop);
}

static void finish(void)
{
	server_close();
	ok(!server_step());
	bind_close(t.step.bind);
	worlds_fini(&t.step.worlds);
	small_order_fini(&t.small);
	ev_loop_destroy(t.step.loop);
}

static void serve(void)
{
	is_int(server_open(&t.step), 0);
	ok(server_step() == &t.step);
	while (!t.n_served)
		ev_run(t.step.loop, EVRUN_ONCE);
}

TAP_TEST(server_open__is_up)
{
	char want[300];

	begin();
	serve();
	is_str(t.why, "");
	ok(!pthread_equal(t.opener, pthread_self()));
	snprintf(want, sizeof(want), "%s:step", worlds_get(&t.step.worlds, 0)->nspace);
	is_str(t.nspace, want);
	is_int(t.rank, 1);
	is_str(t.tmpdir, "/tmp/job");
	ok(t.has_topology);
	is_int(t.n_listens, 0);
	finish();
	is_int(t.n_forgets, 1);
	is_int(t.n_finals, 1);
}

TAP_TEST(server_close__of_one_that_hangs)
{
	begin();
	serve();
	t.is_hung = true;
	finish();
	/* It would never come back. */
	is_int(t.n_finals, 0);
}

TAP_TEST(server_open__does_not_start)
{
	begin();
	t.status = PMIX_ERR_UNREACH;
	t.small.job.is_debugged = true;
	serve();
	okf(strstr(t.why, "host n1: PMIx's server does not start") && strstr(t.why, "lo up?"), "%s",
	    t.why);
	is_int(t.n_listens, 0);
	finish();
	/* There is nothing to end. */
	is_int(t.n_forgets, 0);
	is_int(t.n_finals, 0);
}

TAP_TEST(server_open__of_a_debugged_job)
{
	begin();
	t.small.job.is_debugged = true;
	t.listen_status = 4; /* the handler's number */
	serve();
	is_int(t.n_listens, 1);
	is_str(t.why, "");
	finish();
	begin();
	t.small.job.is_debugged = true;
	t.listen_status = PMIX_ERR_NOMEM;
	serve();
	ok(t.why[0]);
	finish();
}

TAP_TEST(server_close__while_it_opens)
{
	begin();
	is_int(server_open(&t.step), 0);
	server_close();
	/* The thread has ended, and nobody is told any more. */
	is_int(t.n_inits, 1);
	is_int(t.n_finals, 1);
	ev_run(t.step.loop, EVRUN_NOWAIT);
	is_int(t.n_served, 0);
	finish();
	is_int(t.n_finals, 1);
}
