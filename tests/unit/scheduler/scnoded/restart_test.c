// SPDX-License-Identifier: BSD-3-Clause
/*
 * restart: a job's part that is verified, restored and grouped. Errands, CRIU and groups are fakes;
 * the pipe of the helper is real, and what the caller hears is kept.
 */
#include "scheduler/scnoded/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/fork.h"
#include "scheduler/scnoded/images_work.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/nspid.h"
#include "scheduler/scnoded/parted.h"
#include "tests/harness/tap.h"

#define JOB 7
#define ROUND 3
#define INIT_PID 1000 /* of the host; the job's processes have the numbers behind */

struct errand {
	const struct errand_kind *kind;
	errand_done *done;
	void *owner;
};

static struct {
	struct scnoded d;
	struct step step;
	struct order order;
	struct errand errand;
	bool has_no_memory;  /* for an errand */
	int images;          /* what store_open() returns; 0: a descriptor */
	int opened;          /* that descriptor */
	int helper;          /* our end of its pipe */
	const char *refusal; /* of the fork */
	const char *devices; /* that are wished */
	int list_error, put_error;
	pid_t gone; /* no process has that number any more */
	char heard[600];
} t;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	size_t n = strlen(t.heard);
	va_list args;

	va_start(args, format);
	vsnprintf(t.heard + n, sizeof(t.heard) - n, format, args);
	va_end(args);
}

static void heard(const char *want)
{
	is_str(t.heard, want);
	t.heard[0] = 0;
}

/* ---- fakes ---- */

struct errand *errand_start(struct ev_loop *loop, const struct errand_kind *kind, uint64_t job,
			    const char *host, const void *input, errand_done *done, void *owner)
{
	const struct images_work *work = input;

	if (t.has_no_memory)
		return NULL;
	is_int(job, JOB);
	is_str(host, "n1");
	is_str(work->place.directory, "/images");
	is_int(work->place.job, JOB);
	is_int(work->place.round, ROUND);
	is_int(work->place.index, 2);
	is_str(work->host, "n1");
	is_str(work->tmp, "/tmp/job");
	is_str(work->criu_said, "/opt/criu");
	ok(work->order == &t.order);
	ok(kind->work == images_work_verify);
	ok(kind->limit_s > 0);
	t.errand = (struct errand){kind, done, owner};
	note("verify; ");
	return &t.errand;
}

void errand_stop(struct errand *errand)
{
	if (errand)
		note("stop; ");
}

void images_work_verify(const void *input, char *ret)
{
}

bool images_work_criu(const char *said, struct criu *ret)
{
	strcpy(ret->program, said);
	return true;
}

int store_open(const struct store_place *place, bool is_committed)
{
	is_int(place->round, ROUND);
	ok(is_committed);
	if (t.images < 0)
		return t.images;
	t.opened = open("/", O_PATH | O_CLOEXEC);
	return t.opened;
}

char *fork_restored(struct step *step, const struct restore_order *order, int *ret_told)
{
	int fds[2];

	ok(step == &t.step);
	is_int(order->images, t.opened);
	is_int(order->job, JOB);
	is_str(order->host, "n1");
	is_str(order->criu->program, "/usr/sbin/criu");
	note("fork; ");
	if (t.refusal)
		return strdup(t.refusal);
	if (!is_int(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0))
		return strdup("no pipe");
	t.helper = fds[1];
	*ret_told = fds[0];
	return NULL;
}

int restore_hear(struct restore_answer *answer, int fd)
{
	ssize_t n = read(fd, answer->text + answer->n, sizeof(answer->text) - answer->n);

	note("hear; ");
	if (n > 0)
		answer->n += (size_t)n;
	return n > 0;
}

char *restore_judge(const struct restore_answer *answer, const struct restore_order *order)
{
	is_int(order->job, JOB);
	is_str(order->criu->program, "/usr/sbin/criu");
	return answer->n ? strndup(answer->text, answer->n) : NULL;
}

int nspid_list(const struct step *step, struct pidns_table *ret)
{
	static const pid_t inner[] = {1, INIT_CHILD, 3, 4, 9};

	*ret = (struct pidns_table){0};
	if (t.list_error)
		return t.list_error;
	ret->all = calloc(5, sizeof(*ret->all));
	for (int i = 0; ret->all && i < 5; i++)
		ret->all[ret->n++] =
			(struct pidns_process){.ns = 1, .inner = inner[i], .outer = INIT_PID + i};
	return 0;
}

int cgroup_put_rank(struct cgroup *group, pid_t pid)
{
	note("rank %d; ", (int)pid);
	ok(group == (struct cgroup *)&t.d);
	return pid == t.gone ? -ESRCH : t.put_error;
}

void parted_restored(struct step *step, const char *devices)
{
	if (devices)
		note("%s; ", devices);
	note("wake; ");
}

/* ---- the caller ---- */

static void on_forked(struct step *step)
{
	ok(step == &t.step);
	note("forked; ");
}

static void on_restored(struct step *step)
{
	ok(step == &t.step);
	note("restored; ");
}

