// SPDX-License-Identifier: BSD-3-Clause
/*
 * errand: children that say something before their end, and those that are never killed. The rest
 * is in the tests of inquiry.h, which is an errand.
 */
#include "scheduler/scnoded/errand.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static struct {
	struct errand *errand;
	char heard[200]; /* what was said, and the end, one after another */
	unsigned int n_ends;
} t;

static void note(const char *what, const char *text)
{
	size_t n = strlen(t.heard);

	snprintf(t.heard + n, sizeof(t.heard) - n, "%s:%s ", what, text);
}

static void said(const char *text, void *owner)
{
	ok(owner == &t);
	note("said", text);
}

static void done(const char *text, void *owner)
{
	ok(owner == &t);
	note("end", text ? text : "well");
	t.n_ends++;
}

/* @input: a pipe; when its other end is closed the work goes on. */
static void wait_for(const void *input)
{
	int fd = *(const int *)input;
	char byte;

	if (fd >= 0 && read(fd, &byte, 1) < 0)
		_exit(1);
}

static void talk(const void *input, char *ret)
{
	errand_say("one");
	errand_say("");
	errand_say("three");
	strcpy(ret, "four");
}

static void talk_and_die(const void *input, char *ret)
{
	errand_say("one");
	_exit(3);
}

static void be_silent(const void *input, char *ret)
{
	int death = 0;

	prctl(PR_GET_PDEATHSIG, &death);
	if (death)
		strcpy(ret, "ends with scnoded");
}

static const struct errand_kind talks = {.name = "talks",
					 .cannot = "can't",
					 .doing = "it",
					 .has = "done",
					 .work = talk,
					 .said = said};
static const struct errand_kind dies = {.name = "dies",
					.cannot = "can't",
					.doing = "it",
					.has = "done",
					.work = talk_and_die,
					.said = said};
static const struct errand_kind silent = {.name = "silent",
					  .cannot = "can't",
					  .doing = "it",
					  .has = "done",
					  .work = be_silent};

static void run(const struct errand_kind *kind)
{
	int none = -1;

	memset(&t, 0, sizeof(t));
	t.errand = errand_start(ev_default_loop(EVFLAG_AUTO), kind, 7, "here", &none, done, &t);
	while (!t.n_ends)
		ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_ONCE);
	is_int(t.n_ends, 1);
}

TAP_TEST(errand_say__before_the_end)
{
	run(&talks);
	is_str(t.heard, "said:one said: said:three end:four ");
}

TAP_TEST(errand_say__and_no_end)
{
	run(&dies);
	is_str(t.heard, "said:one end:job 7 on here can't, as the process dies ended before it had "
			"done; see whether that host is short of memory (dmesg tells), then try "
			"again ");
}

TAP_TEST(errand_start__nothing_is_said)
{
	run(&silent);
	is_str(t.heard, "end:well ");
}

/* Waits for its pipe, then tells by another one that it has lived until then. */
static int told_by;

static void outlive(const void *input, char *ret)
{
	wait_for(input);
	if (!errand_say("alive"))
		_exit(1);
}

static const struct errand_kind outlives = {.name = "outlives",
					    .cannot = "can't",
					    .doing = "it",
					    .has = "done",
					    .work = outlive};

/* Descriptors above 3 are closed in the child; standard input is left. */
static int hold(void)
{
	int ends[2];

	ok(!pipe(ends));
	told_by = dup(STDIN_FILENO);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	return ends[1];
}

static void let_go(void)
{
	dup2(told_by, STDIN_FILENO);
	close(told_by);
}

TAP_TEST(errand_stop__one_that_is_never_killed)
{
	int standard = STDIN_FILENO, end = hold(), status = -1;

	memset(&t, 0, sizeof(t));
	t.errand = errand_start(ev_default_loop(EVFLAG_AUTO), &outlives, 7, "here", &standard, done,
				&t);
	errand_stop(t.errand);
	is_int(waitpid(-1, &status, WNOHANG), 0);
	close(end);
	let_go();
	/* Nobody listens any more: it ends by itself, and by no signal. */
	ok(waitpid(-1, &status, 0) > 0);
	ok(WIFEXITED(status));
	is_int(WEXITSTATUS(status), 1);
	is_int(t.n_ends, 0);
}
