// SPDX-License-Identifier: BSD-3-Clause
/* cluster.json read anew: who is in it, who is not any more, and that a bad one changes nothing. */
#include "scheduler/scored/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scored/jobs.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/plan.h"
#include "tests/harness/tap.h"

struct world {
	struct scored d;
	char file[64];
	char why[512];
};

static void write_file(const struct world *w, const char *text)
{
	FILE *f = fopen(w->file, "w");

	ok(f && fputs(text, f) >= 0 && !fclose(f));
}

static void write_hosts(const struct world *w, const char *hosts, const char *groups)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"version\":1,\"name\":\"c\",\"scheduler\":{\"server\":\"x\"},\"hosts\":[%s],"
		 "\"groups\":[%s],\"networks\":[]}",
		 hosts, groups);
	write_file(w, text);
}

#define HOST(name, state) "{\"name\":\"" name "\",\"state\":\"" state "\"}"

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->file, "/tmp/reload-XXXXXX");
	close(mkstemp(w->file));
	write_hosts(w, HOST("a", "up") "," HOST("b", "up"), "{\"name\":\"g\",\"hosts\":[1]}");
	w->d.options.config = w->file;
	w->d.loop = ev_default_loop(EVFLAG_AUTO);
	w->d.matrix = matrix_new(1);
	w->d.journal = journal_open(JOURNAL_NONE, w->why, sizeof(w->why));
	w->d.cluster = cluster_read(w->file, true, w->why, sizeof(w->why));
	if (!w->d.cluster || jobs_open(&w->d, w->why, sizeof(w->why)) || nodes_read(&w->d))
		return NULL;
	return w;
}

static void end_world(struct world *w)
{
	jobs_close(&w->d);
	nodes_close(&w->d);
	journal_close(w->d.journal);
	matrix_free(w->d.matrix);
	cluster_free(w->d.cluster);
	unlink(w->file);
	free(w);
}

/* Up, without a link that could be talked to. */
static struct node *bring_up(struct world *w, const char *name, struct host *host)
{
	struct node *node = nodes_find(&w->d, name);

	host->n_cores = 1;
	node->host = host;
	node->state = NODE_UP;
	node->link = (struct link *)w;
	matrix_host(w->d.matrix, node->number, 1);
	return node;
}

static void take_down(struct node *node)
{
	node->host = NULL;
	node->link = NULL;
}

TAP_TEST(reload__hosts_come_and_go)
{
	struct world *w = new_world();
	struct host host = {0}, other = {0};
	struct node *a, *b;

	must(w);
	a = bring_up(w, "a", &host);
	b = bring_up(w, "b", &other);
	write_hosts(w, HOST("c", "up") "," HOST("b", "defect"), "");
	reload_now(&w->d);
	is_int(w->d.n_nodes, 3);
	ok(nodes_find(&w->d, "a") == a && !nodes_is_usable(a) && !a->is_listed);
	is_str(nodes_state_name(a), "removed");
	ok(nodes_find(&w->d, "b") == b && !nodes_is_usable(b) && b->is_listed);
	ok(nodes_find(&w->d, "c") && nodes_find(&w->d, "c")->is_listed);
	write_hosts(w, HOST("a", "up") "," HOST("b", "up"), "");
	reload_now(&w->d);
	ok(nodes_is_usable(a) && nodes_is_usable(b));
	take_down(a);
	take_down(b);
	end_world(w);
}

TAP_TEST(reload__a_bad_file_changes_nothing)
{
	struct world *w = new_world();
	const struct cluster *was = w->d.cluster;

	write_file(w, "{\"version\":1,");
	reload_now(&w->d);
	ok(w->d.cluster == was);
	unlink(w->file);
	reload_now(&w->d);
	ok(w->d.cluster == was && nodes_find(&w->d, "a")->is_listed);
	end_world(w);
}

TAP_TEST(reload__a_job_waits_for_its_group)
{
	static char group[] = "g+all:2";
	struct world *w = new_world();
	struct job job = {.ranks = 1, .cores = 1, .group = group};
	struct host host = {0};
	struct node *b = bring_up(w, "b", &host);
	struct plan plan;

	write_hosts(w, HOST("b", "up"), "");
	reload_now(&w->d);
	is_int(plan_place(&w->d, 1, &job, &plan, w->why, sizeof(w->why)), -EBUSY);
	ok(strstr(w->why, "waits for its hosts: group g+all:2: no group of the cluster"));
	write_hosts(w, HOST("a", "up") "," HOST("b", "up"), "{\"name\":\"g\",\"hosts\":[1]}");
	reload_now(&w->d);
	is_int(plan_place(&w->d, 1, &job, &plan, w->why, sizeof(w->why)), 0);
	plan_fini(&plan);
	take_down(b);
	end_world(w);
}
