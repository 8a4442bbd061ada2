// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_progress: what a program does that waits. A blocking receive looks for a while by itself.
 * Then Open MPI calls us: requests are called back for, another thread's round is enough, and who
 * finds nothing spins, yields and asks for those it waits for. Time passes as the test lets it.
 */
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "opal/runtime/opal_progress.h"

#define NODE 3
#define LINGER 256 /* looks of a blocking receive */
#define SHORT_NS 400
#define FRESH_NS 1000000 /* a count of switches is old after that */
#define LOOK_NS 500000000u

static struct ompi_communicator_t *comm;
static struct fake_receive r;

/* ---- of the C library: the program's own functions come before those of its libraries ---- */

static struct {
	uint64_t takes_ns; /* of each yield */
	int yields;
	long switches; /* of this thread, so far */
	int looks;     /* at them */
} os;

int sched_yield(void)
{
	os.yields++;
	stillclock_ns += os.takes_ns;
	return 0;
}

int getrusage(__rusage_who_t thread, struct rusage *usage)
{
	is_int(thread, RUSAGE_THREAD);
	os.looks++;
	usage->ru_nivcsw = os.switches;
	return 0;
}

/* ---- */

static void begin(void)
{
	comm = fake_open_comm("udp");
	mtl_pm_peer_of_node(NODE);
	memset(&os, 0, sizeof(os));
	os.takes_ns = SHORT_NS;
	idle_init(&mtl_pm.idle, false);
	mtl_pm.watch_ns = 0;
	mtl_pm.presence = MTL_PM_OUTSIDE;
	mtl_pm.gate = 0;
	mtl_pm.yields_for_opal = false;
	pthread_mutex_init(&mtl_pm.lock, NULL);
	/* No count of switches of a test before is new. */
	stillclock_ns += 10 * FRESH_NS;
}

static void finish(void)
{
	is_int(mtl_pm.presence, MTL_PM_OUTSIDE);
	pthread_mutex_destroy(&mtl_pm.lock);
	mtl_pm.gate = 0;
	fake_close_comm(comm);
}

/* Calls in which nothing is found, up to the next look at the clock. */
static void idle(void)
{
	for (int i = 0; i < IDLE_CLOCK_POLLS; i++)
		is_int(mtl_pm_progress(), 0);
}

/* Idles until it yields for the first time. */
static void idle_for_long(void)
{
	idle();
	stillclock_ns += IDLE_SPIN_NS;
	idle();
}

/* ---- what is done ---- */

static bool is_free_in_callback;

static void note_lock(struct mca_mtl_request_t *req)
{
	is_free_in_callback = !pthread_mutex_trylock(&mtl_pm.lock);
	if (is_free_in_callback)
		pthread_mutex_unlock(&mtl_pm.lock);
	ok(mtl_pm.presence == MTL_PM_OUTSIDE && !mtl_pm.has_lock);
	fake_mpi.n_callbacks++;
}

/* A message without bytes arrives. */
static void bring(void)
{
	static struct envelope e;
	const struct iovec part = {.iov_base = &e, .iov_len = sizeof(e)};

	e = (struct envelope){.kind_context = envelope_pack(ENVELOPE_EAGER, FAKE_CONTEXT),
			      .source = NODE};
	fake_arrive(NODE, &part, 1);
}

/* The same, and there is a receive. */
static void arrive(void)
{
	fake_post(&r, NODE, 0, 0);
	r.req.super.completion_callback = note_lock;
	bring();
}

TAP_TEST(progress__calls_back_outside_the_lock)
{
	for (uint32_t gate = 0; gate <= MTL_PM_GATE_SHARED; gate++) {
		begin();
		mtl_pm.gate = gate;
		arrive();
		ok(mtl_pm_progress() > 0);
		is_int(fake_mpi.n_callbacks, 1);
		ok(is_free_in_callback);
		finish();
	}
}

TAP_TEST(progress__calls_back_for_what_the_thread_has_ended)
{
	begin();
	idle_for_long();
	is_int(os.yields, 1);
	fake_prepare(&r, 0);
	r.req.super.completion_callback = note_lock;
	mtl_pm_complete(&r.req);
	ok(mtl_pm_progress() > 0);
	is_int(fake_mpi.n_callbacks, 1);
	/* That was something to do, so it begins to spin again. */
	idle();
	is_int(os.yields, 1);
	finish();
}

static bool is_locked_in_round;

static void note_round(void)
{
	is_int(mtl_pm.presence, MTL_PM_INSIDE);
	is_locked_in_round = pthread_mutex_trylock(&mtl_pm.lock);
	if (!is_locked_in_round)
		pthread_mutex_unlock(&mtl_pm.lock);
}

