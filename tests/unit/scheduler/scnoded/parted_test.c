// SPDX-License-Identifier: BSD-3-Clause
/*
 * parted: a scstepd that goes, is looked at, and is woken. The look itself, the numbers of a
 * namespace and the steps are fakes; the signal is real, and comes to this process.
 */
#include "scheduler/scnoded/parted.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/briefing.h"
#include "scheduler/scnoded/holdings/inquiry.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/nspid.h"
#include "tests/harness/tap.h"

#define JOB 7
#define INIT_PID 1000 /* of the host; its processes have the numbers behind */

struct errand {
	errand_done *done;
	void *owner;
	bool is_stopped;
	char members[64], ranks[64]; /* as text: "PID " and "PID:RANK " */
	pid_t root;
};

static struct {
	struct scnoded d;
	struct step step;
	struct errand inquiry;
	size_t n_inquiries, n_awaited;
	bool has_no_memory; /* for an inquiry */
	bool has_no_scstepd;
	int list_error;
	char said[200]; /* in the log */
	bool is_wanted; /* a dump */
	images_dumped *dumped;
	char dump[64]; /* members of the job that are dumped */
} t;

void daemon_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t.said, sizeof(t.said), format, args);
	va_end(args);
}

char *daemon_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	ok(vasprintf(&text, format, args) >= 0);
	va_end(args);
	return text;
}

static void on_woken(struct step *step)
{
	ok(step == &t.step);
	t.n_awaited++;
}

/* ---- the processes of the job: its init, its scstepd, its ranks ---- */

int nspid_list(const struct step *step, struct pidns_table *ret)
{
	static const pid_t inner[] = {1, INIT_CHILD, 3, 4};

	*ret = (struct pidns_table){0};
	if (t.list_error)
		return t.list_error;
	ret->all = calloc(4, sizeof(*ret->all));
	if (!ret->all)
		return -ENOMEM;
	for (int i = 0; i < 4; i++)
		if (i != 1 || !t.has_no_scstepd)
			ret->all[ret->n++] = (struct pidns_process){
				.ns = 1, .inner = inner[i], .outer = INIT_PID + i};
	return 0;
}

pid_t nspid_of(const struct step *step, const struct pidns_table *table, json_int_t told)
{
	return pidns_find(table, 1, (pid_t)told);
}

/* Orphans of the job are children of its init as well. */
bool nspid_is_scstepd(const struct step *step, pid_t pid)
{
	return pid == INIT_PID + 1 || pid == INIT_PID + 3;
}

void briefing_add(const struct step *step, json_t *head)
{
	ok(step == &t.step);
	json_object_set_new(head, "order", json_pack("{s:i}", "here", 0));
}

/* ---- the look ---- */

struct errand *inquiry_start(struct ev_loop *loop, const struct survey_order *order,
			     const struct restorable_terms *terms, errand_done *done, void *owner)
{
	char *members = t.inquiry.members, *ranks = t.inquiry.ranks;

	if (t.has_no_memory)
		return NULL;
	t.n_inquiries++;
	t.inquiry = (struct errand){.done = done, .owner = owner, .root = order->root};
	for (size_t i = 0; i < order->n_members; i++)
		members += sprintf(members, "%d ", (int)order->members[i]);
	for (size_t i = 0; i < order->n_ranks; i++)
		ranks += sprintf(ranks, "%d:%u ", (int)order->ranks[i].pid, order->ranks[i].rank);
	is_int(terms->job, JOB);
	is_str(terms->host, "n1");
	return &t.inquiry;
}

void errand_stop(struct errand *inquiry)
{
	if (inquiry)
		inquiry->is_stopped = true;
}

/* ---- the dump ---- */

bool images_are_wanted(const struct step *step)
{
	return t.is_wanted;
}

void images_dump(struct step *step, const struct survey_order *order, images_dumped *done)
{
	char *at = t.dump;

	is_int(order->root, INIT_PID + 1);
	ok(order->limit_ms > 0);
	for (size_t i = 0; i < order->n_members; i++)
		at += sprintf(at, "%d ", (int)order->members[i]);
	t.dumped = done;
}

