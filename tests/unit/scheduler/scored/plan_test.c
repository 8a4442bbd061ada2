// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define HOSTS 4
#define CORES 2

static struct fake_cluster *new_cluster(void)
{
	struct fake_cluster *f = malloc(sizeof(*f));

	fake_cluster_open(f, HOSTS, CORES, 8);
	return f;
}

static void end_cluster(struct fake_cluster *f)
{
	fake_cluster_close(f);
	free(f);
}

static int place(struct fake_cluster *f, uint64_t id, struct job *job, struct plan *plan)
{
	if (!job->cores)
		job->cores = 1;
	return plan_place(&f->d, id, job, plan, f->why, sizeof(f->why));
}

/* Hosts and ranks of what was found, as a text: "h0:2 h1:2". */
static const char *shape(struct fake_cluster *f, const struct plan *plan)
{
	static char text[256];
	char *at = text;

	*at = 0;
	for (size_t i = 0; i < plan->n; i++)
		at += sprintf(at, "%s%s:%u", i ? " " : "", f->list[plan->place[i].host]->name,
			      plan->ranks[i]);
	return text;
}

TAP_TEST(plan__shapes)
{
	static const struct {
		struct job job;
		const char *want;
	} table[] = {
		{{.ranks = 8, .nodes = 4, .per_node = 2}, "h0:2 h1:2 h2:2 h3:2"},
		{{.ranks = 4, .nodes = 4}, "h0:1 h1:1 h2:1 h3:1"},
		{{.ranks = 5, .nodes = 3}, "h0:2 h1:2 h2:1"},
		{{.ranks = 3}, "h0:2 h1:1"},
		{{.ranks = 4, .per_node = 1}, "h0:1 h1:1 h2:1 h3:1"},
		{{.ranks = 1}, "h0:1"},
		{{.ranks = 2, .cores = 2}, "h0:1 h1:1"},
		{{.ranks = 16, .nodes = 2, .per_node = 8, .may_oversubscribe = true}, "h0:8 h1:8"},
		{{.ranks = 11, .may_oversubscribe = true}, "h0:3 h1:3 h2:3 h3:2"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct fake_cluster *f = new_cluster();
		struct job job = table[i].job;
		struct plan plan;

		if (is_int(place(f, 1, &job, &plan), 0)) {
			is_str(shape(f, &plan), table[i].want);
			plan_fini(&plan);
		}
		end_cluster(f);
	}
}

TAP_TEST(plan__chosen_hosts)
{
	struct fake_cluster *f = new_cluster();
	char group[] = "h[2-3]", expression[] = "all@1~h2", nobody[] = "h9", broken[] = "h[2";
	struct job job = {.ranks = 2, .nodes = 2, .cores = 1, .group = group};
	struct plan plan;

	if (is_int(place(f, 1, &job, &plan), 0)) {
		is_str(shape(f, &plan), "h2:1 h3:1");
		plan_fini(&plan);
	}
	job.group = expression;
	if (is_int(place(f, 2, &job, &plan), 0)) {
		is_str(shape(f, &plan), "h1:1 h3:1");
		plan_fini(&plan);
	}
	job.group = nobody;
	is_int(plan_check(&f->d, &job, f->why, sizeof(f->why)), -EINVAL);
	okf(strstr(f->why, "h9 is not in the cluster"), "%s", f->why);
	job.group = broken;
	is_int(plan_check(&f->d, &job, f->why, sizeof(f->why)), -EINVAL);
	okf(strstr(f->why, "h[2"), "%s", f->why);
	end_cluster(f);
}

TAP_TEST(plan__hosts_that_are_not_up_are_left_out)
{
	struct fake_cluster *f = new_cluster();
	struct job job = {.ranks = 3, .nodes = 3};
	struct plan plan;

	f->nodes[0].state = NODE_DRAINED;
	if (is_int(place(f, 1, &job, &plan), 0)) {
		is_str(shape(f, &plan), "h1:1 h2:1 h3:1");
		plan_fini(&plan);
	}
	f->nodes[1].link = NULL;
	is_int(place(f, 2, &job, &plan), -EBUSY);
	okf(strstr(f->why, "down or drained"), "%s", f->why);
	is_int(plan_check(&f->d, &job, f->why, sizeof(f->why)), 0);
	end_cluster(f);
}

TAP_TEST(plan__what_can_never_be)
{
	struct fake_cluster *f = new_cluster();
	struct job hosts = {.ranks = 9, .nodes = 9, .cores = 1}, ranks = {.ranks = 9, .cores = 1},
		   cores = {.ranks = 12, .nodes = 4, .cores = 1};

	is_int(plan_check(&f->d, &hosts, f->why, sizeof(f->why)), -EINVAL);
	okf(strstr(f->why, "9 hosts are wanted") && strstr(f->why, "4"), "%s", f->why);
	is_int(plan_check(&f->d, &ranks, f->why, sizeof(f->why)), -EINVAL);
	okf(strstr(f->why, "9 ranks want 5 hosts") && strstr(f->why, "has 4"), "%s", f->why);
	is_int(plan_check(&f->d, &cores, f->why, sizeof(f->why)), -EINVAL);
	okf(strstr(f->why, "3 cores") && strstr(f->why, "--oversubscribe"), "%s", f->why);
	cores.may_oversubscribe = true;
	is_int(plan_check(&f->d, &cores, f->why, sizeof(f->why)), 0);
	/* A host of cluster.json that never came may have any number of cores. */
	f->nodes[3].host = NULL;
	is_int(plan_check(&f->d, &hosts, f->why, sizeof(f->why)), 0);
	end_cluster(f);
}

TAP_TEST(plan__shared_jobs_take_turns_and_exclusive_ones_wait)
{
	struct fake_cluster *f = new_cluster();
	struct job whole = {.ranks = 8, .nodes = 4, .per_node = 2},
		   alone = {.ranks = 8, .nodes = 4, .per_node = 2, .class = JOB_EXCLUSIVE};
	struct plan plan;

	for (uint64_t id = 1; id <= 2; id++)
		if (is_int(place(f, id, &whole, &plan), 0))
			plan_fini(&plan);
	is_int(matrix_rows(f->d.matrix), 2);
	is_int(place(f, 3, &alone, &plan), -EBUSY);
	okf(strstr(f->why, "waits for cores"), "%s", f->why);
	end_cluster(f);
}

TAP_TEST(plan__order)
{
	struct fake_cluster *f = new_cluster();
	struct job *job = calloc(1, sizeof(*job));
	struct plan plan;
	struct order *order;

	job->ranks = 5;
	job->nodes = 3;
	must(!place(f, 1, job, &plan));
	order = plan_order(&f->d, 1, 1000, 100, job, &plan);
	must(order);
	is_int(order->n_hosts, 3);
	is_int(order->hosts[0].first, 0);
	is_int(order->hosts[1].first, 2);
	is_int(order->hosts[2].first, 4);
	is_int(order->hosts[2].ranks, 1);
	is_int(order->hosts[1].n_cores, 2);
	is_str(order->hosts[1].name, "h1");
	ok(order->key != 0);
	order_free(order);
	plan_fini(&plan);
	end_cluster(f);
}
