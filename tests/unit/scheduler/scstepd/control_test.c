// SPDX-License-Identifier: BSD-3-Clause
/*
 * control link: over a socketpair to a scnoded that the test plays, and over its socket in the file
 * system when it comes again. The clock stands still until the test moves it.
 */
#include "tests/unit/scheduler/scstepd/control_world.h"

/* ---- messages ---- */

TAP_TEST(control__what_scnoded_is_told)
{
	begin();
	control_started(fake.step.control);
	control_failed(fake.step.control, 126, "no way");
	control_ended(fake.step.control, 3, "over");
	is_int(control_kill(fake.step.control), 0);
	fake_turn();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"started\"}", "");
	fake_sent(SCNODED,
		  "{\"code\":126,\"error\":\"ECANCELED\",\"id\":70000,\"op\":\"failed\","
		  "\"text\":\"no way\"}",
		  "");
	fake_sent(SCNODED, "{\"code\":3,\"id\":70000,\"op\":\"ended\",\"text\":\"over\"}", "");
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"kill\"}", "");
	finish();
}

TAP_TEST(control_failed__before_there_is_an_order)
{
	begin();
	fake.step.order = NULL;
	control_failed(fake.step.control, 125, "no tmpdir");
	fake_turn();
	fake_sent(SCNODED,
		  "{\"code\":125,\"error\":\"ECANCELED\",\"id\":0,\"op\":\"failed\","
		  "\"text\":\"no tmpdir\"}",
		  "");
	fake.step.order = &fake.small.order;
	finish();
}

TAP_TEST(control__order)
{
	begin();
	says("{\"op\":\"start\",\"order\":{},\"host\":{},\"is_leader\":true}");
	is_int(t.n_orders, 1);
	finish();
}

/* Answers carry no number: the first question is the first answered. */
TAP_TEST(control_adopt__answers_in_the_order_of_the_questions)
{
	begin();
	t.ranks[1].has_ended = true;
	control_adopt(fake.step.control, worlds_get(&fake.step.worlds, 0));
	control_adopt(fake.step.control, &t.second);
	fake_turn();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"adopt\",\"pids\":[100]}", "");
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"adopt\",\"pids\":[102]}", "");
	is_str(t.adopted, "");
	says("{\"op\":\"adopted\",\"pids\":[[100,7100],[101,7101],[4711,7102]]}");
	is_str(t.adopted, "0 ");
	says("{\"op\":\"failed\",\"error\":\"EPERM\",\"text\":\"not ours\"}");
	is_str(t.adopted, "0 1:not ours ");
	/* Of one that has ended the number may be another process's. */
	ok(rank_host_pid(&t.ranks[0]) == 7100 && rank_host_pid(&t.ranks[1]) == 101);
	/* An answer without a question is none. */
	says("{\"op\":\"adopted\"}");
	is_str(t.adopted, "0 1:not ours ");
	is_int(t.n_stops, 0);
	finish();
}

TAP_TEST(control_kill__answered_once)
{
	begin();
	says("{\"op\":\"killed\"}");
	is_int(t.n_killed, 0);
	is_int(control_kill(fake.step.control), 0);
	says("{\"op\":\"killed\"}");
	says("{\"op\":\"killed\"}");
	is_int(t.n_killed, 1);
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"kill\"}", "");
	finish();
}

TAP_TEST(control__signals_and_notes_are_the_leaders)
{
	begin();
	says("{\"op\":\"signal\",\"signal\":10}");
	says("{\"op\":\"note\",\"text\":\"a line\"}");
	is_int(t.n_signals + t.n_notes, 0);
	fake.step.leader = (struct leader *)&fake;
	says("{\"op\":\"signal\",\"signal\":10}");
	says("{\"op\":\"note\",\"text\":\"a line\"}");
	is_int(t.n_signals, 1);
	is_int(t.signo, 10);
	is_int(t.n_notes, 1);
	finish();
}

TAP_TEST(control__a_change_of_devices_is_the_leaders)
{
	begin();
	says("{\"op\":\"migrate\",\"serial\":5,\"devices\":\"udp\"}");
	is_str(t.devices, "");
	fake.step.leader = (struct leader *)&fake;
	says("{\"op\":\"migrate\",\"serial\":5,\"devices\":\"udp\"}");
	is_str(t.devices, "udp");
	control_migrated(fake.step.control, 5, false, "rank 1 on n1 can't", 0.25);
	fake_turn();
	fake_sent(SCNODED,
		  "{\"id\":70000,\"is_changed\":false,\"op\":\"migrated\",\"serial\":5,\"stood_s\":"
		  "0.25,"
		  "\"text\":\"rank 1 on n1 can't\"}",
		  "");
	finish();
}

