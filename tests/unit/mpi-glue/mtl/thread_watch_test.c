// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_thread: when the progress thread watches, naps and parks again, and how long it sleeps. */
#include "tests/unit/mpi-glue/mtl/fake_thread.h"

#define STRANGER 2
#define PARK_TICKS 50

/* ---- watching ---- */

/* While it sleeps for the first time, the program starts something long. */
static void start_long(void)
{
	if (n_naps > 1)
		return;
	mtl_pm.n_long = 1;
	mtl_pm_thread_unpark();
}

static bool helps_in_poll, helps_in_round, is_armed_at_nap;

static void note_help_in_poll(void)
{
	helps_in_poll = mtl_pm.is_helping && pthread_mutex_trylock(&mtl_pm.lock);
}

static void note_help_in_round(void)
{
	helps_in_round = mtl_pm.is_helping;
}

static void start_and_note(void)
{
	start_long();
	is_armed_at_nap = fake.arms == 1 && mtl_pm_helper.is_armed;
}

TAP_TEST(run__a_start_wakes_it_and_it_sleeps_for_pm)
{
	started();
	at_nap = start_and_note;
	fake.on_poll = note_help_in_poll;
	fake.at_round = note_help_in_round;
	live(2);
	is_nap(2, FD, TICK_MS);
	ok(!mtl_pm_helper.is_parked && is_armed_at_nap);
	ok(helps_in_poll && helps_in_round && !mtl_pm.is_helping);
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	/* Another start rings again. */
	ok(!mtl_pm_helper.is_told);
	finish();
}

TAP_TEST(run__watching_it_looks_after_each_sleep)
{
	started();
	at_nap = start_long;
	live(5);
	for (int i = 2; i <= 5; i++)
		is_nap(i, FD, TICK_MS);
	is_int(fake.rounds, 4);
	is_int(fake.polls, 4);
	is_int(fake.arms, 1);
	finish();
}

TAP_TEST(run__pm_wants_its_round_earlier_or_later)
{
	static const int wants[] = {0, 1, 5, -1}, sleeps[] = {0, 1, 1, 1};

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		started();
		at_nap = start_long;
		fake.wait_ms = wants[i];
		live(2);
		is_nap(2, FD, sleeps[i]);
		finish();
	}
}

static void wait_once(void)
{
	fake.is_waiting = fake.rounds == 1;
	mtl_pm_helper.waiting = fake.rounds == 1;
}

TAP_TEST(run__lets_the_program_in_before_it_looks_again)
{
	started();
	at_nap = start_long;
	fake.at_round = wait_once;
	live(2);
	is_int(fake.rounds, 2);
	is_int(fake.polls, 2);
	is_int(yields, 1);
	is_nap(2, FD, TICK_MS);
	finish();
}

static void poll_elsewhere(void)
{
	mtl_pm_helper.polls++;
}

TAP_TEST(run__leaves_all_to_the_program_that_it_has_let_in)
{
	started();
	at_nap = start_long;
	fake.at_round = wait_once;
	at_yield = poll_elsewhere;
	live(2);
	is_int(fake.rounds, 1);
	is_nap(2, -1, TICK_MS);
	finish();
}

/* PM has no room for a message of ours. */
static void start_and_choke(void)
{
	if (n_naps > 1)
		return;
	fake.send_buffers = 0;
	mtl_pm_note_control(mtl_pm_peer_of_node(NODE), ENVELOPE_ACK, 7, 0);
	mtl_pm_thread_unpark();
}

TAP_TEST(run__watches_until_all_is_handed_over)
{
	started();
	at_nap = start_and_choke;
	live(PARK_TICKS + 3);
	for (int i = 2; i <= PARK_TICKS + 3; i++)
		is_nap(i, FD, TICK_MS);
	finish();
}

static struct fake_receive r;
static struct envelope message;

/* Also, a message arrives. */
static void start_and_arrive(void)
{
	const struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};

	start_long();
	message = (struct envelope){.kind_context = envelope_pack(ENVELOPE_EAGER, FAKE_CONTEXT),
				    .source = NODE};
	if (n_naps == 1)
		fake_arrive(NODE, &part, 1);
}

TAP_TEST(run__requests_that_end_wait_for_the_program)
{
	started();
	fake_post(&r, NODE, 0, 0);
	at_nap = start_and_arrive;
	live(2);
	/* It had something to do, so it looks once more before it sleeps. */
	is_int(fake.polls, 3);
	is_int(fake.rounds, 1);
	ok(STAILQ_FIRST(&mtl_pm.done) == &r.req);
	finish();
}

static void start_and_arrive_from_a_stranger(void)
{
	start_long();
	if (n_naps == 2)
		fake_arrive_error(STRANGER, EPIPE);
}

TAP_TEST(run__leaves_news_for_open_mpi_to_the_program)
{
	started();
	at_nap = start_and_arrive_from_a_stranger;
	live(5);
	ok(mtl_pm.kept.is_full);
	is_str(fake_mpi.said, "");
	/* The program must come first: nothing is looked at until then. */
	is_int(fake.polls, 2);
	is_nap(4, -1, TICK_MS);
	is_nap(5, -1, TICK_MS);
	finish();
}

static void fail_meanwhile(void)
{
	if (fake.polls == 1)
		mtl_pm_show_failure(NODE, "send to", EIO);
}

TAP_TEST(run__sleeps_at_once_with_such_news)
{
	started();
	at_nap = start_and_arrive;
	fake.on_poll = fail_meanwhile;
	live(3);
	ok(mtl_pm.kept.is_full && !mtl_pm.is_helping);
	is_int(fake.rounds, 0);
	is_int(fake.polls, 1);
	is_nap(2, -1, TICK_MS);
	is_nap(3, -1, TICK_MS);
	finish();
}

