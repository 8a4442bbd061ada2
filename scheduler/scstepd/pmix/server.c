// SPDX-License-Identifier: BSD-3-Clause
/*
 * server - PMIx_server_init() in a thread, and the table of upcalls. Static, for PMIx has one
 * server per process and gives its upcalls no pointer of ours.
 */
#include "scheduler/scstepd/pmix/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/pmix/forget.h"
#include "scheduler/scstepd/pmix/guard.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"

#define FORGET_MS 2000 /* with COURSE_TERM_S less than STOP_S of scnoded, which kills then */

static struct {
	pthread_t opener;
	bool is_opening; /* the thread is to be joined */
	pmix_status_t status;
} server;

static pmix_server_module_t upcalls = {
	.client_connected2 = connected_upcall,
	.client_finalized = finalized_upcall,
	.abort = abort_upcall,
	.fence_nb = fence_upcall,
	.direct_modex = modex_upcall,
	.publish = publish_upcall,
	.lookup = lookup_upcall,
	.unpublish = unpublish_upcall,
	.spawn = spawn_upcall,
	.connect = connect_upcall,
	.disconnect = disconnect_upcall,
	.register_events = register_events_upcall,
	.deregister_events = deregister_events_upcall,
	.notify_event = notify_upcall,
	.query = query_upcall,
	.job_control = job_control_upcall,
	.log = log_upcall,
};

static void join_opener(void)
{
	if (server.is_opening)
		pthread_join(server.opener, NULL);
	server.is_opening = false;
}

static void opened(void *arg)
{
	char why[200];

	join_opener();
	snprintf(why, sizeof(why),
		 "host %s: PMIx's server does not start: %s; is its network interface lo up?",
		 server_step()->host, PMIx_Error_string(server.status));
	course_served(server_step(), server.status == PMIX_SUCCESS ? NULL : why);
}

/*
 * PMIx uses our topology instead of reading the machine once more, which takes longer than all the
 * rest. It is put in by hand, for PMIx's own loader would copy it.
 */
static void share_topology(struct step *step, struct infos *infos)
{
	static pmix_topology_t shared = {.source = (char *)"hwloc"};
	bool no = false;

	shared.topology = bind_topology(step->bind);
	infos_add(infos, PMIX_TOPOLOGY2, &no, PMIX_BOOL);
	if (infos->is_broken)
		return;
	infos->v[infos->n - 1].value.type = PMIX_TOPO;
	infos->v[infos->n - 1].value.data.topo = &shared;
}

static void unshare_topology(struct infos *infos)
{
	for (size_t i = 0; i < infos->n; i++)
		if (infos->v[i].value.type == PMIX_TOPO)
			infos->v[i].value.type = PMIX_UNDEF;
}

static void *open_server(void *arg)
{
	struct step *step = arg;
	struct infos infos = {0};
	pmix_rank_t rank = (pmix_rank_t)step->here;
	char nspace[sizeof(step->worlds.all[0]->nspace) + 8];
	bool no = false;

	snprintf(nspace, sizeof(nspace), "%s:step", step->worlds.all[0]->nspace);
	infos_text(&infos, PMIX_SERVER_NSPACE, nspace);
	infos_add(&infos, PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
	infos_text(&infos, PMIX_SERVER_TMPDIR, step->tmpdir);
	infos_text(&infos, PMIX_SYSTEM_TMPDIR, step->tmpdir);
	infos_text(&infos, PMIX_HOSTNAME, step->host);
	infos_add(&infos, PMIX_SERVER_TOOL_SUPPORT, &no, PMIX_BOOL);
	share_topology(step, &infos);
	server.status = infos.is_broken ? PMIX_ERR_NOMEM
					: PMIx_server_init(&upcalls, infos.v, infos.n);
	if (server.status == PMIX_SUCCESS && step->order->job->is_debugged)
		server.status = debug_listen();
	unshare_topology(&infos);
	infos_fini(&infos);
	shift_post(opened, NULL);
	return NULL;
}

int server_open(struct step *step)
{
	int rc = guard_open();

	server_serve(step);
	server.status = PMIX_ERR_INIT;
	/*
	 * The store of PMIx 5.0 in shared memory numbers the keys that PMIx does not know by
	 * itself, each process in its own order. After a key of ours for ranks (nspace.c), programs
	 * read that key in the place of their own first one.
	 */
	if (!rc && PMIX_VERSION_MAJOR >= 5 && setenv("PMIX_MCA_gds", "hash", 0))
		rc = errno;
	if (!rc)
		rc = pthread_create(&server.opener, NULL, open_server, step);
	server.is_opening = !rc;
	return rc < 0 ? rc : -rc;
}

void server_close(void)
{
	if (!server_step())
		return;
	join_opener();
	shift_close();
	if (server.status == PMIX_SUCCESS && forget_worlds(&server_step()->worlds, FORGET_MS))
		PMIx_server_finalize();
	guard_close();
	server_serve(NULL);
}
