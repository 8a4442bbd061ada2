// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_burst: which messages PM may hold, and how a program is found that works meanwhile. */
#include <errno.h>

#include "mpi-glue/mtl/mtl_pm_context.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define STREAM 131072
#define STANDARD MCA_PML_BASE_SEND_STANDARD
#define LATE_NS 1000000000u

static struct mtl_pm_peer *peer;

static void begin(const char *device)
{
	fake_open(device);
	fake.long_read = STREAM;
	peer = mtl_pm_peer_of_node(NODE);
}

static void finish(void)
{
	mtl_pm_let_go();
	fake_close();
}

static bool join(size_t length)
{
	return mtl_pm_join_burst(peer, length, true, STANDARD);
}

/* The calls of the burst took no time, whatever else this machine had to do. */
static void be_quick(void)
{
	mtl_pm.held_bytes = UINT32_MAX;
}

static void be_late(void)
{
	mtl_pm.held_ns -= LATE_NS;
}

TAP_TEST(join_burst__the_first_message_goes_at_once)
{
	begin("udp");
	ok(!join(100));
	ok(mtl_pm.burst == peer && !mtl_pm.is_corked);
	is_int(fake.corks, 0);
	ok(!join(100));
	ok(mtl_pm.is_corked);
	ok(!join(100));
	is_int(fake.corks, 1);
	mtl_pm_end_burst();
	ok(!mtl_pm.burst && !mtl_pm.is_corked);
	is_int(fake.uncorks, 1);
	finish();
}

/* Those of btl/pm are held until something else is sent, or there is a poll. */
TAP_TEST(begin_requests__held_until_another_burst)
{
	begin("udp");
	join(100);
	join(100);
	mtl_pm_begin_requests();
	is_int(fake.uncorks, 1);
	is_int(fake.corks, 2);
	mtl_pm_begin_requests();
	is_int(fake.corks, 2);
	ok(!join(100));
	is_int(fake.uncorks, 2);
	ok(mtl_pm.burst == peer && !mtl_pm.is_corked);
	mtl_pm_begin_requests();
	mtl_pm_poll();
	is_int(fake.uncorks, 3);
	ok(!mtl_pm.burst);
	/* a poll in the midst of them */
	mtl_pm_begin_requests();
	mtl_pm_poll_in_burst();
	is_int(fake.uncorks, 4);
	mtl_pm_begin_requests();
	is_int(fake.corks, 5);
	is_int(peer->burst_bytes, 200);
	finish();
	is_int(fake.uncorks, 5);
}

TAP_TEST(join_burst__not_to_a_peer_that_gathers_nothing)
{
	begin("shmem");
	join(100);
	ok(!mtl_pm.burst);
	join(100);
	is_int(fake.corks, 0);
	finish();
}

TAP_TEST(join_burst__another_peer_ends_it)
{
	struct mtl_pm_peer *other;

	begin("udp");
	other = mtl_pm_peer_of_node(NODE + 1);
	join(100);
	join(100);
	mtl_pm_join_burst(other, 100, true, STANDARD);
	ok(mtl_pm.burst == other && !mtl_pm.is_corked);
	is_int(fake.uncorks, 1);
	finish();
}

TAP_TEST(join_burst__modes_that_are_not_held)
{
	begin("udp");
	join(100);
	mtl_pm_join_burst(peer, 100, true, MCA_PML_BASE_SEND_READY);
	is_int(fake.corks, 1);
	mtl_pm_join_burst(peer, 100, true, MCA_PML_BASE_SEND_SYNCHRONOUS);
	ok(!mtl_pm.is_corked);
	mtl_pm_join_burst(peer, 100, true, MCA_PML_BASE_SEND_BUFFERED);
	ok(!mtl_pm.is_corked);
	is_int(fake.corks, 1);
	finish();
}

TAP_TEST(join_burst__not_behind_a_send_that_waits)
{
	struct mtl_pm_send waits = {0};

	begin("udp");
	join(100);
	TAILQ_INSERT_TAIL(&peer->sends, &waits, link);
	join(100);
	ok(!mtl_pm.is_corked);
	TAILQ_INIT(&peer->sends);
	finish();
}