TAP_TEST(control__a_try_is_the_leaders)
{
	begin();
	says("{\"op\":\"checkpoint\",\"serial\":5}");
	is_int(t.n_asked, 0);
	fake.step.leader = (struct leader *)&fake;
	says("{\"op\":\"checkpoint\",\"serial\":5}");
	is_int(t.n_asked, 1);
	/* No devices are named. */
	is_str(t.devices, "");
	finish();
}

TAP_TEST(control__stop)
{
	begin();
	says("{\"op\":\"stop\",\"text\":\"cancelled\",\"code\":7}");
	is_int(t.n_stops, 1);
	is_int(t.code, 7);
	is_str(t.text, "cancelled");
	ok(fake.step.is_cut);
	says("{\"op\":\"stop\",\"text\":\"again\",\"code\":0}");
	is_int(t.code, 0);
	says("{\"op\":\"stop\",\"text\":\"again\"}");
	is_int(t.code, STEP_CODE_LOST);
	finish();
}

TAP_TEST(control__messages_that_make_no_sense)
{
	begin();
	fake.step.leader = (struct leader *)&fake;
	says("{\"op\":\"signal\",\"signal\":65}");
	is_int(t.n_signals, 0);
	is_int(t.n_stops, 1);
	is_int(t.code, STEP_CODE_LOST);
	okf(strstr(t.text, "host host: scnoded is of another version: ") == t.text, "%s", t.text);
	ok(!fake.step.is_cut);
	/* A stop that is not understood is a stop. */
	says("{\"op\":\"stop\"}");
	is_int(t.n_stops, 2);
	ok(fake.step.is_cut);
	/* A message of a newer scnoded is ignored. */
	says("{\"op\":\"something_new\"}");
	is_int(t.n_stops, 2);
	finish();
}

/* ---- a scnoded that goes, and comes again ---- */

TAP_TEST(control__scnoded_goes_before_there_is_an_order)
{
	begin();
	fake.step.order = NULL;
	link_close(t.scnoded, 0);
	t.scnoded = NULL;
	/* Comes back although a timer is left that would run for ever. */
	ev_run(fake.step.loop, 0);
	fake.step.order = &fake.small.order;
	is_int(t.n_stops, 0);
	finish();
}

static void pass_tries(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		pass(CONTROL_RETRY_S + 0.001);
}

TAP_TEST(control__scnoded_goes_when_all_is_over)
{
	begin();
	fake.step.state = STEP_OVER;
	scnoded_goes();
	pass_tries(TRIES);
	is_int(t.n_stops, 0);
	finish();
}

TAP_TEST(control__scnoded_stays_away)
{
	begin();
	scnoded_goes();
	/* A break in which this process was frozen is two tries, however long it was. */
	pass(3600);
	pass_tries(TRIES - 3);
	is_int(t.n_stops, 0);
	is_int(control_kill(fake.step.control), 0);
	is_int(t.n_killed, 0);
	pass_tries(1);
	is_int(t.n_stops, 1);
	is_int(t.code, STEP_CODE_LOST);
	is_str(t.text, "scnoded on host is gone");
	is_int(t.n_killed, 1);
	is_int(control_kill(fake.step.control), -EPIPE);
	pass_tries(TRIES);
	is_int(t.n_stops, 1);
	/* Words into the air. */
	control_started(fake.step.control);
	finish();
}

/* scnoded's socket, heard as user @uid. */
static bool listens(uid_t uid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool is_heard;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/scnoded.sock", t.dir);
	t.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!ok(!bind(t.listener, (struct sockaddr *)&address, sizeof(address))))
		return false;
	is_heard = !seteuid(uid) && !listen(t.listener, 4);
	return ok(is_heard && !seteuid(getuid()));
}

static void scnoded_accepts(void)
{
	int fd = accept4(t.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (ok(fd >= 0))
		t.scnoded = link_local(fake.step.loop, fd, 0, &scnoded_events, NULL);
	fake_turn();
}

/* Questions that are not answered are asked again, in the same order. */
TAP_TEST(control__scnoded_comes_again)
{
	begin();
	control_adopt(fake.step.control, worlds_get(&fake.step.worlds, 0));
	control_adopt(fake.step.control, &t.second);
	is_int(control_kill(fake.step.control), 0);
	says("{\"op\":\"adopted\"}");
	while (fake.first)
		fake_drop();
	scnoded_goes();
	pass_tries(TRIES - 1);
	must(listens(getuid()));
	pass_tries(1);
	scnoded_accepts();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"rejoin\"}", "");
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"adopt\",\"pids\":[102]}", "");
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"kill\"}", "");
	says("{\"op\":\"rejoined\"}");
	says("{\"op\":\"adopted\"}");
	says("{\"op\":\"killed\"}");
	is_str(t.adopted, "0 1 ");
	is_int(t.n_killed, 1);
	/* It is not called again. */
	pass_tries(1);
	is_int(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	/* It has as many tries for the next time. */
	scnoded_goes();
	close(t.listener);
	t.listener = -1;
	pass_tries(TRIES - 1);
	is_int(t.n_stops, 0);
	pass_tries(1);
	is_int(t.n_stops, 1);
	is_int(t.n_killed, 1);
	finish();
}

