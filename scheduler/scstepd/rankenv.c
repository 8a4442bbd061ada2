// SPDX-License-Identifier: BSD-3-Clause
/*
 * rankenv - names and values; PMIx's own come from its server.
 */
#include "scheduler/scstepd/rankenv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/stats.h"
#include "pmcore/util/suspend_page.h"
#include "scheduler/scstepd/algorithms.h"
#include "scheduler/scstepd/pmix/nspace.h"
#include "scheduler/scstepd/standstill.h"

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
 * PM is Open MPI's transport, unless the user has chosen one. Others are not even loaded then, of
 * which some make each start wait.
 */
static void put_transport(struct env *env)
{
	if (!env_get(env, "OMPI_MCA_mtl") && !env_get(env, "OMPI_MCA_pml") &&
	    !env_get(env, "OMPI_MCA_btl"))
		env_put(env, "OMPI_MCA_mtl=pm");
}

/*
 * An Open MPI 4 that has not our schizo/score would start each rank as a job of its own, without a
 * word. With this name of another launcher its own schizo/jsm does what is needed; where ours is
 * there it comes first.
 */
static void put_start(struct env *env)
{
	if (!env_get(env, "JSM_JSRUN_PORT"))
		env_put(env, "JSM_JSRUN_PORT=0");
}

/* Where this host stands in a hypercrossbar, and the grid that the job's ranks are laid on. */
static void put_topology(const struct step *step, const struct world *world, struct env *env)
{
	const struct order *order = step->order;
	char text[80];

	if (order->n_dims) {
		rankenv_numbers(order->hosts[step->here].at, order->n_dims, ",", text,
				sizeof(text));
		env_putf(env, "SCORE_COORDS=%s", text);
	}
	if (order->job->n_cart && !world->number) {
		rankenv_numbers(order->job->cart, order->job->n_cart, "x", text, sizeof(text));
		env_putf(env, "SCORE_CART=%s", text);
	}
}

/* The place of rank @number in that grid, as MPI_Cart_coords tells it. */
static void put_cart(const struct job *job, uint32_t number, struct env *env)
{
	uint32_t at[JOB_CART_DIMS];
	char text[80];

	for (uint32_t i = job->n_cart; i--; number /= job->cart[i])
		at[i] = number % job->cart[i];
	rankenv_numbers(at, job->n_cart, ",", text, sizeof(text));
	env_putf(env, "SCORE_CART_COORDS=%s", text);
}

/* Where PM's ranks look for orders to give their devices back. */
static void put_orders(const struct step *step, const struct world *world, uint32_t number,
		       struct env *env)
{
	const struct world_host *host = &world->hosts[step->here];
	uint32_t slot = host->before + number - host->first;

	if (slot < step->slots)
		env_putf(env,
			 SUSPEND_PAGE_VARIABLE "=%" PRIu32 ":%s.%" PRIu32 ":%s/" STANDSTILL_FILE,
			 slot, world->nspace, number, step->tmpdir);
}

void rankenv_numbers(const uint32_t *numbers, uint32_t n, const char *between, char *to,
		     size_t size)
{
	size_t used = 0;

	*to = 0;
	for (uint32_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%" PRIu32, i ? between : "",
					 numbers[i]);
}

int rankenv_app(const struct step *step, const struct world *world, const struct job_app *app,
		struct env *ret)
{
	const struct order *order = step->order;

	env_put_all(ret, order->job->env);
	env_put_all(ret, app->env);
	put_transport(ret);
	algorithms_put(ret, algorithms_rules());
	put_start(ret);
	env_putf(ret, "PWD=%s", app->cwd ? app->cwd : order->job->cwd);
	env_putf(ret, "TMPDIR=%s", step->tmpdir);
	/* Of a job with a /dev/shm of its own: scnoded has told it to us in the same way. */
	if (getenv(STATS_VARIABLE))
		env_putf(ret, STATS_VARIABLE "=%s", getenv(STATS_VARIABLE));
	env_putf(ret, "SCORE_JOBID=%" PRIu64, order->id);
	env_putf(ret, "SCORE_HOST=%s", step->host);
	env_putf(ret, "SCORE_NODES=%zu", order->n_hosts);
	env_putf(ret, "SCORE_RANKS=%" PRIu32, world->n_ranks);
	env_putf(ret, "SCORE_WORLD=%" PRIu32, world->number);
	env_putf(ret, "SCORE_RESTARTS=%" PRIu32, order->incarnation);
	put_topology(step, world, ret);
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
	put_orders(step, world, number, ret);
	if (step->order->job->n_cart && !world->number)
		put_cart(step->order->job, number, ret);
	if (pmi >= 0) {
		env_putf(ret, "PMI_FD=%d", pmi);
		env_putf(ret, "PMI_RANK=%" PRIu32, number);
		env_putf(ret, "PMI_SIZE=%" PRIu32, world->n_ranks);
	}
	return ret->is_broken ? -ENOMEM : 0;
}
