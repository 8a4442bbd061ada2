// SPDX-License-Identifier: BSD-3-Clause
/*
 * inquiry: a child that hangs, is killed, ends early, or says as much as it may. The look is a
 * fake, which tells what it finds by its text; the clock stands still until the test moves it.
 */
#include "scheduler/scnoded/holdings/inquiry.h"

#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/inquired.h"

#define FILES 1024 /* descriptors that are looked at */

static const struct survey_order order = {.root = 1};

static enum { SAYS, SAYS_MUCH, HANGS, IS_KILLED, ENDS, TELLS_OF_ITSELF } scene;

static void tell_of_itself(char *text)
{
	char name[16] = "", oom[16] = "";
	int n = 0, fd = open("/proc/self/oom_score_adj", O_RDONLY), death = 0;
	sigset_t blocked;

	if (fd < 0 || read(fd, oom, sizeof(oom) - 1) < 0)
		*oom = 0;
	close(fd);
	for (fd = 4; fd < FILES; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	prctl(PR_GET_NAME, name);
	prctl(PR_GET_PDEATHSIG, &death);
	oom[strcspn(oom, "\n")] = 0;
	snprintf(text, LOOK_TEXT_MAX, "%s, %d files, oom %s, blocked %d, handled %d, death %d",
		 name, n, oom, sigismember(&blocked, SIGTERM), signal(SIGCHLD, SIG_DFL) != SIG_DFL,
		 death);
}

void look_twice(const struct survey_order *asked, const struct restorable_terms *terms, char *ret)
{
	(void)asked, (void)terms;
	*ret = 0;
	switch (scene) {
	case SAYS:
		strcpy(ret, "a sentence\nand 2 more");
		break;
	case SAYS_MUCH:
		memset(ret, 'x', LOOK_TEXT_MAX - 1);
		ret[LOOK_TEXT_MAX - 1] = 0;
		break;
	case HANGS:
		for (;;)
			pause();
	case IS_KILLED:
		raise(SIGKILL);
		break;
	case ENDS:
		_exit(0);
	case TELLS_OF_ITSELF:
		tell_of_itself(ret);
	}
}

static void play(int what)
{
	scene = what;
	inquired_start(&order);
	inquired_wait();
}

TAP_TEST(inquiry_start__text)
{
	play(SAYS);
	is_str(inquired.text, "a sentence\nand 2 more");
	ok(!inquired.is_clear);
}

TAP_TEST(inquiry_start__longest_text)
{
	play(SAYS_MUCH);
	is_int(strlen(inquired.text), LOOK_TEXT_MAX - 1);
	is_int(inquired.text[LOOK_TEXT_MAX - 2], 'x');
}

TAP_TEST(inquiry_start__the_child)
{
	play(TELLS_OF_ITSELF);
	is_str(inquired.text, "scnoded-look, 0 files, oom 1000, blocked 0, handled 0, death 9");
}

static void expect(const char *clause)
{
	char want[LOOK_TEXT_MAX];

	snprintf(want, sizeof(want), "job 7 on here can't be looked at before a checkpoint, as %s",
		 clause);
	is_str(inquired.text, want);
	ok(!inquired.is_clear);
}

TAP_TEST(inquiry_start__killed)
{
	play(IS_KILLED);
	expect("the process scnoded-look was killed by signal 9 (Killed); see whether that host is "
	       "short of memory (dmesg tells), then try again");
}

TAP_TEST(inquiry_start__ended_early)
{
	play(ENDS);
	expect("the process scnoded-look ended before it had looked; see whether that host is "
	       "short of memory (dmesg tells), then try again");
}

/* The loop has not run since, so the child is here to be waited for. */
static void expect_killed(void)
{
	int status = 0;

	ok(waitpid(-1, &status, 0) > 0);
	is_int(WTERMSIG(status), SIGKILL);
	is_int(waitpid(-1, NULL, WNOHANG), -1);
	is_int(errno, ECHILD);
}

TAP_TEST(inquiry_start__hangs)
{
	scene = HANGS;
	inquired_start(&order);
	stillclock_ns += INQUIRY_LIMIT_S * 1000000000ull - 1000000;
	ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_NOWAIT);
	is_int(inquired.n, 0);
	stillclock_ns += 2000000;
	inquired_wait();
	expect("looking took longer than 8 s, perhaps in a file system that hangs; find it there "
	       "(df hangs in it, too), mend it, then try again");
	expect_killed();
}