static void finds(const char *text)
{
	t.inquiry.done(text, t.inquiry.owner);
}

/* ---- scstepd ---- */

static void set_wake(int how)
{
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, SIGNALS_WAKE);
	sigprocmask(how, &wake, NULL);
}

static struct order_host host;

static void begin(void)
{
	static struct order order = {.hosts = &host, .n_hosts = 1};

	memset(&t, 0, sizeof(t));
	set_wake(SIG_BLOCK);
	strcpy(t.d.name, "n1");
	host.ranks = 8;
	t.d.loop = ev_default_loop(EVFLAG_AUTO);
	t.step =
		(struct step){.daemon = &t.d, .order = &order, .id = JOB, .pid = INIT_PID, .ns = 1};
	t.step.pidfd = pidfd_open(getpid(), 0);
	must(t.step.pidfd >= 0);
}

/* Whether we were woken since the last time. */
static bool is_woken(void)
{
	const struct timespec none = {0};
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, SIGNALS_WAKE);
	return sigtimedwait(&wake, NULL, &none) == SIGNALS_WAKE;
}

static void finish(void)
{
	parted_forget(&t.step);
	ok(!t.step.parted);
	ok(!is_woken());
	close(t.step.pidfd);
	set_wake(SIG_UNBLOCK);
}

static void announces(const char *ranks)
{
	json_t *head =
		json_pack("{s:s, s:o}", "op", OP_PARTED, "ranks", json_loads(ranks, 0, NULL));

	parted_announced(&t.step, head);
	json_decref(head);
	ok(t.step.parted != NULL);
}

static void parts(void)
{
	announces("[[3,0],[4,1]]");
	parted_closed(&t.step, on_woken);
	is_int(t.n_inquiries, 1);
}

static void is_answered(const char *want)
{
	json_t *head = parted_back(&t.step);
	char *text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);

	is_str(text, want);
	free(text);
	json_decref(head);
	ok(!t.step.parted);
}

#define WELL "{\"is_restorable\":true,\"op\":\"rejoined\"}"

TAP_TEST(parted__is_looked_at_and_woken)
{
	begin();
	announces("[[3,0],[4,1]]");
	is_int(t.n_inquiries, 0);
	parted_closed(&t.step, on_woken);
	is_int(t.n_inquiries, 1);
	/* All but the init, which nobody dumps. */
	is_str(t.inquiry.members, "1001 1002 1003 ");
	is_int(t.inquiry.root, INIT_PID + 1);
	is_str(t.inquiry.ranks, "1002:0 1003:1 ");
	ok(!is_woken());
	is_int(t.n_awaited, 0);
	finds(NULL);
	ok(is_woken());
	is_int(t.n_awaited, 1);
	is_answered(WELL);
	/* Another time it was lost, and had not parted. */
	is_answered("{\"op\":\"rejoined\"}");
	finish();
}

TAP_TEST(parted__what_stands_in_the_way)
{
	begin();
	parts();
	finds("rank 1 on n1 holds a socket");
	ok(is_woken());
	is_int(t.n_awaited, 1);
	is_answered("{\"is_restorable\":false,\"op\":\"rejoined\",\"text\":\"rank 1 on n1 holds a "
		    "socket\"}");
	/* The next time, a while later, all is well. */
	t.n_inquiries = 0;
	t.step.look_from = 0;
	parts();
	finds(NULL);
	ok(is_woken());
	is_answered(WELL);
	finish();
}

TAP_TEST(parted_announced__numbers_that_name_no_rank)
{
	static const struct {
		const char *ranks, *known;
	} all[] = {
		{"[]", ""},
		{"[[3,0],[99,1]]", "1002:0 "}, /* a process of somebody else */
		{"[[3,-1],[4,4294967295]]", ""},
		{"[[3,4294967294],[4,4294967297]]", "1002:4294967294 "},
		{"[7,[],[3],[\"3\",\"1\"],[4,5]]", "1002:0 1003:5 "},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		begin();
		announces(all[i].ranks);
		parted_closed(&t.step, on_woken);
		is_int(t.n_inquiries, 1);
		is_str(t.inquiry.ranks, all[i].known);
		finish();
		ok(t.inquiry.is_stopped);
	}
}

