// SPDX-License-Identifier: BSD-3-Clause
/*
 * steps: what becomes of a scstepd that is told to end, has told its end, or comes back. The
 * scstepd is a child of this test that does as it is bidden; the step is one that an earlier
 * scnoded has left. Records, the link to scored and the sweeper are fakes.
 */
#include "scheduler/scnoded/steps.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/job.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/control.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/parted.h"
#include "scheduler/scnoded/record.h"
#include "scheduler/scnoded/sweep.h"
#include "scheduler/scnoded/uplink.h"
#include "tests/harness/tap.h"

enum { JOB = 7, REJOIN = 'r', WAKES = 'w' };

static struct world {
	struct scnoded d;
	char run[64];
	pid_t child;
	int bid, says; /* pipes to and from the child */
	int theirs;    /* its end of the connection */
	bool is_gone;  /* scored was told */
} w;

static const char *mark_there; /* in the record; or NULL */

size_t record_list(const char *run, uint64_t **ids)
{
	(void)run;
	*ids = malloc(sizeof(**ids));
	**ids = JOB;
	return 1;
}

struct order *record_read(const char *run, uint64_t id, pid_t *pid)
{
	struct order *order = calloc(1, sizeof(*order));

	(void)run;
	order->id = id;
	order->uid = getuid();
	order->job = calloc(1, sizeof(*order->job));
	order->n_hosts = 1;
	order->hosts = calloc(1, sizeof(*order->hosts));
	order->hosts[0].ranks = 1;
	*pid = w.child;
	return order;
}

int turn_take(struct turn *turn, uint64_t id, struct cgroup *group)
{
	(void)turn, (void)id, (void)group;
	return 0;
}

void turn_drop(struct turn *turn, uint64_t id)
{
	(void)turn, (void)id;
}

void record_path(const char *run, uint64_t id, const char *file, char *path)
{
	(void)run, (void)id, (void)file;
	*path = 0;
}

int record_make(const char *run, const struct order *order, uint64_t tmp_bytes, char **tmp,
		char *why, size_t why_size)
{
	(void)run, (void)order, (void)tmp_bytes, (void)tmp, (void)why, (void)why_size;
	return -ENOSYS;
}

int record_process(const char *run, uint64_t id, pid_t pid)
{
	(void)run, (void)id, (void)pid;
	return -ENOSYS;
}

void record_remove(const char *run, uint64_t id)
{
	(void)run, (void)id;
}

void uplink_tell_started(struct scnoded *d, uint64_t id)
{
	(void)d, (void)id;
}

void uplink_tell_failed(struct scnoded *d, uint64_t id, int code, const char *text)
{
	(void)d, (void)id, (void)code, (void)text;
}

void uplink_tell_ended(struct scnoded *d, uint64_t id, int code, const char *text)
{
	(void)d, (void)id, (void)code, (void)text;
}

void uplink_tell_migrated(struct scnoded *d, uint64_t id, uint64_t serial, bool is_changed,
			  const char *text, double stood_s)
{
	(void)d, (void)id, (void)serial, (void)is_changed, (void)text, (void)stood_s;
}

void record_mark(const char *run, uint64_t id, const char *mark, bool is_set)
{
	(void)run, (void)id, (void)mark, (void)is_set;
}

bool record_has_mark(const char *run, uint64_t id, const char *mark)
{
	(void)run, (void)id;
	return mark_there && !strcmp(mark, mark_there);
}

bool images_are_wanted(const struct step *step)
{
	(void)step;
	return false;
}

void images_dump(struct step *step, const struct survey_order *order, images_dumped *done)
{
	(void)step, (void)order, (void)done;
}

void images_missed(struct step *step, const char *why)
{
	(void)step, (void)why;
}

void images_forget(struct step *step)
{
	(void)step;
}

void uplink_tell_gone(struct scnoded *d, uint64_t id, uint64_t cpu_ns)
{
	(void)d, (void)cpu_ns;
	w.is_gone = id == JOB;
}

pid_t sweep_begin(const char *run, uint64_t id, uid_t uid)
{
	(void)run, (void)id, (void)uid;
	return 0;
}

static void say(int fd, const char *op)
{
	json_t *head =
		json_pack("{s:s, s:i, s:i, s:s}", "op", op, "id", JOB, "code", 0, "text", "");
	size_t size;
	char *data = frame_encode(head, 0, &size);

	okf(write(fd, data, size) == (ssize_t)size, "%s", op);
	free(data);
	json_decref(head);
}

