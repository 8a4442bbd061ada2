// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmi - one server of pmi1.h for each world, opened when its first rank here is forked. A barrier
 * is a collective of the whole world.
 */
#include "scheduler/scstepd/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmi1.h"
#include "scheduler/scstepd/ranks.h"

struct pmi {
	struct pmi *next;
	struct step *step;
	struct world *world;
	struct pmi1 *server;
};

static struct pmi *all;

static void met(int error, const char *data, size_t size, void *arg)
{
	struct pmi *pmi = arg;

	pmi1_fenced(pmi->server, error, data, size);
}

static int on_fence(const void *data, size_t size, void *owner)
{
	struct pmi *pmi = owner;
	char set[16];

	snprintf(set, sizeof(set), "%" PRIu32, pmi->world->number);
	return collective_join(pmi->step->collectives, OP_BARRIER, set, data, size, met, pmi);
}

static void on_abort(uint32_t rank, int code, const char *text, void *owner)
{
	struct pmi *pmi = owner;
	char sentence[400];

	if (!*text) {
		step_abort(pmi->step, pmi->world->number, rank, code, "");
		return;
	}
	snprintf(sentence, sizeof(sentence), "rank %" PRIu32 " on %s: %s", rank,
		 pmi->step->order->hosts[world_host_of(pmi->world, rank)].name, text);
	step_failed(pmi->step, pmi->world->number, rank, code, sentence);
}

static void set_in_mpi(struct pmi *pmi, uint32_t number, bool is_in_mpi)
{
	struct rank *rank = ranks_get(pmi->step->ranks, pmi->world, number);

	if (!rank)
		return;
	rank->is_in_mpi = is_in_mpi;
	rank->has_come |= is_in_mpi;
}

static void on_initialized(uint32_t rank, void *owner)
{
	set_in_mpi(owner, rank, true);
}

static void on_finalized(uint32_t rank, void *owner)
{
	set_in_mpi(owner, rank, false);
}

static const struct pmi1_ops ops = {
	.fence = on_fence,
	.abort = on_abort,
	.initialized = on_initialized,
	.finalized = on_finalized,
};

/*
 * "(vector,(0,2,4),(2,1,1))": from host 0 on 2 hosts with 4 ranks each, then one with 1. free() it.
 */
static char *mapping_of(const struct world *world)
{
	size_t number = 0, run, size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("(vector", out);
	for (size_t i = 0; i < world->n_hosts; i += run) {
		uint32_t ranks = world->hosts[i].ranks;

		for (run = 1; i + run < world->n_hosts; run++)
			if (world->hosts[i + run].ranks != ranks)
				break;
		if (!ranks)
			continue;
		fprintf(out, ",(%zu,%zu,%" PRIu32 ")", number, run, ranks);
		number += run;
	}
	putc(')', out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The number of its program that a rank may be told, for each rank of this host. free() it. */
static uint32_t *appnums_of(const struct world *world, const struct world_host *here)
{
	uint32_t *numbers = calloc(here->ranks ? here->ranks : 1, sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < here->ranks; i++)
		numbers[i] = (uint32_t)world_app_of(world, here->first + i, NULL, NULL);
	return numbers;
}

static int open_server(struct pmi *pmi)
{
	const struct order *order = pmi->step->order;
	const struct world_host *here = &pmi->world->hosts[pmi->step->here];
	char name[64], *mapping = mapping_of(pmi->world);
	uint32_t *appnums = appnums_of(pmi->world, here);
	struct pmi1_setup setup = {
		.kvsname = name,
		.size = pmi->world->n_ranks,
		.first = here->first,
		.n_local = here->ranks,
		.appnum = appnums,
		.mapping = mapping,
		.is_held = order->job->is_debugged && !pmi->world->number,
	};
	int rc = -ENOMEM;

	snprintf(name, sizeof(name), "score_%" PRIu64 "_%" PRIu32, order->id, pmi->world->number);
	for (size_t i = 0; i < order->n_hosts; i++)
		setup.universe += (uint32_t)order->hosts[i].n_cores;
	if (setup.universe < setup.size)
		setup.universe = setup.size;
	if (mapping && appnums) {
		pmi->server = pmi1_open(pmi->step->loop, &setup, &ops, pmi);
		rc = pmi->server ? 0 : -errno;
	}
	free(mapping);
	free(appnums);
	return rc;
}

static int get(struct step *step, struct world *world, struct pmi **ret)
{
	struct pmi *pmi = all;
	int rc;

	while (pmi && pmi->world != world)
		pmi = pmi->next;
	*ret = pmi;
	if (pmi)
		return 0;
	pmi = calloc(1, sizeof(*pmi));
	if (!pmi)
		return -ENOMEM;
	*pmi = (struct pmi){.next = all, .step = step, .world = world};
	rc = open_server(pmi);
	if (rc) {
		free(pmi);
		return rc;
	}
	all = pmi;
	*ret = pmi;
	return 0;
}

int pmi_join(struct step *step, struct world *world, uint32_t rank, int *ret)
{
	struct pmi *pmi;
	int rc = get(step, world, &pmi), ends[2];

	if (rc)
		return rc;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	/* Ours only: MPICH wants its end to block. */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK)) {
		rc = -errno;
		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	rc = pmi1_add(pmi->server, rank, ends[0]);
	if (rc) {
		close(ends[1]);
		return rc;
	}
	*ret = ends[1];
	return 0;
}

void pmi_release(void)
{
	for (struct pmi *pmi = all; pmi; pmi = pmi->next)
		pmi1_release(pmi->server);
}

void pmi_close(void)
{
	while (all) {
		struct pmi *pmi = all;

		all = pmi->next;
		pmi1_close(pmi->server);
		free(pmi);
	}
}
