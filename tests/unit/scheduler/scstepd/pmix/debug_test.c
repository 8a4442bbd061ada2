// SPDX-License-Identifier: BSD-3-Clause
/*
 * debug: ranks that wait for their debugger are let go once, and late ones each by itself. One
 * release a process: one test.
 */
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	pmix_status_t status; /* of the registration */
	pmix_status_t code;
	pmix_notification_fn_t handler;
	pmix_status_t heard;
} t;

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t n, pmix_info_t infos[],
					  size_t n_infos, pmix_notification_fn_t handler,
					  pmix_hdlr_reg_cbfunc_t done, void *arg)
{
	is_int(n, 1);
	t.code = codes[0];
	t.handler = handler;
	return t.status;
}

static void heard(pmix_status_t status, pmix_info_t *results, size_t n, pmix_op_cbfunc_t done,
		  void *done_arg, void *arg)
{
	ok(arg == &t);
	t.heard = status;
}

static void come(pmix_rank_t rank)
{
	pmix_proc_t proc = pmix_proc(rank);

	t.heard = PMIX_ERROR;
	t.handler(1, t.code, &proc, NULL, 0, NULL, 0, heard, &t);
	is_int(t.heard, PMIX_EVENT_ACTION_COMPLETE);
	fake_turn();
}

/* The release that PMIx was told of is for this rank alone. */
static void is_let_go(int n, pmix_rank_t rank)
{
	is_int(pmix.n_notified, n);
	is_int(pmix.code, PMIX_DEBUGGER_RELEASE);
	is_int(pmix.range, PMIX_RANGE_CUSTOM);
	ok(!pmix.has_source);
	must(pmix.n_infos == 2);
	is_str(pmix.infos[0].key, PMIX_EVENT_NON_DEFAULT);
	is_str(pmix.infos[1].key, PMIX_EVENT_CUSTOM_RANGE);
	is_int(pmix.infos[1].value.type, PMIX_PROC);
	is_int(pmix.infos[1].value.data.proc->rank, rank);
	is_str(pmix.infos[1].value.data.proc->nspace, worlds_get(&fake.step.worlds, 0)->nspace);
	pmix.notified(PMIX_SUCCESS, pmix.notified_arg);
}

TAP_TEST(debug__ranks_before_and_after_the_release)
{
	pmix_proc_t proc;

	pmix_open(2, 2);
	t.status = PMIX_ERR_NOMEM;
	is_int(debug_listen(), PMIX_ERR_NOMEM);
	t.status = 5; /* the handler's number */
	is_int(debug_listen(), PMIX_SUCCESS);
	is_int(t.code, PMIX_READY_FOR_DEBUG);
	come(0);
	is_int(pmix.n_notified, 0);
	debug_release(&fake.step);
	is_let_go(1, PMIX_RANK_WILDCARD);
	debug_release(&fake.step);
	is_int(pmix.n_notified, 1);
	come(1);
	is_let_go(2, 1);
	is_int(fake.code, 0);
	pmix.notify = PMIX_ERR_BAD_PARAM;
	come(0);
	is_int(fake.code, STEP_CODE_START);
	ok(strstr(fake.text, "debugged ranks") != NULL);
	shift_close();
	proc = pmix_proc(0);
	t.handler(1, t.code, &proc, NULL, 0, NULL, 0, heard, &t);
	is_int(t.heard, PMIX_ERROR);
	pmix_close();
}
