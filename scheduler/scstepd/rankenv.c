// SPDX-License-Identifier: BSD-3-Clause
/*
 * rankenv - names and values; PMIx's own come from its server.
 */
#include "scheduler/scstepd/rankenv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/pmix/nspace.h"

/* The user's options with the devices that -network names in place of his own. */
static void put_pm_options(const struct step *step, struct env *env)
{
	const char *network = step->order->job->network, *old = env_get(env, "PM_OPTIONS");
	char *kept = old ? strdup(old) : NULL, *at = kept, *word;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!network)
		goto unchanged;
	out = open_memstream(&text, &size);
	if (!out) {
		env->is_broken = true;
		goto unchanged;
	}
	fprintf(out, "PM_OPTIONS=devices=%s", network);
	while (at && (word = strsep(&at, ",")))
		if (*word && strncmp(word, "devices=", 8))
			fprintf(out, ",%s", word);
	if (fclose(out))
		env->is_broken = true;
	else
		env_put(env, text);
	free(text);
unchanged:
	free(kept);
}

/*
 * PM is Open MPI's transport, unless the user has chosen one. Others are not even loaded then, of which some make
 * each start wait.
 */
static void put_transport(struct env *env)
{
	if (!env_get(env, "OMPI_MCA_mtl") && !env_get(env, "OMPI_MCA_pml") &&
	    !env_get(env, "OMPI_MCA_btl"))
		env_put(env, "OMPI_MCA_mtl=pm");
}

int rankenv_app(const struct step *step, const struct world *world, const struct job_app *app,
		struct env *ret)
{
	const struct order *order = step->order;

	env_put_all(ret, order->job->env);
	env_put_all(ret, app->env);
	put_transport(ret);
	env_putf(ret, "PWD=%s", app->cwd ? app->cwd : order->job->cwd);
	env_putf(ret, "TMPDIR=%s", step->tmpdir);
	env_putf(ret, "SCORE_JOBID=%" PRIu64, order->id);
	env_putf(ret, "SCORE_HOST=%s", step->host);
	env_putf(ret, "SCORE_NODES=%zu", order->n_hosts);
	env_putf(ret, "SCORE_RANKS=%" PRIu32, world->n_ranks);
	env_putf(ret, "SCORE_WORLD=%" PRIu32, world->number);
	env_putf(ret, "SCORE_RESTARTS=%" PRIu32, order->incarnation);
	/* Open MPI 4.1: the namespace is a number, see world.c. */
	env_put(ret, "OMPI_MCA_orte_launch=1");
	/* Where Open MPI's transports look for a key that all of a job have. */
	env_putf(ret, "OMPI_MCA_orte_precondition_transports=%016" PRIx64 "-%016" PRIx64,
		 order->key, order->id);
	put_pm_options(step, ret);
	return ret->is_broken ? -ENOMEM : 0;
}

int rankenv_rank(const struct step *step, const struct world *world, uint32_t number, int pmi,
		 const struct env *common, struct env *ret)
{
	char **ours;
	int rc = nspace_environment(world, number, &ours);

	if (rc)
		return rc;
	env_put_all(ret, common->v);
	env_put_all(ret, ours);
	for (size_t i = 0; ours[i]; i++)
		free(ours[i]);
	free(ours);
	env_putf(ret, "SCORE_RANK=%" PRIu32, number);
	env_putf(ret, "SCORE_LOCAL_RANK=%" PRIu32, number - world->hosts[step->here].first);
	if (pmi >= 0) {
		env_putf(ret, "PMI_FD=%d", pmi);
		env_putf(ret, "PMI_RANK=%" PRIu32, number);
		env_putf(ret, "PMI_SIZE=%" PRIu32, world->n_ranks);
	}
	return ret->is_broken ? -ENOMEM : 0;
}
