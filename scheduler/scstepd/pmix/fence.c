// SPDX-License-Identifier: BSD-3-Clause
/*
 * fence - PMIx's collective calls (fence, connect, disconnect) as collectives of ranks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "scheduler/scstepd/transport.h"

struct call {
	const char *op;
	pmix_proc_t *procs;
	size_t n;
	char *data;
	size_t size;
	pmix_modex_cbfunc_t modex_done; /* one of the two */
	pmix_op_cbfunc_t op_done;
	void *arg;
};

static void call_free(struct call *call)
{
	free(call->procs);
	free(call->data);
	free(call);
}

/* PMIx keeps @data until it calls free(). */
static void answer(struct call *call, pmix_status_t status, char *data, size_t size)
{
	if (call->op_done)
		call->op_done(status, call->arg);
	else
		call->modex_done(status, data, size, call->arg, free, data);
	if (call->op_done)
		free(data);
	call_free(call);
}

static void met(int error, const char *data, size_t size, void *arg)
{
	struct call *call = arg;
	char *copy = NULL;

	if (!error && size && !call->op_done) {
		copy = malloc(size);
		if (copy)
			memcpy(copy, data, size);
		else
			error = ENOMEM;
	}
	answer(call, server_status(error), copy, copy ? size : 0);
}

static void run(void *arg)
{
	struct call *call = arg;
	struct step *step = server_step();
	struct collective_rank *ranks = calloc(call->n, sizeof(*ranks));
	char *set = NULL;
	int rc = ranks ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < call->n; i++) {
		struct world *world;
		uint32_t rank;

		if (!server_find(&call->procs[i], &world, &rank)) {
			rc = -ENOENT;
			break;
		}
		ranks[i].world = world->number;
		ranks[i].rank = rank == PMIX_RANK_WILDCARD ? COLLECTIVE_ALL_RANKS : rank;
	}
	if (!rc) {
		transport_look(step, call->data, call->size);
		set = collective_set(&step->worlds, ranks, call->n);
		rc = set ? collective_join(step->collectives, call->op, set, call->data, call->size,
					   met, call)
			 : -errno;
	}
	free(set);
	free(ranks);
	if (rc)
		answer(call, server_status(-rc), NULL, 0);
}

static pmix_status_t post(const char *op, const pmix_proc_t procs[], size_t n, const char *data,
			  size_t size, pmix_modex_cbfunc_t modex_done, pmix_op_cbfunc_t op_done,
			  void *arg)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return PMIX_ERR_NOMEM;
	*call = (struct call){.op = op,
			      .n = n,
			      .size = size,
			      .modex_done = modex_done,
			      .op_done = op_done,
			      .arg = arg};
	call->procs = malloc((n ? n : 1) * sizeof(*procs));
	call->data = malloc(size ? size : 1);
	if (!n || !call->procs || !call->data) {
		call_free(call);
		return n ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
	}
	memcpy(call->procs, procs, n * sizeof(*procs));
	if (size)
		memcpy(call->data, data, size);
	if (shift_post(run, call)) {
		call_free(call);
		return PMIX_ERROR;
	}
	return PMIX_SUCCESS;
}

pmix_status_t fence_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
			   size_t n_info, char *data, size_t size, pmix_modex_cbfunc_t done,
			   void *arg)
{
	return post(OP_FENCE, procs, n, data, data ? size : 0, done, NULL, arg);
}

pmix_status_t connect_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
			     size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	return post(OP_CONNECT, procs, n, NULL, 0, NULL, done, arg);
}

pmix_status_t disconnect_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
				size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
	return post(OP_DISCONNECT, procs, n, NULL, 0, NULL, done, arg);
}
