// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_context - opening and closing the PM context, which mtl/pm and btl/pm share: the first one
 * opens it, the last one closes it.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_batch.h"
#include "mpi-glue/mtl/mtl_pm_stage.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "mpi-glue/common/job.h"

#include "opal/runtime/opal_progress.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long finalize waits for peers to acknowledge what was sent to them. */
#define QUIESCE_MS 10000

/*
 * Message rings of a pair of ranks: large ones let sender and receiver drift apart without waiting
 * for each other, until the rings of all pairs together no longer stay in the caches.
 */
#define RINGS_TOGETHER (2u << 20)
#define RING_MAX (1u << 20)
#define RING_MIN (128u << 10)

/* Two of them carry 64 KiB with their headers and pads. */
#define SHMEM_MTU "32896"

static void init_lists(void)
{
	match_init(&mtl_pm.match);
	ids_init(&mtl_pm.ids);
	TAILQ_INIT(&mtl_pm.busy);
	TAILQ_INIT(&mtl_pm.choked);
	TAILQ_INIT(&mtl_pm.readers);
	TAILQ_INIT(&mtl_pm.waiters);
	STAILQ_INIT(&mtl_pm.done);
	STAILQ_INIT(&mtl_pm.free_notes);
	mtl_pm.staged = NULL;
	mtl_pm.has_parted = false;
	mtl_pm.burst = NULL;
	mtl_pm.is_corked = mtl_pm.has_held = false;
	mtl_pm.n_fetches = 0;
	/* Open MPI may open the component again, which stays in memory with its state. */
	mtl_pm.deaths = 0;
	mtl_pm.held = 0;
	mtl_pm.exposed = mtl_pm.n_long = 0;
	mtl_pm.unexpected_bytes = mtl_pm.deaf_bytes = 0;
	mtl_pm.kept = (struct mtl_pm_kept){0};
	TAILQ_INIT(&mtl_pm.comms);
}

/*
 * Whether the ranks of this host must share cores, as far as counts can tell; idle.h sees the rest.
 */
static bool is_crowded(uint32_t local)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores > 0 && local > (unsigned long)cores;
}

static int show_unusable(const char *what, const char *why)
{
	/* Somebody else's choice of pml/cm must not make noise about us. */
	if (mtl_pm.is_named || mtl_pm.tells_why)
		mtl_pm_say_once("unusable", ompi_process_info.nodename, what, why);
	return OMPI_ERR_NOT_AVAILABLE;
}

/* A device the user named is missing: the job goes on over the others. */
static void show_note(void)
{
	const char *note;

	if (pmGetNote(mtl_pm.ctx, &note) == PM_SUCCESS && *note)
		mtl_pm_say_once("device missing", ompi_process_info.nodename, note);
}

static int publish_address(void)
{
	char address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	int rc = pmGetAddress(mtl_pm.ctx, address, &len);

	if (rc)
		return show_unusable("give its address", pmLastError());
	OPAL_MODEX_SEND(rc, MTL_PM_SCOPE_GLOBAL, &mca_mtl_pm_component.mtl_version, address, len);
	if (rc != OMPI_SUCCESS)
		return show_unusable("publish its address", "the launcher refused it (PMIx put)");
	return OMPI_SUCCESS;
}

/*
 * Larger datagrams and rings than PM's own defaults make MPI's messages of 16 to 64 KiB a quarter
 * faster. The kernel copies data that are read, where it may: mtl_pm_way.c finds out where that is
 * faster than a stream. NULL when there are so many ranks that PM's own are better, or the user has
 * set some.
 */
static const char *shmem_options(uint32_t local)
{
	static char options[96];
	const char *user = getenv("PM_OPTIONS");
	uint32_t pairs = local > 1 ? local * (local - 1) : 1, ring = RING_MAX;

	while (ring > RING_MIN && ring * (uint64_t)pairs > RINGS_TOGETHER)
		ring /= 2;
	if (ring * (uint64_t)pairs > 4 * (uint64_t)RINGS_TOGETHER ||
	    (user && strstr(user, "shmem.")))
		return NULL;
	snprintf(options, sizeof(options), "shmem.mtu=" SHMEM_MTU ",shmem.ring=%u,shmem.large=cma",
		 ring);
	return options;
}