static void run(void)
{
	live(2);
}

TAP_TEST(run__pm_cannot_be_waited_for)
{
	started();
	at_nap = start_long;
	fake.round_error = EMFILE;
	ok(fake_ends_job(run));
	is_str(fake_mpi.why, "mtl/pm: PM failed while waiting: fake");
	pthread_mutex_unlock(&mtl_pm.lock);
	finish();
}

TAP_TEST(run__a_sleep_that_a_signal_ends)
{
	started();
	nap_error = EINTR;
	live(3);
	nap_error = ENOMEM;
	n_naps = 0;
	ok(fake_ends_job(run));
	is_str(fake_mpi.why, "mtl/pm: the progress thread cannot sleep: Cannot allocate memory");
	finish();
}

/* ---- napping ---- */

static void start_and_poll(void)
{
	start_long();
	mtl_pm_helper.polls++;
}

TAP_TEST(run__naps_while_the_program_polls_by_itself)
{
	started();
	at_nap = start_and_poll;
	live(5);
	/* That was told to it: the program polls only afterwards. */
	is_nap(2, FD, TICK_MS);
	for (int i = 3; i <= 5; i++)
		is_nap(i, -1, TICK_MS);
	is_int(fake.rounds, 1);
	is_int(fake.polls, 1);
	finish();
}

static void start_poll_and_compute(void)
{
	start_long();
	mtl_pm_helper.polls += n_naps < 4;
}

TAP_TEST(run__watches_again_when_the_program_polls_no_more)
{
	started();
	at_nap = start_poll_and_compute;
	live(5);
	is_nap(3, -1, TICK_MS);
	is_nap(4, -1, TICK_MS);
	is_nap(5, FD, TICK_MS);
	finish();
}

/* The program is in MPI with the lock, from the second sleep to the fourth. */
static void start_and_have_lock(void)
{
	start_long();
	if (n_naps == 2)
		pthread_mutex_lock(&mtl_pm.lock);
	if (n_naps == 4)
		pthread_mutex_unlock(&mtl_pm.lock);
}

TAP_TEST(run__does_not_wait_for_a_program_that_has_the_lock)
{
	started();
	at_nap = start_and_have_lock;
	live(5);
	is_nap(2, FD, TICK_MS);
	is_nap(3, -1, TICK_MS);
	is_nap(4, -1, TICK_MS);
	is_nap(5, FD, TICK_MS);
	is_int(fake.rounds, 2);
	finish();
}

/* ---- parks again ---- */

/* The message that was started is over when it looks. */
static void start_short(void)
{
	if (n_naps > 1)
		return;
	mtl_pm_helper.keep.state = KEEP_RESTS;
	mtl_pm_thread_unpark();
}

static void start_window(void)
{
	start_short();
	mtl_pm.serves_client = true;
}

/* Others may reach its memory at any time. */
TAP_TEST(run__watches_as_long_as_there_is_a_window)
{
	started();
	at_nap = start_window;
	live(PARK_TICKS + 3);
	is_nap(PARK_TICKS + 3, FD, TICK_MS);
	ok(!mtl_pm_helper.is_parked);
	mtl_pm.serves_client = false;
	finish();
}

TAP_TEST(run__parks_after_a_while_with_nothing_open)
{
	started();
	at_nap = start_short;
	live(PARK_TICKS + 1);
	for (int i = 2; i <= PARK_TICKS; i++)
		is_nap(i, -1, TICK_MS);
	is_nap(PARK_TICKS + 1, -1, KEEP_DOZE_MS);
	ok(mtl_pm_helper.is_parked);
	/* The program was in MPI just now. */
	is_int(mtl_pm_helper.keep.state, KEEP_DOZES);
	is_int(mtl_pm.gate, 0);
	is_int(fake.rounds, 0);
	finish();
}

TAP_TEST(run__parks_beside_threads_of_the_program)
{
	begin(1);
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	is_int(mtl_pm_thread_start(), 0);
	at_nap = start_short;
	live(PARK_TICKS + 1);
	ok(mtl_pm_helper.is_parked);
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	finish();
}

/* A message is open at one look among those. */
static void be_open_once(void)
{
	start_short();
	mtl_pm.n_long = n_naps == 10;
}

TAP_TEST(run__the_while_begins_anew_with_a_message)
{
	started();
	at_nap = be_open_once;
	live(PARK_TICKS + 11);
	is_nap(PARK_TICKS + 10, -1, TICK_MS);
	is_nap(PARK_TICKS + 11, -1, KEEP_DOZE_MS);
	finish();
}

static void start_again(void)
{
	start_short();
	if (n_naps == 20)
		mtl_pm_wake_thread();
}

TAP_TEST(run__the_while_begins_anew_with_a_start)
{
	started();
	at_nap = start_again;
	live(PARK_TICKS + 20);
	is_nap(PARK_TICKS + 19, -1, TICK_MS);
	is_nap(PARK_TICKS + 20, -1, KEEP_DOZE_MS);
	finish();
}

/* It is told at the last tick before it parks, and the bell is rung a moment later. */
static void tell_at_last(void)
{
	start_short();
	if (n_naps == PARK_TICKS)
		mtl_pm_helper.is_told = true;
}

TAP_TEST(run__does_not_park_while_somebody_rings)
{
	started();
	at_nap = tell_at_last;
	live(PARK_TICKS + 1);
	is_nap(PARK_TICKS + 1, -1, TICK_MS);
	ok(!mtl_pm_helper.is_parked);
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	finish();
}
