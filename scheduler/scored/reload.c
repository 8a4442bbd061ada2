// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/reload.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"

/* The options point into the section that was read first. */
static void keep_section(struct cluster *from, struct cluster *to)
{
	struct section kept = from->section;

	from->section = to->section;
	to->section = kept;
}

static void say_removed(const struct scored *d)
{
	for (size_t i = 0; i < d->n_nodes; i++) {
		const struct node *node = d->nodes[i];

		if (node->is_out && (node->link || node->n_jobs))
			daemon_say("host %s is %s %s: it takes no new job", node->name,
				   node->is_listed ? "defect or spare in" : "no longer in",
				   d->options.config);
	}
}

void reload_now(struct scored *d)
{
	char why[1024];
	struct cluster *old = d->cluster,
		       *new = cluster_read(d->options.config, false, why, sizeof(why));

	if (!new) {
		daemon_say("not read anew: %s", why);
		return;
	}
	keep_section(old, new);
	d->cluster = new;
	cluster_free(old);
	if (nodes_read(d))
		daemon_say("%s: no memory for all its hosts", d->options.config);
	say_removed(d);
	daemon_say("read %s anew: %zu hosts, %zu groups", d->options.config, new->n_hosts,
		   new->n_groups);
	jobs_plan(d);
}

static void hung_up(struct ev_loop *loop, ev_signal *watcher, int events)
{
	(void)loop;
	(void)events;
	reload_now(watcher->data);
}

void reload_open(struct scored *d)
{
	ev_signal_init(&d->hangup, hung_up, SIGHUP);
	d->hangup.data = d;
	if (d->options.config)
		ev_signal_start(d->loop, &d->hangup);
}

void reload_close(struct scored *d)
{
	ev_signal_stop(d->loop, &d->hangup);
}