static void on_failed(struct step *step, char *text)
{
	ok(step == &t.step);
	ok(!step->restart);
	note("failed: %s; ", text);
	free(text);
}

static void start(void)
{
	static const struct restart_events events = {on_forked, on_restored, on_failed};

	restart_begin(&t.step, ROUND, t.devices, &events);
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	t.helper = t.opened = -1;
	strcpy(t.d.name, "n1");
	t.d.options.checkpoints = "/images";
	t.d.options.criu = "/opt/criu";
	t.d.loop = ev_default_loop(EVFLAG_AUTO);
	t.order.here = 2;
	t.step = (struct step){.daemon = &t.d,
			       .order = &t.order,
			       .id = JOB,
			       .group = (struct cgroup *)&t.d,
			       .tmp = (char *)"/tmp/job"};
}

static void verifies(void)
{
	begin();
	start();
	heard("verify; ");
	ok(t.step.restart);
	t.errand.kind->said("/usr/sbin/criu", t.errand.owner);
}

static void verified(const char *text)
{
	t.errand.done(text, t.errand.owner);
	/* Nobody needs the images any more. */
	if (t.opened >= 0)
		is_int(fcntl(t.opened, F_GETFD), -1);
}

static void forks(void)
{
	verifies();
	verified(NULL);
	heard("fork; forked; ");
	must(t.helper >= 0);
}

/* The helper has ended. */
static void ends(void)
{
	close(t.helper);
	ev_run(t.d.loop, EVRUN_NOWAIT);
}

/* Nothing is left of it that would have a loop go on. */
static void finish(void)
{
	ok(!t.step.restart);
	ok(!ev_run(t.d.loop, EVRUN_NOWAIT));
	heard("");
}

TAP_TEST(restart__goes_well)
{
	forks();
	ok(ev_run(t.d.loop, EVRUN_NOWAIT));
	heard("");
	ends();
	/* Neither process 1 nor scstepd is a rank. */
	heard("hear; rank 1002; rank 1003; rank 1004; wake; restored; ");
	finish();
}

TAP_TEST(restart__images_are_refused)
{
	verifies();
	verified("image 1 is damaged");
	is_int(t.opened, -1);
	heard("failed: image 1 is damaged; ");
	finish();
}

TAP_TEST(restart__images_go_when_they_are_verified)
{
	verifies();
	t.images = -ENOENT;
	verified(NULL);
	heard("failed: host n1: the images of job 7 in /images: No such file or directory; ");
	finish();
}

TAP_TEST(restart__process_can_not_be_made)
{
	verifies();
	t.refusal = "no more processes";
	verified(NULL);
	heard("fork; failed: no more processes; ");
	finish();
}

TAP_TEST(restart__helper_tells_a_reason)
{
	forks();
	is_int(write(t.helper, "a port ", 7), 7);
	ev_run(t.d.loop, EVRUN_NOWAIT);
	heard("hear; ");
	ok(t.step.restart);
	is_int(write(t.helper, "is taken", 8), 8);
	ev_run(t.d.loop, EVRUN_NOWAIT);
	heard("hear; ");
	ends();
	heard("hear; failed: a port is taken; ");
	finish();
}

TAP_TEST(restart__a_rank_can_not_be_grouped)
{
	forks();
	t.put_error = -ENOSPC;
	ends();
	heard("hear; rank 1002; failed: host n1: the restored ranks of job 7 cannot be put into "
	      "their control group: No space left on device; ");
	finish();
	forks();
	t.list_error = -ENOMEM;
	ends();
	heard("hear; failed: host n1: the restored ranks of job 7 cannot be put into their "
	      "control group: Cannot allocate memory; ");
	finish();
}

/* Its turns and limits are for the others all the same. */
TAP_TEST(restart__a_rank_has_ended_before_it_is_grouped)
{
	forks();
	t.gone = INIT_PID + 2;
	ends();
	heard("hear; rank 1002; rank 1003; rank 1004; wake; restored; ");
	finish();
	forks();
	t.gone = INIT_PID + 4;
	ends();
	heard("hear; rank 1002; rank 1003; rank 1004; wake; restored; ");
	finish();
}

TAP_TEST(restart_begin__no_memory)
{
	begin();
	t.has_no_memory = true;
	start();
	heard("failed: host n1: no memory; ");
	finish();
}

TAP_TEST(restart_forget__in_each_stage)
{
	begin();
	restart_forget(&t.step);
	finish();
	verifies();
	restart_forget(&t.step);
	heard("stop; ");
	finish();
	forks();
	restart_forget(&t.step);
	/* It hears that nobody reads any more, and we hear nothing. */
	ends();
	finish();
	forks();
	is_int(write(t.helper, "x", 1), 1);
	ev_run(t.d.loop, EVRUN_NOWAIT);
	heard("hear; ");
	restart_forget(&t.step);
	ends();
	finish();
	forks();
	ends();
	t.heard[0] = 0;
	restart_forget(&t.step);
	finish();
}
