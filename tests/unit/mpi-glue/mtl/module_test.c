// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_module: how a context is opened, why it may not be, and how the component parts from its
 * peers and closes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/common/job.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "ompi/constants.h"
#include "opal/runtime/opal_progress.h"

#define KEY "0123456789abcdef-fedcba9876543210"
#define VARIABLE "OMPI_MCA_orte_precondition_transports"
#define PEER 3

static struct ompi_communicator_t *comm;

static void begin(void)
{
	fake_reset("udp");
	comm = fake_start();
	setenv(VARIABLE, KEY, 1);
	unsetenv("PM_OPTIONS");
	ompi_process_info.num_procs = 1;
	ompi_process_info.num_local_peers = 0;
	mtl_pm.is_named = true;
	mtl_pm.is_used = false;
	mtl_pm.yields_for_opal = false;
	mtl_pm.read_limit = 32;
	mtl_pm.unexpected_limit = 1 << 20;
	mtl_pm.middle_limit = mtl_pm.pull_limit = mtl_pm.head_limit = -1;
}

static void opened(void)
{
	begin();
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
}

static void finalize(void)
{
	is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
	is_int(mtl_pm.ctx, PM_CONTEXT_NONE);
	is_int(fake.closes, 1);
	ok(!fake_mpi.progress);
}

/* The component cannot be used, and people are told. */
static void refuses(void)
{
	is_int(mtl_pm_open(false), OMPI_ERR_NOT_AVAILABLE);
	is_int(mtl_pm.ctx, PM_CONTEXT_NONE);
	is_int(fake.opens, fake.closes);
	ok(!fake_mpi.progress);
	ok(strstr(fake_mpi.said, "unusable: here\n") != NULL);
	/* It is tried on somebody else's behalf. */
	*fake_mpi.said = '\0';
	mtl_pm.is_named = false;
	is_int(mtl_pm_open(false), OMPI_ERR_NOT_AVAILABLE);
	ok(!strstr(fake_mpi.said, "unusable"));
	is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
	is_int(fake.opens, fake.closes);
}

TAP_TEST(open__tells_pm_of_the_job_and_peers_of_us)
{
	uint64_t key;

	begin();
	ompi_process_info.num_procs = 7;
	ompi_process_info.num_local_peers = 2;
	*OMPI_PROC_MY_NAME = (opal_process_name_t){.jobid = 5, .vpid = FAKE_SELF};
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	is_int(fake.options.size, sizeof(fake.options));
	is_int(fake.options.nodes, 7);
	is_int(fake.options.local, 3);
	is_int(job_node_job(fake.options.self), 5);
	is_int(job_node_rank(fake.options.self), FAKE_SELF);
	is_int(job_key_parse(KEY, &key), 0);
	ok(fake.options.job_key == key);
	ok(fake.options.resolver == mtl_pm_resolve);
	is_str(fake_mpi.published, FAKE_ADDRESS);
	ok(fake_mpi.progress == mtl_pm_progress);
	is_str(fake_mpi.said, "");
	ok(!mtl_pm.gate && !mtl_pm.has_batch && !mtl_pm.has_thread);
	finalize();
}

/* btl/pm uses it as well, and closes later. */
TAP_TEST(open__a_second_user)
{
	opened();
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	is_int(fake.opens, 1);
	mtl_pm.is_used = true;
	is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
	is_int(fake.quiesces, 1);
	is_int(fake.closes, 0);
	ok(fake_mpi.progress == mtl_pm_progress);
	/* once is enough, and there is nobody left to do it with */
	mtl_pm_part();
	is_int(fake.quiesces, 1);
	mtl_pm_close();
	is_int(fake.closes, 1);
	ok(!fake_mpi.progress);
}

/* The ring of shared memory among so many ranks of this host; 0: PM's own. */
static int ring(int local)
{
	const char *text;
	int size = 0;

	begin();
	ompi_process_info.num_local_peers = local - 1;
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	text = fake.options.config ? strstr(fake.options.config, "shmem.ring=") : NULL;
	if (text)
		size = atoi(text + strlen("shmem.ring="));
	finalize();
	return size;
}

TAP_TEST(open__rings_of_all_pairs_together_fit_the_caches)
{
	is_int(ring(1), 1 << 20);
	is_int(ring(2), 1 << 20);
	is_int(ring(3), 1 << 18);
	is_int(ring(4), 1 << 17);
	is_int(ring(8), 1 << 17);
	is_int(ring(9), 0);
	is_int(ring(60000), 0);
}

TAP_TEST(open__options_of_the_user_stay)
{
	begin();
	setenv("PM_OPTIONS", "trace=file,shmem.mtu=4096", 1);
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	ok(!fake.options.config);
	finalize();
	begin();
	setenv("PM_OPTIONS", "devices=self+shmem", 1);
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	ok(fake.options.config != NULL);
	finalize();
}

TAP_TEST(open__a_key_that_is_damaged_or_missing)
{
	begin();
	setenv(VARIABLE, "0123", 1);
	refuses();
	begin();
	unsetenv(VARIABLE);
	ompi_process_info.num_procs = 2;
	refuses();
	is_int(fake.opens, 0);
}

TAP_TEST(open__one_process_needs_no_key_of_a_launcher)
{
	uint64_t key;

	begin();
	unsetenv(VARIABLE);
	OMPI_PROC_MY_NAME->vpid = 0;
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	key = fake.options.job_key;
	finalize();
	fake.closes = 0;
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	ok(fake.options.job_key != key);
	finalize();
}

