// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cost of one event for scored when very many jobs wait: hosts and users are served between any
 * two events.
 */
#include "scheduler/scored/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/report.h"
#include "tests/harness/tap.h"

#define HOSTS 64
#define CORES 8
#define JOBS 10000
#define RUNNING (HOSTS * CORES)
/* Sanitizers make everything slower; what must not come back costs a hundred times as much. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif
#define EVENT_MS_MAX (20. * SLOWER)
#define VARIABLES 8192 /* of a large job: 1 MiB */
#define VARIABLE_BYTES 127
#define LARGE_MS_MAX (200. * SLOWER) /* encoding it for each host of 64 takes three times as long */

struct world {
	struct scored d;
	int fds[HOSTS];
	char dir[64], why[512];
};

static void register_host(struct world *w, int h)
{
	char name[8];
	struct node *node;
	int pair[2];

	snprintf(name, sizeof(name), "h%d", h);
	node = nodes_make(&w->d, name);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return;
	w->fds[h] = pair[1];
	node->host = calloc(1, sizeof(*node->host));
	node->host->name = strdup(name);
	node->host->address = strdup("10.0.0.1:7711");
	node->host->n_cores = CORES;
	node->link = link_local(w->d.loop, pair[0], 0, &(struct link_events){.message = NULL}, w);
	node->state = NODE_UP;
	matrix_host(w->d.matrix, node->number, CORES);
}

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	/* The disk is not what is measured. */
	strcpy(w->dir, "/dev/shm/many-XXXXXX");
	w->d.loop = ev_default_loop(EVFLAG_AUTO);
	w->d.matrix = matrix_new(1);
	w->d.options.quantum_ns = SLOTS_QUANTUM_NS;
	w->d.options.user_jobs = UINT32_MAX;
	w->d.options.user_memory = SIZE_MAX;
	w->d.journal = mkdtemp(w->dir) ? journal_open(w->dir, w->why, sizeof(w->why)) : NULL;
	LIST_INIT(&w->d.users);
	LIST_INIT(&w->d.accounts);
	if (!w->d.journal || jobs_open(&w->d, w->why, sizeof(w->why)))
		return NULL;
	for (int h = 0; h < HOSTS; h++)
		register_host(w, h);
	return w;
}

static void end_world(struct world *w)
{
	char command[128];

	jobs_close(&w->d);
	nodes_close(&w->d);
	ev_run(w->d.loop, EVRUN_NOWAIT);
	for (int h = 0; h < HOSTS; h++)
		close(w->fds[h]);
	journal_close(w->d.journal);
	matrix_free(w->d.matrix);
	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	ok(!system(command));
	free(w);
}

static struct job *job_of(uint32_t ranks)
{
	struct job *job = calloc(1, sizeof(*job));

	job->name = strdup("prog");
	job->cwd = strdup("/");
	job->ranks = ranks;
	job->cores = 1;
	job->umask = 022;
	job->stdin_rank = JOB_STDIN_NONE;
	job->env = calloc(1, sizeof(char *));
	job->apps = calloc(1, sizeof(*job->apps));
	job->n_apps = 1;
	job->apps[0].ranks = ranks;
	job->apps[0].argv = calloc(2, sizeof(char *));
	job->apps[0].argv[0] = strdup("prog");
	job->apps[0].env = calloc(1, sizeof(char *));
	return job;
}

static uint64_t submit(struct world *w, uint32_t ranks)
{
	struct sjob *job =
		jobs_submit(&w->d, NULL, 1000, 1000, job_of(ranks), w->why, sizeof(w->why));

	return job ? job->id : 0;
}

/* Our own time on a core, ms: what others compute meanwhile is not counted. */
static double spent_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* One round of the loop, ms. */
static double turn(struct world *w)
{
	double begun = spent_ms();

	ev_run(w->d.loop, EVRUN_NOWAIT);
	return spent_ms() - begun;
}

/* Until nobody plans any more; the longest round. */
static double settle(struct world *w)
{
	double worst = turn(w);

	while (ev_is_active(&w->d.plan)) {
		double ms = turn(w);

		worst = ms > worst ? ms : worst;
	}
	return worst;
}