TAP_TEST(parted_announced__twice)
{
	begin();
	announces("[[3,0]]");
	announces("[[4,1]]");
	parted_closed(&t.step, on_woken);
	is_str(t.inquiry.ranks, "1003:1 ");
	finish();
}

#define EARLY                                                                                      \
	"{\"is_restorable\":false,\"op\":\"rejoined\",\"text\":\"its scstepd was woken by a "      \
	"signal before its processes were looked at; try again\"}"

/* By its user: what a look finds then is not what there is without links. */
TAP_TEST(parted_back__before_the_look_has_ended)
{
	begin();
	parts();
	is_answered(EARLY);
	ok(t.inquiry.is_stopped);
	finish();
}

/* We have not heard yet that its first link is closed. */
TAP_TEST(parted_back__before_the_look_has_begun)
{
	begin();
	announces("[[3,0]]");
	is_answered(EARLY);
	is_int(t.n_inquiries, 0);
	finish();
}

static void can_not_be_looked_at(const char *why)
{
	char *want = NULL;

	announces("[[3,0]]");
	errno = 0;
	parted_closed(&t.step, on_woken);
	is_int(t.n_inquiries, 0);
	/* It comes back at once. */
	ok(is_woken());
	is_int(t.n_awaited, 1);
	ok(asprintf(&want,
		    "{\"is_restorable\":false,\"op\":\"rejoined\",\"text\":\"host n1 can't look at "
		    "the processes of job 7: %s; try again later\"}",
		    why) > 0);
	is_answered(want);
	free(want);
}

TAP_TEST(parted_closed__can_not_be_looked_at)
{
	begin();
	t.has_no_memory = true;
	can_not_be_looked_at("Cannot allocate memory");
	finish();
	begin();
	t.list_error = -ENOMEM;
	can_not_be_looked_at("Cannot allocate memory");
	finish();
	begin();
	t.has_no_scstepd = true;
	can_not_be_looked_at("No such process");
	finish();
}

/* Its user's scstepd may part again and again. */
TAP_TEST(parted_closed__soon_after_another_look)
{
	begin();
	parts();
	finds(NULL);
	ok(is_woken());
	is_answered(WELL);
	announces("[[3,0]]");
	parted_closed(&t.step, on_woken);
	is_int(t.n_inquiries, 1);
	/* Whoever comes back meanwhile was not looked at. */
	parted_forget(&t.step);
	ok(!ev_run(t.d.loop, EVRUN_NOWAIT));
	is_int(t.n_inquiries, 1);
	announces("[[3,0]]");
	parted_closed(&t.step, on_woken);
	ev_run(t.d.loop, EVRUN_ONCE);
	is_int(t.n_inquiries, 2);
	finds(NULL);
	ok(is_woken());
	is_answered(WELL);
	finish();
}

/* More than the job has here are no ranks of it. */
TAP_TEST(parted_announced__too_many_ranks)
{
	begin();
	host.ranks = 2;
	announces("[[3,0],[4,1],[3,2],[4,3]]");
	parted_closed(&t.step, on_woken);
	is_str(t.inquiry.ranks, "1002:0 1003:1 ");
	finish();
}

TAP_TEST(parted_forget__while_it_is_looked_at)
{
	begin();
	parts();
	parted_forget(&t.step);
	ok(t.inquiry.is_stopped && !t.step.parted);
	parted_forget(&t.step);
	finish();
}

TAP_TEST(parted_wake__one_that_is_no_more)
{
	begin();
	close(t.step.pidfd);
	t.step.pidfd = -1;
	parted_wake(&t.step);
	ok(strstr(t.said, "job 7: its scstepd can't be woken: ") == t.said);
	ok(!is_woken());
	finish();
}

static void parts_to_be_dumped(void)
{
	begin();
	t.is_wanted = true;
	parts();
	finds(NULL);
	is_str(t.dump, "1001 1002 1003 ");
	ok(!is_woken());
	is_int(t.n_awaited, 0);
}