TAP_TEST(inquiry_stop__while_it_hangs)
{
	scene = HANGS;
	inquired_start(&order);
	ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_NOWAIT);
	inquired_stop();
	expect_killed();
	stillclock_ns += 20 * 1000000000ull;
	ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_NOWAIT);
	is_int(inquired.n, 0);
}

/* Nobody waits for it but the loop. */
TAP_TEST(inquiry_stop__reaped_by_the_loop)
{
	scene = HANGS;
	inquired_start(&order);
	inquired_stop();
	while (!waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT))
		ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_NOWAIT);
	is_int(errno, ECHILD);
	is_int(inquired.n, 0);
}

/* As if none of those that were killed had ended, as in a file system that is dead. */
static bool are_stuck;

int poll(struct pollfd *files, nfds_t n, int timeout_ms)
{
	struct timespec limit = {.tv_sec = timeout_ms / 1000,
				 .tv_nsec = timeout_ms % 1000 * 1000000L};

	return are_stuck ? 0 : ppoll(files, n, timeout_ms < 0 ? NULL : &limit, NULL);
}

TAP_TEST(inquiry_start__many_hang)
{
	play(SAYS); /* it forgets those of other tests */
	scene = HANGS;
	are_stuck = true;
	for (int i = 0; i < 8; i++) {
		inquired_start(&order);
		inquired_stop();
		expect_killed();
	}
	inquired_start(&order);
	stillclock_ns += 1000000;
	inquired_wait();
	expect("8 processes scnoded-look hang there already, perhaps in a file system; find it (df "
	       "hangs in it, too), mend it, then try again");
	is_int(waitpid(-1, NULL, WNOHANG), -1);
	are_stuck = false;
	play(SAYS);
	is_str(inquired.text, "a sentence\nand 2 more");
}

TAP_TEST(inquiry_stop__none)
{
	errand_stop(NULL);
	ok(true);
}

TAP_TEST(inquiry_start__no_descriptors)
{
	struct rlimit before, few;
	int next = dup(0);

	ev_default_loop(EVFLAG_AUTO);
	close(next);
	must(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	few.rlim_cur = (rlim_t)next;
	must(!setrlimit(RLIMIT_NOFILE, &few));
	inquired_start(&order);
	is_int(inquired.n, 0);
	inquired_stop();
	inquired_start(&order);
	stillclock_ns += 1000000; /* a timer without delay waits for the clock, too */
	inquired_wait();
	setrlimit(RLIMIT_NOFILE, &before);
	ok(strstr(inquired.text, "scnoded can't start a process for that: Too many open files; ") !=
	   NULL);
	is_int(waitpid(-1, NULL, WNOHANG), -1);
}

/* A scnoded that is killed: its child has standard input as well, and closes it at its own end. */
TAP_TEST(inquiry_start__scnoded_dies)
{
	int life[2];
	pid_t scnoded;
	char byte;

	must(!pipe(life));
	scene = HANGS;
	scnoded = fork();
	if (!scnoded) {
		dup2(life[1], STDIN_FILENO);
		close(life[1]);
		ev_loop_fork(ev_default_loop(EVFLAG_AUTO));
		inquired_start(&order);
		_exit(0);
	}
	close(life[1]);
	is_int(read(life[0], &byte, 1), 0);
	close(life[0]);
	is_int(waitpid(scnoded, NULL, 0), scnoded);
}