TAP_TEST(progress__takes_the_lock_if_others_may_be_inside)
{
	begin();
	fake.on_poll = note_round;
	mtl_pm_progress();
	ok(!is_locked_in_round);
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	mtl_pm_progress();
	ok(is_locked_in_round);
	is_int(pthread_mutex_trylock(&mtl_pm.lock), 0);
	pthread_mutex_unlock(&mtl_pm.lock);
	finish();
}

TAP_TEST(progress__the_round_of_another_thread_serves_it)
{
	begin();
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	pthread_mutex_lock(&mtl_pm.lock);
	for (int i = 0; i < 2 * IDLE_CLOCK_POLLS; i++)
		is_int(mtl_pm_progress(), 0);
	is_int(fake.polls, 0);
	is_int(os.yields, 0);
	pthread_mutex_unlock(&mtl_pm.lock);
	is_int(mtl_pm_progress(), 0);
	is_int(fake.polls, 1);
	finish();
}

/* ---- nothing is done ---- */

TAP_TEST(progress__spins_before_it_yields)
{
	begin();
	/* The clock is read now and then only: time counts from the first look. */
	stillclock_ns += 10 * IDLE_SPIN_NS;
	idle();
	stillclock_ns += IDLE_SPIN_NS - 1;
	idle();
	is_int(os.yields, 0);
	stillclock_ns += 1;
	for (int i = 1; i < IDLE_CLOCK_POLLS; i++)
		mtl_pm_progress();
	is_int(os.yields, 0);
	mtl_pm_progress();
	is_int(os.yields, 1);
	/* A message, and it spins again. */
	arrive();
	ok(mtl_pm_progress() > 0);
	idle();
	is_int(os.yields, 1);
	finish();
}

TAP_TEST(progress__yields_at_each_look_where_the_core_is_shared)
{
	begin();
	idle_init(&mtl_pm.idle, true);
	for (int i = 1; i <= 5; i++) {
		mtl_pm_progress();
		is_int(os.yields, i);
	}
	finish();
}

TAP_TEST(progress__yields_in_place_of_open_mpi)
{
	begin();
	opal_progress_set_yield_when_idle(true);
	idle_for_long();
	ok(mtl_pm.yields_for_opal);
	ok(!opal_progress_set_yield_when_idle(false));
	/* That it was on is not forgotten. */
	idle();
	is_int(os.yields, 2);
	ok(mtl_pm.yields_for_opal);
	finish();
}

TAP_TEST(progress__threads_have_the_yields_of_open_mpi)
{
	begin();
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	opal_progress_set_yield_when_idle(true);
	idle_for_long();
	is_int(os.yields, 1);
	ok(!mtl_pm.yields_for_opal);
	ok(opal_progress_set_yield_when_idle(false));
	finish();
}

/* ---- whether others want the core ---- */

/* A yield of so long, before which so many switches were. */
static bool is_shared_after(uint64_t takes_ns, long switches)
{
	os.takes_ns = takes_ns;
	os.switches += switches;
	idle();
	return mtl_pm.idle.is_shared;
}

/* The process yields, and has counted its switches just now. */
static void begin_counting(void)
{
	begin();
	idle_for_long();
	is_int(os.looks, 0);
	/* The count of a time in which the program computed tells nothing. */
	ok(!is_shared_after(IDLE_LONG_YIELD_NS, 3));
	is_int(os.looks, 1);
}

TAP_TEST(progress__a_long_yield_that_has_switched)
{
	begin_counting();
	ok(is_shared_after(IDLE_LONG_YIELD_NS, 1));
	is_int(os.looks, 2);
	/* From here on yields alone tell, without a system call more. */
	mtl_pm_progress();
	is_int(os.looks, 2);
	finish();
}

TAP_TEST(progress__a_long_yield_without_a_switch)
{
	begin_counting();
	ok(!is_shared_after(IDLE_LONG_YIELD_NS, 0));
	ok(!is_shared_after(IDLE_LONG_YIELD_NS, 0));
	is_int(os.looks, 3);
	finish();
}

TAP_TEST(progress__a_short_yield_has_met_nobody)
{
	begin_counting();
	ok(!is_shared_after(IDLE_LONG_YIELD_NS - 1, 1));
	is_int(os.looks, 1);
	/* Its switch is seen at the next long one, which comes soon. */
	ok(is_shared_after(IDLE_LONG_YIELD_NS, 0));
	finish();
}

TAP_TEST(progress__switches_of_long_ago)
{
	begin_counting();
	stillclock_ns += FRESH_NS;
	ok(!is_shared_after(IDLE_LONG_YIELD_NS, 1));
	stillclock_ns += FRESH_NS - 1;
	ok(is_shared_after(IDLE_LONG_YIELD_NS, 1));
	finish();
}

/* ---- work that PM does unseen, and peers that are waited for ---- */