/* In the child: asks to be taken again, and tells whether it was. */
static void rejoin(int says)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/scnoded.sock", w.run);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		_exit(1);
	say(fd, OP_REJOIN);
	byte = read(fd, &byte, 1) == 1 ? 'y' : 'n';
	if (write(says, &byte, 1) != 1)
		_exit(1);
}

/* In the child: tells whether it was woken. */
static void tell_wake(int says)
{
	sigset_t waiting;
	char byte;

	sigpending(&waiting);
	byte = sigismember(&waiting, SIGNALS_WAKE) ? 'y' : 'n';
	if (write(says, &byte, 1) != 1)
		_exit(1);
}

static void be_scstepd(int bid, int says)
{
	char byte;

	while (read(bid, &byte, 1) == 1)
		if (byte == REJOIN)
			rejoin(says);
		else if (byte == WAKES)
			tell_wake(says);
	_exit(0);
}

static void set_wake(int how)
{
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, SIGNALS_WAKE);
	sigprocmask(how, &wake, NULL);
}

static struct step *begin(void)
{
	int bid[2], says[2], pair[2];

	memset(&w, 0, sizeof(w));
	strcpy(w.run, "/tmp/steps_test.XXXXXX");
	ok(mkdtemp(w.run) && !pipe(bid) && !pipe(says));
	/* The child shall see it later. */
	set_wake(SIG_BLOCK);
	w.child = fork();
	if (!w.child) {
		close(bid[1]);
		be_scstepd(bid[0], says[1]);
	}
	set_wake(SIG_UNBLOCK);
	close(bid[0]);
	close(says[1]);
	w.bid = bid[1];
	w.says = says[0];
	w.d = (struct scnoded){.loop = ev_loop_new(0), .name = "h1", .form = CGROUP_NONE};
	w.d.options.run = w.run;
	w.d.options.cgroup = "/nonexistent";
	TAILQ_INIT(&w.d.steps);
	TAILQ_INIT(&w.d.pending);
	awake_begin(&w.d.awake, clock_monotonic_ns(), 1);
	is_int(control_open(&w.d), 0);
	steps_open(&w.d);
	is_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	w.theirs = pair[1];
	control_tie(TAILQ_FIRST(&w.d.steps), pair[0]);
	return TAILQ_FIRST(&w.d.steps);
}

/* Nothing to wait for: a message or an end in a socket of this process is there at once. */
static void turn(void)
{
	for (int i = 0; i < 20; i++)
		ev_run(w.d.loop, EVRUN_NOWAIT);
}

static void finish(void)
{
	kill(w.child, SIGKILL);
	while (!w.is_gone)
		ev_run(w.d.loop, EVRUN_ONCE);
	waitpid(w.child, NULL, 0);
	steps_close(&w.d);
	control_close(&w.d);
	ev_loop_destroy(w.d.loop);
	close(w.bid);
	close(w.says);
	if (w.theirs >= 0)
		close(w.theirs);
	rmdir(w.run);
}

static void stop_waiting(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)events;
	ev_io_stop(loop, watcher);
}

/* Whether the child answers with yes. */
static bool says_yes(char byte)
{
	ev_io answer;

	ok(write(w.bid, &byte, 1) == 1);
	ev_io_init(&answer, stop_waiting, w.says, EV_READ);
	ev_io_start(w.d.loop, &answer);
	while (ev_is_active(&answer))
		ev_run(w.d.loop, EVRUN_ONCE);
	ok(read(w.says, &byte, 1) == 1);
	return byte == 'y';
}

static bool is_taken_again(void)
{
	return says_yes(REJOIN);
}

static void they_close(void)
{
	close(w.theirs);
	w.theirs = -1;
}

TAP_TEST(steps_stop__one_that_has_told_its_end_is_waited_for)
{
	struct step *step = begin();

	say(w.theirs, OP_ENDED);
	they_close();
	turn();
	ok(!step->control && step->is_reported);
	steps_stop(step, "cancelled");
	ok(!step->is_leaving);
	ok(!is_taken_again());
	finish();
}

