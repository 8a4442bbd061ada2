// SPDX-License-Identifier: BSD-3-Clause
/* dry: what people and programs are shown of an answer. */
#include "scheduler/scrun/dry.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

#define ANSWER                                                                                     \
	"{\"hosts\":[\"h0\",\"h1\"],\"ranks\":[2,1],\"cores\":[[0,1,2,3],[4,5]],"                  \
	"\"cpus\":[[0,2,4,6],[9,8]]}"

static void prints(const char *answer, struct job job, bool is_json, const char *want)
{
	json_t *head = json_loads(answer, 0, NULL);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (ok(head && out)) {
		is_int(dry_print(out, head, &job, is_json), 0);
		fclose(out);
		is_str(text, want);
	}
	free(text);
	json_decref(head);
}

TAP_TEST(dry_print__each_rank_has_cores)
{
	prints(ANSWER, (struct job){.ranks = 3, .cores = 2}, false,
	       "h0: ranks 0-1, cores 0-3\nh1: rank 2, cores 4-5\n"
	       "rank 0 on h0: cpu 0,2\nrank 1 on h0: cpu 4,6\n"
	       "rank 2 on h1: cpu 9,8\n");
}

TAP_TEST(dry_print__ranks_share_cores)
{
	/* Too few for each, or so wished. */
	prints("{\"hosts\":[\"a\"],\"ranks\":[2],\"cores\":[[1]],\"cpus\":[[1]]}",
	       (struct job){.ranks = 3, .cores = 1}, false,
	       "a: ranks 0-1, cores 1\nrank 0 on a: cpu 1\nrank 1 on a: cpu 1\n");
	prints(ANSWER, (struct job){.ranks = 3, .cores = 2, .bind = JOB_BIND_HOST}, false,
	       "h0: ranks 0-1, cores 0-3\nh1: rank 2, cores 4-5\n"
	       "rank 0 on h0: cpu 0,2,4,6\nrank 1 on h0: cpu 0,2,4,6\n"
	       "rank 2 on h1: cpu 9,8\n");
}

TAP_TEST(dry_print__not_bound)
{
	prints("{\"hosts\":[\"a\"],\"ranks\":[1],\"cores\":[[0]],\"cpus\":[[]]}",
	       (struct job){.ranks = 3, .cores = 1}, false,
	       "a: rank 0, cores 0\nrank 0 on a: not bound\n");
	prints("{\"hosts\":[\"a\"],\"ranks\":[1],\"cores\":[[0]],\"cpus\":[[0]]}",
	       (struct job){.ranks = 3, .cores = 1, .bind = JOB_BIND_NONE}, false,
	       "a: rank 0, cores 0\nrank 0 on a: not bound\n");
}

TAP_TEST(dry_print__json)
{
	prints("{\"hosts\":[\"a\"],\"ranks\":[1],\"cores\":[[0]],\"cpus\":[[3]]}",
	       (struct job){.ranks = 3, .cores = 1}, true,
	       "{\"hosts\":[{\"name\":\"a\",\"ranks\":1,\"cores\":[0],\"cpus\":[3]}],"
	       "\"ranks\":[{\"rank\":0,\"host\":\"a\",\"bound\":true,\"cores\":[0],\"cpus\":[3]}],"
	       "\"waits\":null}\n");
	prints("{\"waits\":\"waits for cores\"}", (struct job){.ranks = 3, .cores = 1}, true,
	       "{\"hosts\":[],\"ranks\":[],\"waits\":\"waits for cores\"}\n");
	prints("{\"waits\":\"waits for cores\"}", (struct job){.ranks = 3, .cores = 1}, false, "");
}

TAP_TEST(dry_ranks__an_answer_without_sense)
{
	static const char *const wrong[] = {
		"{\"hosts\":[\"a\"],\"ranks\":[1]}",
		"{\"hosts\":[\"a\"],\"ranks\":[0],\"cores\":[[0]]}",
		"{\"hosts\":[\"a\"],\"ranks\":[-1],\"cores\":[[0]]}",
		"{\"hosts\":[5],\"ranks\":[1],\"cores\":[[0]]}",
		"{\"hosts\":[\"\\u001b]0;t\"],\"ranks\":[1],\"cores\":[[0]]}",
		"{\"hosts\":[\"a\"],\"ranks\":[4],\"cores\":[[0]]}",
		"{\"hosts\":[\"a\",\"b\"],\"ranks\":[2,2],\"cores\":[[0],[0]]}",
		"{\"hosts\":[\"a\"],\"ranks\":[4294967297],\"cores\":[[0]]}",
		"{\"hosts\":[\"a\",\"b\"],\"ranks\":[1],\"cores\":[[0]]}",
	};
	struct job job = {.ranks = 3, .cores = 1};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *head = json_loads(wrong[i], 0, NULL);

		ok(head && !dry_ranks(head, &job));
		is_int(dry_print(stdout, head, &job, true), -EINVAL);
		json_decref(head);
	}
}