TAP_TEST(parted__is_dumped_and_woken)
{
	parts_to_be_dumped();
	t.dumped(&t.step, NULL);
	ok(is_woken());
	is_int(t.n_awaited, 1);
	is_answered(WELL);
	finish();
}

TAP_TEST(parted__can_not_be_dumped)
{
	parts_to_be_dumped();
	t.dumped(&t.step, "the disk is full");
	ok(is_woken());
	is_answered("{\"is_restorable\":false,\"op\":\"rejoined\",\"text\":\"the disk is full\"}");
	finish();
}

/* A job that could not be restored is not written. */
TAP_TEST(parted__is_not_dumped_when_something_is_in_the_way)
{
	begin();
	t.is_wanted = true;
	parts();
	finds("rank 1 on n1 holds a socket");
	ok(!t.dumped);
	ok(is_woken());
	finish();
}

/* Its own time limit has passed: it waits for the end of the dump, and needs no signal. */
TAP_TEST(parted_back__while_it_is_dumped)
{
	parts_to_be_dumped();
	ok(!parted_back(&t.step));
	t.step.control = (struct link *)&t;
	t.dumped(&t.step, NULL);
	ok(!is_woken());
	is_int(t.n_awaited, 1);
	is_answered(WELL);
	finish();
}

TAP_TEST(parted_closed__while_it_is_dumped)
{
	parts_to_be_dumped();
	ok(!parted_back(&t.step));
	parted_closed(&t.step, on_woken);
	is_int(t.n_inquiries, 1);
	t.dumped(&t.step, NULL);
	ok(is_woken());
	is_answered(WELL);
	finish();
}

TAP_TEST(parted_forget__while_it_is_dumped)
{
	parts_to_be_dumped();
	parted_forget(&t.step);
	finish();
}

#define RESTORED "{\"is_restorable\":true,\"op\":\"rejoined\",\"order\":{\"here\":0},\"pids\":"

/* Its image has the order and the numbers of then. */
TAP_TEST(parted_restored__is_told_what_has_changed)
{
	begin();
	parted_restored(&t.step, NULL);
	ok(is_woken());
	is_int(t.n_inquiries, 0);
	is_answered(RESTORED "[[1,1000],[2,1001],[3,1002],[4,1003]]}");
	/* From then on it is as any other. */
	is_answered("{\"op\":\"rejoined\"}");
	parts();
	finds(NULL);
	ok(is_woken());
	is_answered(WELL);
	finish();
}

TAP_TEST(parted_restored__by_other_devices)
{
	begin();
	parted_restored(&t.step, "self+udp");
	ok(is_woken());
	is_answered("{\"devices\":\"self+udp\",\"is_restorable\":true,\"op\":\"rejoined\","
		    "\"order\":{\"here\":0},\"pids\":[[1,1000],[2,1001],[3,1002],[4,1003]]}");
	is_answered("{\"op\":\"rejoined\"}");
	finish();
}

TAP_TEST(parted_restored__its_processes_can_not_be_listed)
{
	begin();
	t.list_error = -ENOMEM;
	parted_restored(&t.step, NULL);
	ok(is_woken());
	is_answered(RESTORED "[]}");
	finish();
}

TAP_TEST(parted_restored__is_forgotten_before_it_comes_back)
{
	begin();
	parted_restored(&t.step, NULL);
	ok(is_woken());
	parted_forget(&t.step);
	is_answered("{\"op\":\"rejoined\"}");
	finish();
}

/* Nothing that was known of a life before counts. */
TAP_TEST(parted_restored__while_it_was_looked_at)
{
	begin();
	parts();
	parted_restored(&t.step, NULL);
	ok(t.inquiry.is_stopped);
	ok(is_woken());
	is_answered(RESTORED "[[1,1000],[2,1001],[3,1002],[4,1003]]}");
	finish();
}

/* Its user has it part again while CRIU works: that counts for nothing. */
TAP_TEST(parted_announced__while_it_is_dumped)
{
	parts_to_be_dumped();
	ok(!parted_back(&t.step));
	t.step.control = (struct link *)&t;
	announces("[[3,0]]");
	t.dumped(&t.step, NULL);
	is_int(t.n_awaited, 1);
	is_answered(WELL);
	finish();
}