/* scored's word comes before we have heard that the connection is closed. */
TAP_TEST(steps_stop__nor_is_one_killed_whose_connection_is_just_closed)
{
	struct step *step = begin();

	say(w.theirs, OP_ENDED);
	turn();
	they_close();
	steps_stop(step, "cancelled");
	ok(!step->is_leaving);
	finish();
}

TAP_TEST(steps_stop__one_that_closed_its_connection_without_a_word_is_killed)
{
	struct step *step = begin();

	they_close();
	turn();
	ok(!step->control && !step->is_leaving);
	steps_stop(step, "cancelled");
	ok(step->is_leaving);
	finish();
}

TAP_TEST(steps_stop__coming_back_wins_no_time)
{
	struct step *step = begin();
	double until;

	steps_stop(step, "cancelled");
	until = step->until;
	ok(until > 0 && !step->is_leaving);
	ok(!is_taken_again());
	they_close();
	turn();
	ok(!is_taken_again());
	ok(ev_is_active(&step->limit) && step->until <= until);
	finish();
}

TAP_TEST(steps_stop__an_end_that_it_tells_afterwards_wins_no_time)
{
	struct step *step = begin();
	double until;

	steps_stop(step, "cancelled");
	until = step->until;
	say(w.theirs, OP_ENDED);
	they_close();
	turn();
	ok(!step->control && step->is_reported);
	ok(ev_is_active(&step->limit) && step->until <= until);
	steps_stop(step, "cancelled");
	ok(step->until <= until);
	finish();
}

TAP_TEST(steps_tie__one_that_lost_its_connection_is_taken_again)
{
	struct step *step = begin();

	they_close();
	turn();
	ok(ev_is_active(&step->limit));
	ok(is_taken_again());
	ok(step->control && !ev_is_active(&step->limit));
	finish();
}

/* Those for a job whose scstepd is not back yet wait, and are handed over then. */
TAP_TEST(steps_invite__those_who_have_waited_for_it)
{
	struct step *step = begin();
	struct pending *pending;

	they_close();
	turn();
	steps_pending(&w.d, dup(STDIN_FILENO), JOB);
	steps_pending(&w.d, dup(STDIN_FILENO), JOB + 1);
	ok(is_taken_again());
	steps_invite(step);
	pending = TAILQ_FIRST(&w.d.pending);
	ok(pending && pending->job == JOB + 1 && !TAILQ_NEXT(pending, all));
	pending->until = 0;
	steps_show_out_late(&w.d);
	ok(TAILQ_EMPTY(&w.d.pending));
	finish();
}

/* It may have parted from the scnoded before, and would wait for ever. */
TAP_TEST(steps_open__a_scstepd_of_before_is_woken)
{
	struct step *step = begin();

	ok(says_yes(WAKES));
	ok(ev_is_active(&step->limit) == !step->control);
	finish();
}

/* Its processes are half there. */
TAP_TEST(steps_open__a_job_that_was_being_restored)
{
	struct step *step;

	mark_there = "restored";
	step = begin();
	mark_there = NULL;
	ok(step->is_leaving);
	finish();
}

TAP_TEST(steps_show_out_late__those_who_wait_for_a_scstepd_that_has_parted_stay)
{
	struct step *step = begin();
	struct pending *pending;
	json_t *head = json_pack("{s:[]}", "ranks");

	parted_announced(step, head);
	json_decref(head);
	ok(step->parted);
	they_close();
	turn();
	steps_pending(&w.d, dup(STDIN_FILENO), JOB);
	steps_pending(&w.d, dup(STDIN_FILENO), JOB + 1);
	TAILQ_FOREACH(pending, &w.d.pending, all)
		pending->until -= PENDING_WAIT_S + 1;
	steps_show_out_late(&w.d);
	pending = TAILQ_FIRST(&w.d.pending);
	ok(pending && pending->job == JOB && !TAILQ_NEXT(pending, all));
	/* Not for ever: it has come back by its limit, or is ended. */
	steps_show_out(&w.d, JOB);
	ok(TAILQ_EMPTY(&w.d.pending));
	finish();
}

TAP_TEST(steps_show_out_late__those_whose_time_has_not_come_stay)
{
	begin();
	they_close();
	turn();
	steps_pending(&w.d, dup(STDIN_FILENO), JOB + 1);
	steps_show_out_late(&w.d);
	ok(!TAILQ_EMPTY(&w.d.pending));
	finish();
}
