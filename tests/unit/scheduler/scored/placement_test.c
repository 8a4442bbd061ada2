// SPDX-License-Identifier: BSD-3-Clause
/* Jobs on a hypercrossbar of four by four hosts: who gets which, and in what order. */
#include "scheduler/scored/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/plan.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define SIDE 4
#define HOSTS (SIDE * SIDE)

struct world {
	struct fake_cluster f;
	struct cluster cluster;
	struct cluster_host places[HOSTS];
	uint64_t next;
};

static char cluster_name[] = "grid";

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_cluster_open(&w->f, HOSTS, 2, 4);
	w->f.d.cluster = &w->cluster;
	w->cluster.name = cluster_name;
	w->cluster.hosts = w->places;
	w->cluster.n_hosts = HOSTS;
	w->cluster.space = (struct box_space){.n_dims = 2, .dims = {SIDE, SIDE}};
	for (uint32_t h = 0; h < HOSTS; h++) {
		w->places[h] = (struct cluster_host){
			.name = w->f.names[h], .is_usable = true, .point = (long)h};
		w->f.nodes[h].point = (long)h;
	}
	return w;
}

static void end_world(struct world *w)
{
	fake_cluster_close(&w->f);
	free(w);
}

/* Places a job of whole hosts; its hosts as "0 1 4 5", or what plan_place returned. */
static const char *place(struct world *w, struct job *job)
{
	static char text[256];
	struct plan plan = {0};
	char *at = text;
	int err;

	job->cores = 1;
	if (!job->ranks)
		job->ranks = 2 * job->nodes;
	err = plan_place(&w->f.d, ++w->next, job, &plan, w->f.why, sizeof(w->f.why));
	if (err)
		sprintf(text, "%d", err);
	for (size_t k = 0; k < plan.n; k++)
		at += sprintf(at, "%s%u", k ? " " : "", plan.place[k].host);
	plan_fini(&plan);
	return text;
}

TAP_TEST(placement__jobs_stand_in_boxes)
{
	struct world *w = new_world();

	is_str(place(w, &(struct job){.nodes = 4, .class = JOB_EXCLUSIVE}), "0 4 8 12");
	is_str(place(w, &(struct job){.nodes = 6, .class = JOB_EXCLUSIVE}), "1 2 5 6 9 10");
	/* Hosts 13 and 14 and one column are left: four hosts together are in that column alone. */
	is_str(place(w, &(struct job){.nodes = 4, .class = JOB_EXCLUSIVE}), "3 7 11 15");
	is_str(place(w, &(struct job){.nodes = 2, .class = JOB_EXCLUSIVE}), "13 14");
	is_str(place(w, &(struct job){.nodes = 1, .class = JOB_EXCLUSIVE}), "-16");
	end_world(w);
}

TAP_TEST(placement__waits_for_a_box_but_not_when_any_will_do)
{
	struct world *w = new_world();

	/* All but the diagonal. */
	for (uint32_t h = 0; h < HOSTS; h++)
		if (h % SIDE != h / SIDE)
			matrix_host(w->f.d.matrix, h, 0);
	is_str(place(w, &(struct job){.nodes = 4, .class = JOB_EXCLUSIVE}), "0 5 10 15");
	is_int(matrix_remove(w->f.d.matrix, w->next), 0);
	for (uint32_t h = 0; h < HOSTS; h++)
		matrix_host(w->f.d.matrix, h, 2);
	/* Busy, not away. */
	for (uint32_t h = 0; h < HOSTS; h++) {
		char only[8];

		snprintf(only, sizeof(only), "h%u", h);
		if (h % SIDE != h / SIDE)
			place(w, &(struct job){.nodes = 1, .class = JOB_EXCLUSIVE, .group = only});
	}
	is_str(place(w, &(struct job){.nodes = 4, .class = JOB_EXCLUSIVE}), "-16");
	okf(strstr(w->f.why, "form a box") && strstr(w->f.why, "-map any"), "%s", w->f.why);
	is_str(place(w, &(struct job){.nodes = 5, .class = JOB_EXCLUSIVE, .may_scatter = true}),
	       "-16");
	is_str(w->f.why, "waits for cores");
	is_str(place(w, &(struct job){.nodes = 4, .class = JOB_EXCLUSIVE, .may_scatter = true}),
	       "0 5 10 15");
	end_world(w);
}

TAP_TEST(placement__no_box_of_seven_so_seven_of_eight)
{
	struct world *w = new_world();

	is_str(place(w, &(struct job){.nodes = 7}), "0 1 4 5 8 9 12");
	end_world(w);
}

TAP_TEST(placement__a_grid_is_folded)
{
	struct world *w = new_world();
	struct job job = {.nodes = 4, .ranks = 8, .n_cart = 2, .cart = {2, 4}};

	/* Two ranks of the last dimension on each host: two by two hosts. */
	is_str(place(w, &job), "0 1 4 5");
	job = (struct job){.nodes = 16, .ranks = 32, .n_cart = 1, .cart = {32}};
	is_str(place(w, &job), "0 1 2 3 7 6 5 4 8 9 10 11 15 14 13 12");
	job = (struct job){.nodes = 16, .ranks = 32, .n_cart = 3, .cart = {4, 4, 2}};
	is_str(place(w, &job), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
	end_world(w);
}

static void refuse(struct world *w, struct job job, const char *word)
{
	job.cores = 1;
	w->f.why[0] = '\0';
	is_int(plan_check(&w->f.d, &job, w->f.why, sizeof(w->f.why)), -EINVAL);
	okf(strstr(w->f.why, word) != NULL, "%s", w->f.why);
}

TAP_TEST(placement__grids_that_fit_nowhere)
{
	struct world *w = new_world();

	refuse(w, (struct job){.nodes = 5, .ranks = 5, .n_cart = 1, .cart = {5}}, "dimensions of");
	refuse(w, (struct job){.nodes = 4, .ranks = 6, .n_cart = 2, .cart = {3, 2}},
	       "the same number");
	refuse(w, (struct job){.nodes = 3, .per_node = 2, .ranks = 6, .n_cart = 2, .cart = {2, 3}},
	       "no block");
	end_world(w);
}

TAP_TEST(plan_order__tells_where_hosts_stand)
{
	struct world *w = new_world();
	struct job *job = calloc(1, sizeof(*job));
	struct plan plan = {0};
	struct order *order;

	*job = (struct job){.nodes = 4, .ranks = 4, .cores = 1, .n_cart = 2, .cart = {2, 2}};
	must(plan_place(&w->f.d, 1, job, &plan, w->f.why, sizeof(w->f.why)) == 0);
	order = plan_order(&w->f.d, 1, 0, 0, job, &plan);
	must(order != NULL);
	is_int(order->n_dims, 2);
	is_int(order->hosts[1].at[0], 0);
	is_int(order->hosts[1].at[1], 1);
	is_int(order->hosts[2].at[0], 1);
	order_free(order);
	plan_fini(&plan);
	end_world(w);
}
