// SPDX-License-Identifier: BSD-3-Clause
/*
 * nspace - the keys, in the order of the PMIx standard: of the job, its hosts, its programs, its
 * ranks.
 */
#include "scheduler/scstepd/pmix/nspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/rankenv.h"

/* of each rank: where its host stands in a hypercrossbar, "3,0,1" */
#define KEY_COORDS "openscore.coords"

/* A list in text, from one call per host or rank. */
struct text {
	char *at;
	size_t size;
	FILE *out;
};

static void text_open(struct text *text)
{
	*text = (struct text){0};
	text->out = open_memstream(&text->at, &text->size);
}

static char *text_close(struct text *text)
{
	if (!text->out || fclose(text->out)) {
		free(text->at);
		return NULL;
	}
	return text->at;
}

static char *peers_of(const struct world_host *host)
{
	struct text text;

	text_open(&text);
	for (uint32_t i = 0; text.out && i < host->ranks; i++)
		fprintf(text.out, "%s%" PRIu32, i ? "," : "", host->first + i);
	return text_close(&text);
}

static void add_owned(struct infos *infos, const char *key, char *text)
{
	if (text)
		infos_text(infos, key, text);
	else
		infos->is_broken = true;
	free(text);
}

/* Names of the hosts, or their ranks ("0,1;2,3"), as PMIx's own compressed text. */
static void add_map(const struct step *step, const struct world *world, bool is_ranks,
		    struct infos *infos)
{
	struct text text;
	char *list, *packed = NULL;
	pmix_status_t status = PMIX_ERR_NOMEM;
	const char *comma = "";

	text_open(&text);
	for (size_t i = 0; text.out && i < world->n_hosts; i++) {
		char *peers;

		if (!world->hosts[i].ranks)
			continue;
		if (is_ranks) {
			peers = peers_of(&world->hosts[i]);
			fprintf(text.out, "%s%s", comma, peers ? peers : "");
			free(peers);
		} else {
			fprintf(text.out, "%s%s", comma, step->order->hosts[i].name);
		}
		comma = is_ranks ? ";" : ",";
	}
	list = text_close(&text);
	if (list)
		status = is_ranks ? PMIx_generate_ppn(list, &packed)
				  : PMIx_generate_regex(list, &packed);
	if (status == PMIX_SUCCESS)
		infos_add(infos, is_ranks ? PMIX_PROC_MAP : PMIX_NODE_MAP, packed, PMIX_REGEX);
	else
		infos->is_broken = true;
	free(packed);
	free(list);
}

static bool is_crowded(const struct step *step, const struct world *world, size_t host)
{
	const struct order_host *order = &step->order->hosts[host];

	return (uint64_t)(world->hosts[host].ranks + world->hosts[host].before) *
		       step->order->job->cores >
	       order->n_cores;
}

static void world_dir(const struct step *step, const struct world *world, char *to, size_t size)
{
	snprintf(to, size, "%s/world-%" PRIu32, step->tmpdir, world->number);
}

