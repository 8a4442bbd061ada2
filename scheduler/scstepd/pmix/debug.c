// SPDX-License-Identifier: BSD-3-Clause
/*
 * debug - ranks of a job that is debugged wait in PMIx_Init, as nspace.c has told them to, for an
 * event. A rank that waits before the release hears it with all others, one that comes later gets
 * an event of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"

static bool is_released;

static void let_go_done(pmix_status_t status, void *arg)
{
	struct infos *infos = arg;

	infos_fini(infos);
	free(infos);
}

/* @rank of ours in world 0, or PMIX_RANK_WILDCARD. */
static void let_go(const struct step *step, pmix_rank_t rank)
{
	struct infos *infos = calloc(1, sizeof(*infos)); /* lives until PMIx is done with it */
	pmix_status_t status = PMIX_ERR_NOMEM;
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, worlds_get(&step->worlds, 0)->nspace, rank);
	if (infos) {
		/* Nobody takes it for an error. */
		infos_true(infos, PMIX_EVENT_NON_DEFAULT);
		infos_add(infos, PMIX_EVENT_CUSTOM_RANGE, &proc, PMIX_PROC);
		/* No source: a rank that is one is not told, and all would be the wildcard. */
		if (!infos->is_broken)
			status = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, NULL, PMIX_RANGE_CUSTOM,
						   infos->v, infos->n, let_go_done, infos);
		if (status != PMIX_SUCCESS)
			let_go_done(status, infos);
	}
	if (status != PMIX_SUCCESS)
		step_failed(server_step(), 0, -1, STEP_CODE_START,
			    "PMIx does not let the debugged ranks go");
}

static void came(void *arg)
{
	pmix_proc_t *proc = arg;

	if (is_released)
		let_go(server_step(), proc->rank);
	free(proc);
}

/* A rank waits for its debugger. */
static void is_waiting(size_t registration, pmix_status_t code, const pmix_proc_t *source,
		       pmix_info_t info[], size_t n_info, pmix_info_t results[], size_t n_results,
		       pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	pmix_proc_t *proc = malloc(sizeof(*proc));
	int rc = -ENOMEM;

	if (proc) {
		*proc = *source;
		rc = shift_post(came, proc);
	}
	if (rc)
		free(proc);
	done(rc ? server_status(-rc) : PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

/*
 * By a handler, for PMIx 4.2 and 5.0 keep events of this range from the upcall that all others
 * take. With 4.2 a rank that comes late finds the release among its server's old events, with 5.0
 * it does not.
 */
pmix_status_t debug_listen(void)
{
	pmix_status_t code = PMIX_READY_FOR_DEBUG;
	pmix_status_t status;

	status = PMIx_Register_event_handler(&code, 1, NULL, 0, is_waiting, NULL, NULL);
	/* the handler's number, or an error */
	return status < 0 ? status : PMIX_SUCCESS;
}

void debug_release(const struct step *step)
{
	if (is_released)
		return;
	is_released = true;
	if (worlds_get(&step->worlds, 0)->hosts[step->here].ranks)
		let_go(step, PMIX_RANK_WILDCARD);
}