static double least(double a, double b)
{
	return a && a < b ? a : b;
}

/* @kinds: how many different requests wait. */
static void many(uint32_t kinds, double *ret_submit, double *ret_gone)
{
	struct world *w = new_world();
	uint64_t first = 0;

	must(w);
	*ret_submit = *ret_gone = 0;
	for (int i = 0; i < RUNNING; i++) {
		uint64_t id = submit(w, 1);

		first = first ? first : id;
		settle(w);
	}
	for (uint32_t i = 0; i < JOBS; i++)
		submit(w, 2 + i % kinds);
	settle(w);
	is_int(w->d.queue.n, JOBS);
	/* The best of some: who else uses this machine leaves the caches cold. */
	for (int i = 0; i < 5; i++) {
		double begun = spent_ms();
		struct sjob *job = jobs_find(&w->d, first + (uint64_t)i);

		submit(w, 2);
		begun = spent_ms() - begun;
		*ret_submit = least(*ret_submit, begun + settle(w));
		begun = spent_ms();
		jobs_ended(&w->d, job->hosts[0].node, job->id, 0, "");
		jobs_gone(&w->d, job->hosts[0].node, job->id, 0);
		begun = spent_ms() - begun;
		*ret_gone = least(*ret_gone, begun + settle(w));
	}
	end_world(w);
}

TAP_TEST(jobs__an_event_among_many_that_wait)
{
	static const uint32_t kinds[] = {1, 500};

	for (size_t i = 0; i < 2; i++) {
		double submitted, gone;

		many(kinds[i], &submitted, &gone);
		tap_diag("%d jobs of %u kinds wait: longest round after a submit %.2f ms, an end "
			 "%.2f ms",
			 JOBS, kinds[i], submitted, gone);
		okf(submitted < EVENT_MS_MAX, "a submit took %.1f ms", submitted);
		okf(gone < EVENT_MS_MAX, "an end took %.1f ms", gone);
	}
}

TAP_TEST(report_jobs__many)
{
	struct world *w = new_world();
	double begun, ms;
	json_t *all;

	must(w);
	w->d.options.operators = "daemon,nobody";
	for (int i = 0; i < JOBS; i++)
		submit(w, CORES * HOSTS);
	begun = spent_ms();
	all = report_jobs(&w->d, 65534, 0);
	ms = spent_ms() - begun;
	is_int(json_array_size(json_object_get(all, "jobs")), JOBS);
	tap_diag("a list of %d jobs: %.1f ms", JOBS, ms);
	json_decref(all);
	end_world(w);
}

static void fill_environment(struct job *job)
{
	free(job->env);
	job->env = calloc(VARIABLES + 1, sizeof(char *));
	for (int i = 0; i < VARIABLES; i++) {
		job->env[i] = malloc(VARIABLE_BYTES + 1);
		snprintf(job->env[i], VARIABLE_BYTES + 1, "V%04d=%0*d", i, VARIABLE_BYTES - 6, i);
	}
}

TAP_TEST(jobs__start_of_a_large_one_on_many_hosts)
{
	struct world *w = new_world();
	double best = 0;

	must(w);
	for (int i = 0; i < 5; i++) {
		struct job *large = job_of(HOSTS * CORES);
		struct sjob *job;

		fill_environment(large);
		job = jobs_submit(&w->d, NULL, 1000, 1000, large, w->why, sizeof(w->why));
		must(job);
		best = least(best, turn(w));
		must(job->state == SJOB_STARTING);
		jobs_ended(&w->d, job->hosts[0].node, job->id, 0, "");
		for (size_t h = HOSTS; h-- > 0;)
			jobs_gone(&w->d, w->d.nodes[h], job->id, 0);
		settle(w);
	}
	tap_diag("an order of 1 MiB to %d hosts: %.1f ms", HOSTS, best);
	okf(best < LARGE_MS_MAX, "%.1f ms", best);
	end_world(w);
}