static void add_job(const struct step *step, const struct world *world, struct infos *infos)
{
	const struct world_host *here = &world->hosts[step->here];
	uint32_t nodes = 0, cores = 0;
	pmix_proc_t parent;
	char text[4096];
	bool is_crowded_here = is_crowded(step, world, step->here);

	for (size_t i = 0; i < world->n_hosts; i++) {
		nodes += world->hosts[i].ranks > 0;
		cores += (uint32_t)step->order->hosts[i].n_cores;
	}
	order_namespace(step->order, world->number, text, sizeof(text));
	infos_text(infos, PMIX_JOBID, text);
	infos_text(infos, PMIX_CLUSTER_ID, step->order->cluster);
	/* At least the ranks: Open MPI takes it for the largest number a job can have. */
	infos_u32(infos, PMIX_UNIV_SIZE, cores > world->n_ranks ? cores : world->n_ranks);
	infos_u32(infos, PMIX_JOB_SIZE, world->n_ranks);
	infos_u32(infos, PMIX_MAX_PROCS, world->n_ranks);
	infos_u32(infos, PMIX_NUM_NODES, nodes);
	infos_u32(infos, PMIX_JOB_NUM_APPS, (uint32_t)world->n_apps);
	infos_rank(infos, PMIX_NPROC_OFFSET, 0);
	add_map(step, world, false, infos);
	add_map(step, world, true, infos);
	infos_u32(infos, PMIX_LOCAL_SIZE, here->ranks);
	infos_u32(infos, PMIX_NODE_SIZE, here->ranks + here->before);
	if (here->ranks) {
		add_owned(infos, PMIX_LOCAL_PEERS, peers_of(here));
		infos_rank(infos, PMIX_LOCALLDR, here->first);
	}
	infos_text(infos, PMIX_TMPDIR, step->tmpdir);
	world_dir(step, world, text, sizeof(text));
	infos_text(infos, PMIX_NSDIR, text);
	infos_true(infos, PMIX_TDIR_RMCLEAN);
	infos_text(infos, PMIX_MAPBY, "slot");
	infos_text(infos, PMIX_RANKBY, "slot");
	infos_text(infos, PMIX_BINDTO, step->order->job->bind == JOB_BIND_CORE ? "core" : "none");
	infos_add(infos, PMIX_NODE_OVERSUBSCRIBED, &is_crowded_here, PMIX_BOOL);
	/* Where Open MPI 5 looks for the text that 4.1 has in its environment. */
	snprintf(text, sizeof(text), "%016" PRIx64 "-%016" PRIx64, step->order->key,
		 step->order->id);
	infos_text(infos, PMIX_CREDENTIAL, text);
	/* PMIx 3 to 5 look for it in PMIx_Init; debug.c lets them go on. */
	if (step->order->job->is_debugged && !world->number)
		infos_rank(infos, PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
	if (world->is_spawned) {
		infos_true(infos, PMIX_SPAWNED);
		PMIX_LOAD_PROCID(&parent, worlds_get(&step->worlds, world->parent_world)->nspace,
				 world->parent_rank);
		infos_add(infos, PMIX_PARENT_ID, &parent, PMIX_PROC);
	}
}

static void add_hosts(const struct step *step, const struct world *world, struct infos *infos)
{
	uint32_t node = 0;

	for (size_t i = 0; i < world->n_hosts; i++) {
		const struct world_host *host = &world->hosts[i];
		struct infos part = {0};
		bool is_full = is_crowded(step, world, i);

		if (!host->ranks)
			continue;
		infos_text(&part, PMIX_HOSTNAME, step->order->hosts[i].name);
		infos_u32(&part, PMIX_NODEID, node++);
		infos_u32(&part, PMIX_LOCAL_SIZE, host->ranks);
		infos_u32(&part, PMIX_NODE_SIZE, host->ranks + host->before);
		infos_rank(&part, PMIX_LOCALLDR, host->first);
		add_owned(&part, PMIX_LOCAL_PEERS, peers_of(host));
		infos_u32(&part, PMIX_MAX_PROCS, (uint32_t)step->order->hosts[i].n_cores);
		infos_add(&part, PMIX_NODE_OVERSUBSCRIBED, &is_full, PMIX_BOOL);
		infos_array(infos, PMIX_NODE_INFO_ARRAY, &part);
	}
}

static void add_apps(const struct step *step, const struct world *world, struct infos *infos)
{
	uint32_t first = 0;

	for (size_t i = 0; i < world->n_apps; i++) {
		const struct job_app *app = &world->apps[i];
		struct infos part = {0};
		struct text argv;

		text_open(&argv);
		for (size_t k = 0; argv.out && app->argv[k]; k++)
			fprintf(argv.out, "%s%s", k ? " " : "", app->argv[k]);
		infos_u32(&part, PMIX_APPNUM, (uint32_t)i);
		infos_u32(&part, PMIX_APP_SIZE, app->ranks);
		infos_rank(&part, PMIX_APPLDR, first);
		infos_text(&part, PMIX_WDIR, app->cwd ? app->cwd : step->order->job->cwd);
		add_owned(&part, PMIX_APP_ARGV, text_close(&argv));
		infos_array(infos, PMIX_APP_INFO_ARRAY, &part);
		first += app->ranks;
	}
}

static void add_local(const struct step *step, const struct world *world, uint32_t local,
		      struct infos *part)
{
	uint32_t slot = world->hosts[step->here].before + local;
	pmix_cpuset_t set = {.source = (char *)"hwloc",
			     .bitmap = (hwloc_bitmap_t)(uintptr_t)bind_set(step->bind, slot)};
	char *text, dir[4096];

	world_dir(step, world, dir, sizeof(dir) - 16);
	snprintf(dir + strlen(dir), 16, "/%" PRIu32, world->hosts[step->here].first + local);
	infos_text(part, PMIX_PROCDIR, dir);
	/* Both are hints; PMIx has no words for some sets. */
	if (PMIx_server_generate_cpuset_string(&set, &text) == PMIX_SUCCESS)
		add_owned(part, PMIX_CPUSET, text);
	if (PMIx_server_generate_locality_string(&set, &text) == PMIX_SUCCESS && text)
		add_owned(part, PMIX_LOCALITY_STRING, text);
}

static void add_ranks(const struct step *step, const struct world *world, struct infos *infos)
{
	uint32_t node = 0;

	for (size_t i = 0; i < world->n_hosts; i++) {
		const struct world_host *host = &world->hosts[i];
		char coords[80];

		rankenv_numbers(step->order->hosts[i].at, step->order->n_dims, ",", coords,
				sizeof(coords));
		for (uint32_t local = 0; local < host->ranks; local++) {
			struct infos part = {0};
			uint32_t rank = host->first + local, app_rank;
			size_t app = world_app_of(world, rank, &app_rank, NULL);

			infos_rank(&part, PMIX_RANK, rank); /* must be first */
			infos_u32(&part, PMIX_APPNUM, (uint32_t)app);
			infos_rank(&part, PMIX_APP_RANK, app_rank);
			infos_rank(&part, PMIX_GLOBAL_RANK, rank);
			infos_u16(&part, PMIX_LOCAL_RANK, (uint16_t)local);
			infos_u16(&part, PMIX_NODE_RANK, (uint16_t)(host->before + local));
			infos_u32(&part, PMIX_NODEID, node);
			infos_text(&part, PMIX_HOSTNAME, step->order->hosts[i].name);
			infos_u32(&part, PMIX_REINCARNATION, step->order->incarnation);
			if (step->order->n_dims)
				infos_text(&part, KEY_COORDS, coords);
			if (i == step->here)
				add_local(step, world, local, &part);
			infos_array(infos, PMIX_PROC_DATA, &part);
		}
		node += host->ranks > 0;
	}
}

static int make_dirs(const struct step *step, const struct world *world)
{
	char dir[4096];
	size_t length;

	world_dir(step, world, dir, sizeof(dir) - 16);
	length = strlen(dir);
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	for (uint32_t i = 0; i < world->hosts[step->here].ranks; i++) {
		snprintf(dir + length, 16, "/%" PRIu32, world->hosts[step->here].first + i);
		if (mkdir(dir, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static bool is_done(pmix_status_t status)
{
	return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

int nspace_register(const struct step *step, const struct world *world, char *why, size_t why_size)
{
	const struct world_host *here = &world->hosts[step->here];
	struct infos infos = {0};
	pmix_status_t status = PMIX_ERR_NOMEM;
	pmix_proc_t proc;
	int rc = make_dirs(step, world);

	if (rc) {
		snprintf(why, why_size, "%s, host %s: no directory for the ranks: %s", step->tmpdir,
			 step->host, strerror(-rc));
		return rc;
	}
	add_job(step, world, &infos);
	add_hosts(step, world, &infos);
	add_apps(step, world, &infos);
	add_ranks(step, world, &infos);
	/* Without a callback the call comes back when it is done. */
	if (!infos.is_broken)
		status = PMIx_server_register_nspace(world->nspace, (int)here->ranks, infos.v,
						     infos.n, NULL, NULL);
	infos_fini(&infos);
	for (uint32_t i = 0; is_done(status) && i < here->ranks; i++) {
		PMIX_LOAD_PROCID(&proc, world->nspace, here->first + i);
		status = PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
	}
	if (is_done(status))
		return 0;
	snprintf(why, why_size, "host %s: PMIx's server refuses the job: %s", step->host,
		 PMIx_Error_string(status));
	return -EIO;
}

int nspace_environment(const struct world *world, uint32_t rank, char ***ret)
{
	char **env = calloc(1, sizeof(*env));
	pmix_proc_t proc;

	if (!env)
		return -ENOMEM;
	PMIX_LOAD_PROCID(&proc, world->nspace, rank);
	if (!is_done(PMIx_server_setup_fork(&proc, &env))) {
		for (size_t i = 0; env[i]; i++)
			free(env[i]);
		free(env);
		return -EIO;
	}
	*ret = env;
	return 0;
}