TAP_TEST(progress__serving_the_reads_of_others_is_work)
{
	begin();
	mtl_pm.exposed = 1;
	idle_for_long();
	idle();
	is_int(os.yields, 0);
	/* It spins for a while after that, as after any work. */
	mtl_pm.exposed = 0;
	idle();
	stillclock_ns += IDLE_SPIN_NS - 1;
	mtl_pm.exposed = 1;
	idle();
	mtl_pm.exposed = 0;
	stillclock_ns += 1;
	idle();
	is_int(os.yields, 0);
	/* Where others want the core it yields all the same. */
	mtl_pm.exposed = 1;
	mtl_pm.idle.is_shared = true;
	mtl_pm_progress();
	is_int(os.yields, 1);
	mtl_pm.exposed = 0;
	finish();
}

TAP_TEST(progress__asks_for_a_peer_that_owes_a_message)
{
	begin();
	fake_post(&r, NODE, 0, 0);
	idle();
	stillclock_ns += LOOK_NS - 1;
	idle();
	is_int(fake.n_probes, 0);
	stillclock_ns += 1;
	idle();
	is_int(fake.n_probes, 1);
	ok(match_cancel(&r.req.receive.match));
	finish();
}

/* ---- blocking receives ---- */

static struct fake_receive second;
static int arrives_at; /* look at which a message does */

static void end(struct mca_mtl_request_t *req)
{
	fake_mpi.n_callbacks++;
	req->ompi_req->req_complete = REQUEST_COMPLETED;
}

static void post(struct fake_receive *receive)
{
	fake_post(receive, NODE, 0, 0);
	receive->req.super.completion_callback = end;
	receive->ompi.req_complete = REQUEST_PENDING;
}

static void arrive_in_time(void)
{
	if (fake.polls == arrives_at)
		bring();
}

static void arrive_at(int look)
{
	arrives_at = look;
	fake.on_poll = arrive_in_time;
}

/* Inside, as irecv is; outside afterwards. */
static void linger(void)
{
	mtl_pm_enter();
	mtl_pm_linger(&r.ompi);
	ok(!mtl_pm.has_lock);
}

TAP_TEST(linger__gives_up_after_a_while)
{
	begin();
	mtl_pm.burst = mtl_pm_peer_of_node(NODE);
	mtl_pm.is_corked = true;
	post(&r);
	linger();
	is_int(fake.polls, LINGER);
	is_int(fake_mpi.n_callbacks, 0);
	/* Messages that peers wait for, and may answer, are not held back. */
	is_int(fake.uncorks, 1);
	ok(match_cancel(&r.req.receive.match));
	finish();
}

TAP_TEST(linger__until_the_request_is_complete)
{
	begin();
	post(&r);
	arrive_at(5);
	linger();
	is_int(fake.polls, 5);
	is_int(fake_mpi.n_callbacks, 1);
	/* PM has its buffer back at the next look: the program waits for its message now. */
	ok(fake.lent != 0);
	finish();
}

TAP_TEST(linger__another_request_ends_meanwhile)
{
	begin();
	post(&second);
	post(&r);
	arrive_at(5);
	linger();
	is_int(fake.polls, LINGER);
	is_int(fake_mpi.n_callbacks, 1);
	ok(REQUEST_COMPLETE(&second.ompi) && !REQUEST_COMPLETE(&r.ompi));
	ok(match_cancel(&r.req.receive.match));
	finish();
}

static void make_room(void)
{
	if (fake.polls == 20)
		fake.send_buffers = 1;
}

TAP_TEST(linger__hands_over_what_waits_for_room)
{
	begin();
	post(&r);
	fake.send_buffers = 0;
	mtl_pm_note_control(mtl_pm_peer_of_node(NODE), ENVELOPE_ACK, 7, 0);
	fake.on_poll = make_room;
	linger();
	fake_sent_control(NODE, ENVELOPE_ACK, 7);
	ok(match_cancel(&r.req.receive.match));
	finish();
}

/* A callback that starts something long: the thread watches, and the program takes the lock. */
static void end_and_start(struct mca_mtl_request_t *req)
{
	fake_mpi.n_callbacks++;
	mtl_pm.gate = MTL_PM_GATE_SHARED;
}

TAP_TEST(linger__lets_the_thread_have_the_lock)
{
	begin();
	post(&second);
	post(&r);
	second.req.super.completion_callback = end_and_start;
	arrive_at(5);
	linger();
	is_int(fake.polls, 5);
	is_int(fake_mpi.n_callbacks, 1);
	is_int(pthread_mutex_trylock(&mtl_pm.lock), 0);
	pthread_mutex_unlock(&mtl_pm.lock);
	ok(match_cancel(&r.req.receive.match));
	finish();
}