TAP_TEST(open__more_ranks_than_have_numbers)
{
	begin();
	OMPI_PROC_MY_NAME->vpid = JOB_RANKS_MAX;
	refuses();
	is_int(fake.opens, 0);
}

TAP_TEST(open__pm_refuses)
{
	begin();
	fake.open_error = EACCES;
	refuses();
}

TAP_TEST(open__an_address_that_nobody_learns)
{
	begin();
	fake.address_error = EIO;
	refuses();
	begin();
	fake_mpi.publish_error = OPAL_ERROR;
	refuses();
	is_int(fake.opens, 2);
}

TAP_TEST(open__goes_on_without_a_device)
{
	begin();
	fake.note = "no udp here";
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	is_str(fake_mpi.said, "device missing: here\n");
	finalize();
}

TAP_TEST(open__for_a_program_with_threads)
{
	begin();
	mtl_pm.batch_threads = 1;
	is_int(mtl_pm_open(true), OMPI_SUCCESS);
	ok(mtl_pm.gate && mtl_pm.has_batch);
	finalize();
	ok(!mtl_pm.has_batch);
	begin();
	mtl_pm.batch_threads = 0;
	is_int(mtl_pm_open(true), OMPI_SUCCESS);
	ok(mtl_pm.gate && !mtl_pm.has_batch);
	finalize();
	mtl_pm.gate = 0;
}

TAP_TEST(add_comm__finds_what_came_before)
{
	const struct envelope e = {.source = PEER, .tag = 9};

	opened();
	mtl_pm_hold(match_context(&mtl_pm.match, FAKE_CONTEXT), &e, mtl_pm_peer_of_node(PEER), 10,
		    10);
	is_int(mtl_pm_add_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	ok(mtl_pm.is_used);
	ok(match_peek(mtl_pm_matching(comm), PEER, 9) != NULL);
	ok(TAILQ_FIRST(&mtl_pm.comms)->comm == comm);
	/* Messages that nobody has received go with it. */
	is_int(mtl_pm_del_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	is_int(mtl_pm.unexpected_bytes, 0);
	ok(!comm->c_pml_comm && TAILQ_EMPTY(&mtl_pm.comms));
	is_int(mtl_pm_del_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	finalize();
}

TAP_TEST(del_procs__the_peer_stays)
{
	struct ompi_proc_t *proc;
	struct mtl_pm_peer *peer;

	opened();
	proc = ompi_comm_peer_lookup(comm, PEER);
	is_int(mtl_pm_add_procs(&mtl_pm.super, 1, &proc), OMPI_SUCCESS);
	peer = mtl_pm_peer_of(comm, PEER);
	must(peer != NULL);
	ok(proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] == peer);
	is_int(mtl_pm_del_procs(&mtl_pm.super, 1, &proc), OMPI_SUCCESS);
	ok(!proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL]);
	ok(mtl_pm_peer_of_node(PEER) == peer);
	finalize();
}

TAP_TEST(finalize__one_that_was_only_tried_parts_from_nobody)
{
	opened();
	ompi_process_info.num_procs = 2;
	finalize();
	is_int(fake.quiesces, 0);
	is_int(fake_mpi.fences, 0);
	/* Twice is no harm. */
	finalize();
}

/* PM has room again at the third poll. */
static void make_room(void)
{
	if (fake.polls == 3)
		fake.send_buffers = 10;
}

TAP_TEST(finalize__hands_over_what_was_promised)
{
	opened();
	is_int(mtl_pm_add_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	fake.send_buffers = 0;
	mtl_pm_note_control(mtl_pm_peer_of_node(PEER), ENVELOPE_ACK, 7, 0);
	ok(!fake_sent());
	mtl_pm_peer_busy(mtl_pm_peer_of_node(PEER));
	fake.on_poll = make_room;
	is_int(mtl_pm_del_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	finalize();
	fake_sent_control(PEER, ENVELOPE_ACK, 7);
	is_int(fake.quiesces, 1);
	is_int(fake.resumes, 1);
	ok(!fake_mpi.asked);
}

TAP_TEST(finalize__peers_that_do_not_acknowledge)
{
	opened();
	is_int(mtl_pm_add_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	is_int(mtl_pm_del_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	fake.quiesce_error = ETIMEDOUT;
	finalize();
	is_str(fake_mpi.asked, "not acknowledged");
	is_int(fake.resumes, 1);
}

static int polls_in_fence;

static void count_polls(void)
{
	is_int(fake.closes, 0);
	is_int(fake_mpi.fences, 1);
	polls_in_fence = fake.polls;
}

TAP_TEST(finalize__nobody_closes_before_all_have_parted)
{
	opened();
	ompi_process_info.num_procs = 2;
	is_int(mtl_pm_add_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	is_int(mtl_pm_del_comm(&mtl_pm.super, comm), OMPI_SUCCESS);
	fake_mpi.on_progress = count_polls;
	finalize();
	is_int(fake_mpi.fences, 1);
	/* It still answers the others. */
	ok(polls_in_fence > 0);
}

TAP_TEST(finalize__gives_open_mpi_its_yields_back)
{
	opened();
	opal_progress_set_yield_when_idle(false);
	mtl_pm.yields_for_opal = true;
	finalize();
	ok(opal_progress_set_yield_when_idle(false));
}
