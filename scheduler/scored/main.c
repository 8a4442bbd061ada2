// SPDX-License-Identifier: BSD-3-Clause
/*
 * scored: starts its parts in order, serves until SIGTERM. Jobs that run then go on running.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/scored/activity.h"
#include "scheduler/scored/idle.h"
#include "scheduler/scored/intervals.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/operators.h"
#include "scheduler/scored/reload.h"
#include "scheduler/scored/scnodeds.h"
#include "scheduler/scored/scored.h"
#include "scheduler/scored/users.h"

#define EXIT_FAILED 1
#define REFUSALS_TOLD 20 /* per beat: strangers do not fill the log */

static unsigned int n_refused; /* since the last beat */

static void beat(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct scored *d = timer->data;
	uint64_t now_ns = clock_monotonic_ns();
	unsigned int n_displaced = lobby_displaced(d->lobby);

	(void)loop;
	(void)events;
	if (n_refused > REFUSALS_TOLD)
		daemon_say("%u more were not let in", n_refused - REFUSALS_TOLD);
	n_refused = 0;
	if (n_displaced)
		daemon_say("%u connections had to go for others before they had said who they are",
			   n_displaced);
	awake_beat(&d->awake, now_ns);
	scnodeds_beat(d, now_ns);
	intervals_beat(d, (double)now_ns / 1e9, clock_realtime_s());
	idle_tick(d);
	locks_beat(d);
}

/* ---- who comes in ---- */

static void known(struct link *link, void *owner)
{
	struct scored *d = owner;

	if (d->options.is_private && link_uid(link) && link_uid(link) != geteuid())
		users_turn_away(link, "EPERM", "this scored is private to another user");
	else if (!strcmp(link_role(link), "scnoded"))
		scnodeds_enter(d, link);
	else
		users_enter(d, link);
}

static void not_known(struct link *link, int error, const char *why, void *owner)
{
	(void)owner;
	if (error && n_refused++ < REFUSALS_TOLD)
		daemon_say("%s was not let in: %s", link_peer(link), why);
}

static const struct lobby_events pending_events = {.known = known, .failed = not_known};

static void enter(int fd, uint64_t job, void *owner)
{
	struct scored *d = owner;

	if (job)
		close(fd);
	else
		lobby_enter(d->lobby, fd);
}

/* ---- up and down ---- */

/* One user's connections leave at least half of the descriptors to the others and the hosts. */
static void share_files(struct scored *d)
{
	unsigned long long files = files_raise(), all = files / FILES_PARTS * (FILES_PARTS - 3);

	/* Two parts are for strangers, one for hosts, for root and for what scored does itself. */
	d->options.all_links = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
	if (files / 2 >= d->options.user_links)
		return;
	d->options.user_links = (uint32_t)(files / 2);
	daemon_say(
		"limit of open files %llu: a user may have %u connections; raise RLIMIT_NOFILE for "
		"more",
		files, d->options.user_links);
}

static int open_all(struct scored *d, char *why, size_t why_size)
{
	if (d->options.config &&
	    !(d->cluster = cluster_read(d->options.config, true, why, why_size)))
		return -EINVAL;
	scored_options_complete(&d->options, d->cluster ? &d->cluster->section : NULL);
	share_files(d);
	d->loop = ev_default_loop(EVFLAG_AUTO);
	d->matrix = matrix_new(d->options.rows);
	d->auth = auth_open(d->loop, d->options.munge_socket);
	d->operators = d->loop ? operators_open(d->options.operators, clock_monotonic_s()) : NULL;
	d->lobby = d->auth ? lobby_open(d->loop, d->auth, &pending_events, d) : NULL;
	if (!d->loop || !d->matrix || !d->lobby || !d->operators || nameset_init(&d->node_names)) {
		snprintf(why, why_size, "no memory");
		return -ENOMEM;
	}
	d->journal = journal_open(d->options.state, why, why_size);
	if (!d->journal)
		return -EIO;
	ev_now_update(d->loop);
	awake_begin(&d->awake, clock_monotonic_ns(), BEAT_S);
	if ((d->cluster && nodes_read(d)) || jobs_open(d, why, why_size) ||
	    locks_open(d, why, why_size))
		return -EIO;
	d->acceptor = acceptor_open(d->loop, d->options.listen, enter, d);
	if (!d->acceptor) {
		snprintf(why, why_size,
			 "--listen %s: %m; another scored may be there, or choose another port",
			 d->options.listen);
		return -errno;
	}
	return 0;
}

static void close_all(struct scored *d)
{
	if (d->acceptor)
		acceptor_close(d->acceptor);
	lobby_close(d->lobby);
	users_close(d);
	locks_close(d);
	jobs_close(d);
	nodes_close(d);
	journal_close(d->journal);
	cluster_free(d->cluster);
	auth_close(d->auth);
	operators_close(d->operators);
	matrix_free(d->matrix);
}

static void serve(struct scored *d)
{
	ev_timer_init(&d->beat, beat, BEAT_S, BEAT_S);
	d->beat.data = d;
	ev_timer_start(d->loop, &d->beat);
	daemon_say("ready, port %d, quantum %.0f ms", acceptor_port(d->acceptor),
		   (double)d->options.quantum_ns / 1e6);
	reload_open(d);
	daemon_run(d->loop);
	reload_close(d);
	ev_timer_stop(d->loop, &d->beat);
}

int main(int argc, char **argv)
{
	static struct scored d;
	char why[1024];
	int err;

	TAILQ_INIT(&d.jobs);
	LIST_INIT(&d.users);
	activity_open(&d);
	LIST_INIT(&d.accounts);
	err = scored_options_read(&d.options, argc, argv, why, sizeof(why));
	if (err == 1)
		return 0;
	if (err) {
		daemon_say("%s", why);
		return SCORED_EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	err = open_all(&d, why, sizeof(why));
	if (err)
		daemon_say("%s", why);
	else
		serve(&d);
	close_all(&d);
	return err ? EXIT_FAILED : 0;
}
