// SPDX-License-Identifier: BSD-3-Clause
/* request: the job that comes of what was typed; scored's own decoder is the judge of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scrun/request.h"
#include "tests/harness/tap.h"

static const char *const variables[] = {"HOME=/h", "SSH_AUTH_SOCK=/s", "ODD=\xff\xfe", NULL};
static char *const *const environment = (char *const *)(uintptr_t)variables;

static struct job *build(const char *line, char *why, size_t why_size)
{
	struct options options;
	struct job *job = NULL;
	char *argv[32], *text = strdup(line), *at = text;
	int argc = 0;

	while ((argv[argc] = strsep(&at, " ")))
		argc++;
	if (!options_read(&options, argc, argv, why, why_size) &&
	    request_build(&job, &options, environment, why, why_size))
		job = NULL;
	options_fini(&options);
	free(text);
	return job;
}

TAP_TEST(request_build__shapes)
{
	static const struct {
		const char *line;
		uint32_t nodes, per_node, ranks;
	} table[] = {{"scrun a", 0, 0, 1},
		     {"scrun -nodes=4 a", 4, 0, 4},
		     {"scrun -nodes=4x2 a", 4, 2, 8},
		     {"scrun -nodes=4x2 -n 7 a", 4, 2, 7},
		     {"scrun -n 5 a", 0, 0, 5},
		     {"scrun --per-node 3 a", 0, 3, 3},
		     {"scrun --nodes 2 -n 3 a : b : -n 4 c", 2, 0, 8}};
	char why[512];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct job *job = build(table[i].line, why, sizeof(why));

		if (!okf(job, "%s: %s", table[i].line, why))
			continue;
		is_int(job->nodes, table[i].nodes);
		is_int(job->per_node, table[i].per_node);
		is_int(job->ranks, table[i].ranks);
		job_free(job);
	}
}

TAP_TEST(request_build__collectives)
{
	static const struct {
		const char *line, *last; /* variable of the job */
	} table[] = {{"scrun a", "ODD=\xff\xfe"},
		     {"scrun --collectives tuned a", "ODD=\xff\xfe"},
		     {"scrun -collectives=default a", "SCORE_COLLECTIVES=default"}};
	char why[512];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct job *job = build(table[i].line, why, sizeof(why));
		size_t n = 0;

		if (!okf(job, "%s: %s", table[i].line, why))
			continue;
		while (job->env[n])
			n++;
		is_str(job->env[n - 1], table[i].last);
		job_free(job);
	}
}

TAP_TEST(request_build__scored_takes_it)
{
	char why[512], *here = getcwd(NULL, 0);
	struct job *job = build("scrun --name x --timeout 3 -x A=1 /bin/a b : --cwd /tmp c", why,
				sizeof(why)),
		   *decoded = NULL;
	mode_t mask = umask(0);
	json_t *json;

	umask(mask);
	must(job);
	json = job_encode(job);
	is_int(job_decode(&decoded, json, why, sizeof(why)), 0);
	must(decoded);
	is_str(decoded->name, "x");
	is_str(decoded->cwd, here);
	is_int(decoded->umask, mask);
	is_str(decoded->env[0], "HOME=/h");
	is_str(decoded->env[1], "ODD=\xff\xfe");
	ok(!decoded->env[2]);
	is_str(decoded->apps[0].env[0], "A=1");
	is_str(decoded->apps[1].cwd, "/tmp");
	is_int(decoded->n_limits, job->n_limits);
	json_decref(json);
	job_free(decoded);
	job_free(job);
	free(here);
}

TAP_TEST(request_build__ranks_that_are_not_there)
{
	char why[512];

	ok(!build("scrun -n 2 --stdin 2 a", why, sizeof(why)));
	is_str(why, "--stdin 2: the job has ranks 0 to 1");
	ok(!build("scrun --pty=1 a", why, sizeof(why)));
	is_str(why, "--pty 1: the job has ranks 0 to 0");
	ok(!build("scrun -x NO_SUCH_NAME a", why, sizeof(why)));
	is_str(why, "--env NO_SUCH_NAME: there is no such variable here; write --env "
		    "NO_SUCH_NAME=VALUE");
}
