// SPDX-License-Identifier: BSD-3-Clause
/*
 * control link: over a socketpair to a scnoded that the test plays, and over its socket in the file
 * system when it comes again. The clock stands still until the test moves it.
 */
#include "scheduler/scstepd/control.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/leader.h"
#include "tests/harness/munged.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define NOBODY 65534
#define TRIES 15 /* to reach scnoded anew */
#define SCNODED 0

static struct {
	struct link *scnoded; /* its side */
	struct world second;
	struct rank ranks[3];
	unsigned int n_orders, n_stops, n_killed, n_signals, n_notes, n_callers;
	char adopted[200]; /* "0 1:why ": what course_adopted() was told */
	int code, signo;
	char text[600], role[32];
	char dir[64], tmpdir[96];
	int listener;
	struct link *caller;
	unsigned int n_greeted;
	ev_prepare tick;
} t;

void course_order(struct step *step, json_t *head)
{
	t.n_orders += json_is_object(json_object_get(head, "order"));
}

void course_adopted(struct step *step, uint32_t world, const char *failure)
{
	size_t used = strlen(t.adopted);

	snprintf(t.adopted + used, sizeof(t.adopted) - used, "%u%s%s ", world, failure ? ":" : "",
		 failure ? failure : "");
}

void course_caller(struct step *step, struct link *link)
{
	t.n_callers++;
	snprintf(t.role, sizeof(t.role), "%s", link_role(link));
	link_close(link, 0);
}

void course_stop(struct step *step, int code, const char *text)
{
	t.n_stops++;
	t.code = code;
	snprintf(t.text, sizeof(t.text), "%s", text);
}

void step_killed(struct step *step)
{
	t.n_killed++;
}

void leader_signal(struct leader *leader, int signo)
{
	t.n_signals++;
	t.signo = signo;
}

bool leader_told(struct leader *leader, const char *op, size_t from, const json_t *head,
		 const char *body, size_t size)
{
	t.n_notes += !strcmp(op, OP_NOTE) && from == fake.step.here;
	return true;
}

size_t ranks_count(const struct ranks *ranks)
{
	return sizeof(t.ranks) / sizeof(*t.ranks);
}

struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return &t.ranks[i];
}

/* ---- scnoded ---- */

static void hear(struct link *link, const char *op, json_t *head, const char *body, size_t size,
		 void *owner)
{
	fake_keep(SCNODED, json_incref(head), body, size);
}

static void hung_up(struct link *link, int error, const char *why, void *owner)
{
	t.scnoded = NULL;
}

static const struct link_events scnoded_events = {.message = hear, .closed = hung_up};

/* Timers of no time at all are due when the clock has moved. */
static void on_tick(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	stillclock_ns++;
}

static void begin(void)
{
	int fds[2];

	memset(&t, 0, sizeof(t));
	t.listener = -1;
	fake_open(2, 1);
	ev_prepare_init(&t.tick, on_tick);
	ev_prepare_start(fake.step.loop, &t.tick);
	t.second.number = 1;
	for (uint32_t i = 0; i < 3; i++)
		t.ranks[i] =
			(struct rank){.world = i < 2 ? worlds_get(&fake.step.worlds, 0) : &t.second,
				      .pid = (pid_t)(100 + i)};
	snprintf(t.dir, sizeof(t.dir), "/tmp/control-test-XXXXXX");
	must(mkdtemp(t.dir));
	snprintf(t.tmpdir, sizeof(t.tmpdir), "%s/jobs/70000/tmp", t.dir);
	fake.step.tmpdir = t.tmpdir;
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	fake.step.control = control_open(&fake.step, fds[0]);
	t.scnoded = link_local(fake.step.loop, fds[1], 0, &scnoded_events, NULL);
	ok(fake.step.control && t.scnoded);
}

static void finish(void)
{
	char path[96];

	control_close(fake.step.control);
	if (t.scnoded)
		link_close(t.scnoded, 0);
	if (t.listener >= 0)
		close(t.listener);
	snprintf(path, sizeof(path), "%s/scnoded.sock", t.dir);
	unlink(path);
	rmdir(t.dir);
	fake_turn();
	auth_close(fake.step.auth);
	ok(!fake.first);
	fake_close();
}

static void says(const char *text)
{
	is_int(link_send(t.scnoded, json_loads(text, 0, NULL), NULL, 0), 0);
	fake_turn();
}

static void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	fake_turn();
}

