// SPDX-License-Identifier: BSD-3-Clause
/*
 * debug - ranks of a job that is debugged wait in PMIx_Init, as nspace.c has told them to, for an event. Who came to
 * wait before the release hears it with all others, who comes later gets one of his own.
 */
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

pmix_status_t debug_ready(const pmix_proc_t *source)
{
	pmix_proc_t *proc = malloc(sizeof(*proc));

	if (!proc)
		return PMIX_ERR_NOMEM;
	*proc = *source;
	if (!shift_post(came, proc))
		return PMIX_OPERATION_SUCCEEDED;
	free(proc);
	return PMIX_ERROR;
}

void debug_release(const struct step *step)
{
	if (is_released)
		return;
	is_released = true;
	if (worlds_get(&step->worlds, 0)->hosts[step->here].ranks)
		let_go(step, PMIX_RANK_WILDCARD);
}