TAP_TEST(join_burst__long_messages_let_the_others_go)
{
	begin("udp");
	peer->middle_limit = 262144;
	peer->burst_limit = 0;
	join(100);
	/* The longest that is held, and one byte more. */
	join(131072);
	ok(mtl_pm.is_corked);
	join(131073);
	ok(!mtl_pm.is_corked && mtl_pm.burst == peer);
	join(100);
	ok(mtl_pm.is_corked);
	peer->middle_limit = 20000;
	join(20001);
	ok(!mtl_pm.is_corked);
	finish();
}

TAP_TEST(end_burst__a_program_that_works_meanwhile_has_nothing_held)
{
	begin("udp");
	for (int i = 0; i < 2; i++) {
		is_int(peer->unheld, 0);
		join(100);
		join(100);
		ok(mtl_pm.is_corked);
		be_late();
		mtl_pm_end_burst();
	}
	is_int(peer->unheld, 512);
	join(100);
	for (int i = 0; i < 600; i++) {
		join(100);
		if (!ok(!mtl_pm.is_corked))
			break;
	}
	/* Their number has run out, and the rest of that burst goes as well. */
	mtl_pm_end_burst();
	join(100);
	join(100);
	ok(mtl_pm.is_corked);
	be_quick();
	finish();
}

TAP_TEST(end_burst__once_may_be_chance)
{
	begin("udp");
	for (int i = 0; i < 6; i++) {
		join(100);
		join(100);
		if (i % 2)
			be_late();
		else
			be_quick();
		mtl_pm_end_burst();
	}
	is_int(peer->unheld, 0);
	finish();
}

TAP_TEST(pause_burst__a_poll_between_two_sends)
{
	begin("udp");
	join(100);
	join(100);
	ok(mtl_pm_pause_burst() == peer);
	ok(!mtl_pm.burst && !mtl_pm.is_corked);
	is_int(fake.uncorks, 1);
	mtl_pm_resume_burst(peer);
	ok(mtl_pm.burst == peer);
	/* It is timed anew: what came before was judged. */
	is_int(mtl_pm.n_held, 0);
	join(100);
	ok(mtl_pm.is_corked);
	mtl_pm_end_burst();
	ok(!mtl_pm_pause_burst());
	finish();
}

TAP_TEST(push_gathered__when_pm_holds_none_any_more)
{
	static struct mtl_pm_request first, second;

	begin("udp");
	is_int(mtl_pm_push_gathered(peer), 0);
	STAILQ_INSERT_TAIL(&peer->gathered, &first, done);
	STAILQ_INSERT_TAIL(&peer->gathered, &second, done);
	fake.send_out = ENOBUFS;
	is_int(mtl_pm_push_gathered(peer), 0);
	ok(!fake_completed());
	fake.send_out = 0;
	is_int(mtl_pm_push_gathered(peer), 1);
	ok(fake_completed() == &first && fake_completed() == &second);
	ok(STAILQ_EMPTY(&peer->gathered));
	finish();
}

TAP_TEST(end_burst__what_pm_holds_still_is_looked_after)
{
	static struct mtl_pm_request req;

	begin("udp");
	join(100);
	join(100);
	STAILQ_INSERT_TAIL(&peer->gathered, &req, done);
	fake.send_out = ENOBUFS;
	be_quick();
	mtl_pm_end_burst();
	ok(peer->is_busy && !fake_completed());
	STAILQ_INIT(&peer->gathered);
	finish();
}

TAP_TEST(drop_gathered__they_end_with_an_error)
{
	static struct fake_send s[2];

	begin("udp");
	for (int i = 0; i < 2; i++) {
		fake_prepare_send(&s[i], peer, "", 0);
		STAILQ_INSERT_TAIL(&peer->gathered, &s[i].req, done);
	}
	mtl_pm_drop_gathered(peer);
	for (int i = 0; i < 2; i++) {
		ok(fake_completed() == &s[i].req);
		is_int(s[i].ompi.req_status.MPI_ERROR, MPI_ERR_OTHER);
	}
	finish();
}