static void scnoded_goes(void)
{
	link_close(t.scnoded, 0);
	t.scnoded = NULL;
	fake_turn();
}

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
	says("{\"op\":\"adopted\"}");
	is_str(t.adopted, "0 ");
	says("{\"op\":\"failed\",\"error\":\"EPERM\",\"text\":\"not ours\"}");
	is_str(t.adopted, "0 1:not ours ");
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

/* ---- connections for the job ---- */

/* A pair whose one end goes to the control link with a message of that name. The other one. */
static int knock(const char *head, int n)
{
	int fds[2], sent[LINK_FDS_MAX];

	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	for (int i = 0; i < n; i++)
		sent[i] = fds[1];
	is_int(link_send_fds(t.scnoded, json_loads(head, 0, NULL), sent, n), 0);
	close(fds[1]);
	fake_turn();
	return fds[0];
}

/* Whether the control link greets it: 1, nothing so far: 0, it is shown out: -1. */
static int is_greeted(int fd)
{
	char byte;
	ssize_t n;

	fake_turn();
	n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -1;
}

TAP_TEST(control__caller_is_greeted)
{
	int fd;

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), 1);
	is_int(t.n_callers, 0);
	close(fd);
	fake_turn();
	finish();
}

TAP_TEST(control__callers_that_are_not_let_in)
{
	int fd, other;

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	fd = knock("{\"op\":\"door\"}", 2);
	is_int(is_greeted(fd), -1);
	close(fd);
	fake.step.order = NULL;
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), -1);
	close(fd);
	fake.step.order = &fake.small.order;
	/* A descriptor that came with something else stays until the next ones come. */
	fd = knock("{\"op\":\"rejoined\"}", 1);
	other = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), -1);
	is_int(is_greeted(other), 1);
	/* A message without its descriptor. */
	says("{\"op\":\"door\"}");
	is_int(is_greeted(other), 1);
	close(fd);
	close(other);
	is_int(t.n_stops, 0);
	finish();
}

TAP_TEST(control__crowd_at_the_door)
{
	struct rlimit usual, few;
	int fds[9];

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	must(!getrlimit(RLIMIT_NOFILE, &usual));
	few = (struct rlimit){8 * FILES_PARTS, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	for (int i = 0; i < 8; i++)
		fds[i] = knock("{\"op\":\"door\"}", 1);
	for (int i = 0; i < 8; i++)
		is_int(is_greeted(fds[i]), 1);
	fds[8] = knock("{\"op\":\"door\"}", 1);
	/* The greeting, which came before it had to go, is read first. */
	while (is_greeted(fds[0]) > 0) {
		char byte;

		is_int(recv(fds[0], &byte, 1, 0), 1);
	}
	is_int(is_greeted(fds[0]), -1);
	for (int i = 1; i < 9; i++)
		is_int(is_greeted(fds[i]), 1);
	setrlimit(RLIMIT_NOFILE, &usual);
	for (int i = 0; i < 9; i++)
		close(fds[i]);
	finish();
}

static void at_the_port(int fd, uint64_t job, void *owner)
{
	is_int(job, 70000);
	is_int(link_send_fds(t.scnoded, json_pack("{s:s}", "op", OP_DOOR), &fd, 1), 0);
	close(fd);
}

static void greeted(struct link *link, void *owner)
{
	t.n_greeted++;
}

static void shown_out(struct link *link, int error, const char *why, void *owner)
{
	t.caller = NULL;
}

static const struct link_events caller_events = {.ready = greeted, .closed = shown_out};

TAP_TEST(control__caller_that_is_known)
{
	struct munged munged;
	struct acceptor *acceptor;
	char address[64];

	if (!munged_start(&munged))
		return;
	begin();
	fake.step.auth = auth_open(fake.step.loop, munged.path);
	acceptor = acceptor_open(fake.step.loop, "127.0.0.1:0", at_the_port, NULL);
	must(fake.step.auth && acceptor);
	snprintf(address, sizeof(address), "127.0.0.1:%d", acceptor_port(acceptor));
	t.caller = link_connect(fake.step.loop, fake.step.auth, address, 70000, "scrun", (uid_t)-1,
				&caller_events, NULL);
	while (!t.n_callers && t.caller)
		ev_run(fake.step.loop, EVRUN_ONCE);
	is_int(t.n_callers, 1);
	is_str(t.role, "scrun");
	while (t.caller)
		ev_run(fake.step.loop, EVRUN_ONCE);
	is_int(t.n_greeted, 1);
	acceptor_close(acceptor);
	finish();
	munged_stop(&munged);
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