TAP_TEST(control__socket_of_another_user)
{
	if (getuid()) {
		tap_skip("needs root");
		return;
	}
	begin();
	scnoded_goes();
	must(listens(NOBODY));
	pass_tries(TRIES);
	is_int(t.n_stops, 1);
	is_str(t.text, "scnoded on host is gone");
	finish();
}

TAP_TEST(control__run_directory_with_a_long_name)
{
	static char tmpdir[256];

	begin();
	memset(tmpdir, 'd', sizeof(tmpdir) - 1);
	memcpy(tmpdir, "/", 1);
	memcpy(tmpdir + sizeof(tmpdir) - 14, "/jobs/1/tmp12", 13);
	fake.step.tmpdir = tmpdir;
	scnoded_goes();
	pass_tries(TRIES);
	is_int(t.n_stops, 1);
	finish();
}

/* ---- it is us who go ---- */

#define PARTED "{\"id\":70000,\"op\":\"parted\",\"ranks\":[[100,0]]}"

/* Away, with a scnoded that listens. */
static void part(void)
{
	must(listens(getuid()));
	/* One that has ended has no process, and a world that was spawned has other ranks. */
	t.ranks[1].number = 1;
	t.ranks[1].has_ended = true;
	control_part(fake.step.control);
	fake_turn();
	fake_sent(SCNODED, PARTED, "");
	ok(!t.scnoded);
	ok(!fake.first);
}

/* A signal has woken us. */
static void come_back(void)
{
	control_return(fake.step.control);
	fake_turn();
	scnoded_accepts();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"rejoin\"}", "");
}

TAP_TEST(control_part__returns_when_it_is_woken)
{
	begin();
	part();
	/* Not by itself. */
	pass_tries(2 * TRIES);
	is_int(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	is_int(t.n_stops, 0);
	come_back();
	is_int(t.n_returned, 0);
	says("{\"op\":\"rejoined\",\"is_restorable\":true}");
	is_int(t.n_returned, 1);
	is_str(t.text, "well");
	/* That is told once. */
	says("{\"op\":\"rejoined\",\"is_restorable\":true}");
	is_int(t.n_returned, 1);
	finish();
}

TAP_TEST(control_part__what_was_found)
{
	static const struct {
		const char *answer, *why;
	} all[] = {
		{"{\"op\":\"rejoined\",\"is_restorable\":false,\"text\":\"rank 0 holds a socket\"}",
		 "rank 0 holds a socket"},
		{"{\"op\":\"rejoined\",\"text\":\"rank 0 holds a file\"}", "rank 0 holds a file"},
		{"{\"op\":\"rejoined\"}", "its scnoded was started anew meanwhile; try again"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		begin();
		part();
		come_back();
		says(all[i].answer);
		is_int(t.n_returned, 1);
		is_str(t.text, all[i].why);
		finish();
	}
}

TAP_TEST(control_return__before_it_has_parted)
{
	begin();
	must(listens(getuid()));
	control_return(fake.step.control);
	pass_tries(2);
	is_int(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	says("{\"op\":\"rejoined\",\"is_restorable\":true}");
	is_int(t.n_returned, 0);
	finish();
}

TAP_TEST(control_return__twice)
{
	begin();
	part();
	come_back();
	control_return(fake.step.control);
	pass_tries(2);
	is_int(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	finish();
}

/* scnoded was killed, and nobody wakes us. */
TAP_TEST(control_part__nobody_wakes_it)
{
	begin();
	part();
	pass(14.9);
	is_int(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC), -1);
	pass(0.2);
	scnoded_accepts();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"rejoin\"}", "");
	finish();
}

/* Its successor knows of no parting, and takes us as any other scstepd. */
TAP_TEST(control_part__scnoded_is_gone_already)
{
	begin();
	scnoded_goes();
	must(listens(getuid()));
	control_part(fake.step.control);
	pass_tries(1);
	scnoded_accepts();
	fake_sent(SCNODED, "{\"id\":70000,\"op\":\"rejoin\"}", "");
	says("{\"op\":\"rejoined\"}");
	is_int(t.n_returned, 1);
	is_str(t.text, "its scnoded was started anew meanwhile; try again");
	finish();
}

TAP_TEST(control_return__scnoded_is_gone)
{
	begin();
	part();
	close(t.listener);
	t.listener = -1;
	control_return(fake.step.control);
	pass_tries(TRIES);
	is_int(t.n_returned, 0);
	is_int(t.n_stops, 1);
	is_str(t.text, "scnoded on host is gone");
	finish();
}
