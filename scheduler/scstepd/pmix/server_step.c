// SPDX-License-Identifier: BSD-3-Clause
/*
 * server_step - the step that PMIx's server serves, and what its upcalls need: our numbers of
 * processes, PMIx's errors.
 */
#include <errno.h>

#include "scheduler/scstepd/pmix/server.h"

static struct step *served;

void server_serve(struct step *step)
{
	served = step;
}

struct step *server_step(void)
{
	return served;
}

pmix_status_t server_status(int error)
{
	switch (error) {
	case 0:
		return PMIX_SUCCESS;
	case ENOMEM:
		return PMIX_ERR_NOMEM;
	case ENOENT:
		return PMIX_ERR_NOT_FOUND;
	case EEXIST:
		return PMIX_ERR_DUPLICATE_KEY;
	case ETIMEDOUT:
		return PMIX_ERR_TIMEOUT;
	case EINVAL:
		return PMIX_ERR_BAD_PARAM;
	case EOPNOTSUPP:
		return PMIX_ERR_NOT_SUPPORTED;
	case ENOSPC:
	case EMSGSIZE:
		return PMIX_ERR_OUT_OF_RESOURCE;
	default:
		return PMIX_ERROR;
	}
}

bool server_find(const pmix_proc_t *proc, struct world **ret_world, uint32_t *ret_rank)
{
	struct world *world = worlds_find(&served->worlds, proc->nspace);

	if (!world || (proc->rank != PMIX_RANK_WILDCARD && proc->rank >= world->n_ranks))
		return false;
	*ret_world = world;
	*ret_rank = proc->rank;
	return true;
}
