// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a job: what is let through is within its bounds, and it comes out the same twice;
 * else a sentence.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct job *job)
{
	uint64_t ranks = 0;

	require(job->ranks >= 1 && job->ranks <= JOB_RANKS_MAX && job->nodes <= job->ranks);
	require(job->cwd[0] == '/' && job->name[0] && job->env && job->cores >= 1);
	require(job->n_apps >= 1 && job->n_apps <= JOB_APPS_MAX && job->umask <= 0777);
	require(job->stdin_rank >= JOB_STDIN_NONE && job->stdin_rank < (int64_t)job->ranks);
	require(job->pty_rank >= 0 && job->pty_rank < (int64_t)job->ranks && job->timeout_s >= 0.);
	for (size_t i = 0; i < job->n_apps; i++) {
		require(job->apps[i].argv[0][0] && job->apps[i].env);
		ranks += job->apps[i].ranks;
	}
	require(ranks == job->ranks);
}

static void check_again(const struct job *job)
{
	json_t *first = job_encode(job), *second;
	struct job *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!job_decode(&again, first, why, sizeof(why)));
	second = job_encode(again);
	require(second && json_equal(first, second));
	job_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct job *job = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = job_decode(&job, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !job);
		return 0;
	}
	check(job);
	check_again(job);
	job_free(job);
	return 0;
}