static int open_context(bool wants_threads)
{
	uint32_t local = (uint32_t)ompi_process_info.num_local_peers + 1;
	char config[MTL_PM_ORDER_CONFIG_MAX];
	struct pmOptions options = {
		.size = sizeof(options),
		.nodes = (uint32_t)ompi_process_info.num_procs,
		.local = local,
		.config = mtl_pm.options = shmem_options(local),
		.resolver = mtl_pm_resolve,
	};
	int rc;

	rc = mtl_pm_find_key(&options.job_key);
	if (rc == -EINVAL)
		return show_unusable(
			"read the job key",
			"OMPI_MCA_orte_precondition_transports is damaged; do not set it");
	if (rc)
		return show_unusable("find the job key", MTL_PM_NO_KEY);
	if (job_node(mtl_pm_local_job(OMPI_PROC_MY_NAME->jobid), OMPI_PROC_MY_NAME->vpid,
		     &options.self))
		return show_unusable("number its processes",
				     "at most 1048576 ranks per job and 4094 jobs per mpirun are "
				     "possible; start another mpirun");
	if (mtl_pm_orders_await()) {
		options.job_key = mtl_pm_order_devices(config);
		options.config = config;
	}
	rc = pmOpenContext(&options, &mtl_pm.ctx);
	if (rc) {
		const char *why = pmLastError();

		mtl_pm.ctx = PM_CONTEXT_NONE;
		return show_unusable("open PM", *why ? why : pmErrorString(rc));
	}
	show_note();

	init_lists();
	idle_init(&mtl_pm.idle, is_crowded(local));
	mtl_pm.gate = wants_threads || opal_using_threads() ? MTL_PM_GATE_SHARED : 0;
	pthread_mutex_init(&mtl_pm.lock, NULL);
	mtl_pm.has_batch = mtl_pm.gate && mtl_pm.batch_threads && mtl_pm_batch_start();
	rc = publish_address();
	if (rc != OMPI_SUCCESS) {
		mtl_pm_batch_stop();
		pmCloseContext(mtl_pm.ctx);
		mtl_pm.ctx = PM_CONTEXT_NONE;
		return rc;
	}
	mtl_pm.at_network = mtl_pm.progress_thread ? NULL : mtl_pm_thread_at_network;
	rc = mtl_pm.progress_thread > 0 ? mtl_pm_thread_start() : 0;
	if (rc) {
		mtl_pm_batch_stop();
		pmCloseContext(mtl_pm.ctx);
		mtl_pm.ctx = PM_CONTEXT_NONE;
		return show_unusable("start its progress thread", strerror(rc));
	}
	mtl_pm_orders_open();
	opal_progress_register(mtl_pm_progress);
	mtl_pm_memory_keep(mtl_pm.keep_memory);
	return OMPI_SUCCESS;
}

int mtl_pm_open(bool wants_threads)
{
	int rc = mtl_pm.users ? OMPI_SUCCESS : open_context(wants_threads);

	mtl_pm.users += rc == OMPI_SUCCESS;
	return rc;
}

/* Everything we promised to send is handed to PM: replies may still have been waiting for room. */
static void drain(void)
{
	mtl_pm_enter();
	mtl_pm_let_go();
	while (!TAILQ_EMPTY(&mtl_pm.busy)) {
		if (!mtl_pm_poll())
			sched_yield();
	}
	mtl_pm_leave();
}

/*
 * A process that closed cannot acknowledge any more, so nobody closes before all have been
 * acknowledged. Failures are not fatal here: the program has ended, the others are gone or going.
 */
void mtl_pm_part(void)
{
	volatile bool active = true;

	if (mtl_pm.has_parted)
		return;
	mtl_pm.has_parted = true;
	mtl_pm_thread_stop();
	drain();
	if (pmQuiesce(mtl_pm.ctx, QUIESCE_MS) == ETIMEDOUT)
		opal_show_help("help-mtl-pm.txt", "not acknowledged", true,
			       ompi_process_info.nodename, QUIESCE_MS / 1000);
	pmResume(mtl_pm.ctx);
	if (ompi_process_info.num_procs < 2 || mtl_pm_fence_start(&active))
		return;
	while (active) {
		mtl_pm_poll();
		opal_progress();
	}
}

static void free_peers(void)
{
	for (uint32_t i = 0; mtl_pm.peers.slots && i <= mtl_pm.peers.mask; i++) {
		struct mtl_pm_peer *peer = mtl_pm.peers.slots[i].value;

		if (peer)
			free(peer->measured);
		free(peer);
	}
	table_fini(&mtl_pm.peers);
}

static void free_lists(void)
{
	while (!STAILQ_EMPTY(&mtl_pm.free_notes)) {
		struct mtl_pm_note *note = STAILQ_FIRST(&mtl_pm.free_notes);

		STAILQ_REMOVE_HEAD(&mtl_pm.free_notes, link);
		free(note);
	}
	while (mtl_pm.free_messages) {
		struct mtl_pm_message *m = mtl_pm.free_messages;

		mtl_pm.free_messages = m->next;
		free(m);
	}
}

/* Messages that nobody has received. */
static void drop_entry(void *arg, struct match_entry *e, bool is_message)
{
	if (is_message)
		mtl_pm_message_drop(mtl_pm_message_of_match(e));
}

void mtl_pm_close(void)
{
	if (--mtl_pm.users)
		return;
	mtl_pm_thread_stop();
	opal_progress_unregister(mtl_pm_progress);
	mtl_pm_orders_close();
	if (mtl_pm.yields_for_opal)
		opal_progress_set_yield_when_idle(true);
	match_fini(&mtl_pm.match, drop_entry, NULL);
	pmCloseContext(mtl_pm.ctx);
	mtl_pm.ctx = PM_CONTEXT_NONE;
	ids_fini(&mtl_pm.ids);
	free_peers();
	free_lists();
	mtl_pm_stage_close();
	mtl_pm_batch_stop();
	free(mtl_pm.resolved);
	mtl_pm.resolved = NULL;
	pthread_mutex_destroy(&mtl_pm.lock);
}
