// SPDX-License-Identifier: BSD-3-Clause
/* Each form of cgroups that this machine has, and none, with real processes. */
#include "scheduler/scnoded/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/scnoded/limit.h"
#include "tests/harness/eventually.h"
#include "tests/harness/tap.h"

static void spin(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
}

/* A step with two ranks that spin and a grandchild that sleeps in a session of its own. */
struct family {
	pid_t step, ranks[2];
	int go; /* a byte to each rank lets it begin */
};

static void be_rank(int number, int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (!number && !fork()) {
		setsid();
		for (;;)
			pause();
	}
	spin();
}

static void be_step(int tell, int go)
{
	pid_t ranks[2];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < 2; i++) {
		ranks[i] = fork();
		if (!ranks[i])
			be_rank(i, go);
	}
	if (write(tell, ranks, sizeof(ranks)) != sizeof(ranks))
		_exit(1);
	for (;;)
		if (waitpid(-1, NULL, 0) < 0)
			pause();
}

static struct family start(void)
{
	struct family f = {0};
	int pipes[2], go[2];

	if (pipe(pipes) || pipe(go))
		return f;
	f.go = go[1];
	f.step = fork();
	if (!f.step)
		be_step(pipes[1], go[0]);
	if (read(pipes[0], f.ranks, sizeof(f.ranks)) != sizeof(f.ranks))
		f.step = 0;
	close(pipes[0]);
	close(pipes[1]);
	close(go[0]);
	return f;
}

static char parent[64];

static bool has_pid(const struct cgroup *g, pid_t pid)
{
	pid_t *pids = NULL;
	ssize_t n = cgroup_pids(g, &pids);
	bool has = n > 0 && cgroup_has(pids, (size_t)n, pid);

	free(pids);
	return has;
}

static void live_and_die(enum cgroup_form form)
{
	struct cgroup *g = cgroup_open(form, parent, 42);
	struct family f;
	uint64_t cpu;

	must(g);
	f = start();
	must(f.step > 0);
	is_int(cgroup_put_step(g, f.step), 0);
	for (int i = 0; i < 2; i++)
		is_int(cgroup_put_rank(g, f.ranks[i]), 0);
	/* Only now, as scstepd has it: what a rank starts is in the group from the beginning. */
	is_int(write(f.go, "gg", 2), 2);
	ok(has_pid(g, f.step));
	ok(has_pid(g, f.ranks[1]));
	ok(!has_pid(g, getpid()));
	ok(!cgroup_is_empty(g));
	ok(EVENTUALLY(!cgroup_freeze(g, true) && cgroup_is_frozen(g)));
	cpu = cgroup_cpu_ns(g);
	for (int i = 0; i < 50; i++)
		eventually_nap();
	/* /proc counts in ticks. */
	okf(cgroup_cpu_ns(g) - cpu < 20000000, "it ran while frozen: %llu ns",
	    (unsigned long long)(cgroup_cpu_ns(g) - cpu));
	is_int(cgroup_freeze(g, false), 0);
	ok(EVENTUALLY(cgroup_cpu_ns(g) - cpu > 20000000));
	/* Killed while frozen. */
	is_int(cgroup_freeze(g, true), 0);
	ok(EVENTUALLY(cgroup_is_frozen(g)));
	is_int(cgroup_kill(g), 0);
	ok(EVENTUALLY(cgroup_kill(g) || cgroup_is_empty(g)));
	ok(!cgroup_is_deserted(g));
	is_int(kill(f.step, 0), 0);
	cgroup_kill_all(g);
	is_int(waitpid(f.step, NULL, 0), f.step);
	ok(EVENTUALLY(cgroup_is_deserted(g)));
	is_int(cgroup_remove(g), 0);
	close(f.go);
}

static void find_again(enum cgroup_form form)
{
	struct cgroup *g = cgroup_open(form, parent, 43);
	uint64_t *ids = NULL;

	must(g);
	is_int(cgroup_list(form, parent, &ids), 1);
	is_int(ids ? ids[0] : 0, 43);
	free(ids);
	cgroup_forget(g);
	g = cgroup_open(form, parent, 43);
	must(g);
	is_int(cgroup_remove(g), 0);
	is_int(cgroup_list(form, parent, &ids), 0);
	free(ids);
}

/* The switch thread looks before each switch. */
static void look_without_opening(enum cgroup_form form)
{
	struct cgroup *g = cgroup_open(form, parent, 44);
	struct rlimit files, none = {0};

	must(g);
	getrlimit(RLIMIT_NOFILE, &files);
	none.rlim_max = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	is_int(cgroup_freeze(g, true), 0);
	ok(EVENTUALLY(cgroup_is_frozen(g)));
	is_int(cgroup_freeze(g, false), 0);
	ok(EVENTUALLY(!cgroup_is_frozen(g)));
	setrlimit(RLIMIT_NOFILE, &files);
	is_int(cgroup_remove(g), 0);
}

#define BOMB 16
/*
 * The thread sanitizer has a thread of its own in each process that is long enough there, which the
 * kernel counts.
 */
#ifdef __SANITIZE_THREAD__
#define BOMB_LEAST (BOMB / 2 - 1)
#else
#define BOMB_LEAST (BOMB - 1)
#endif

/* Forks until it may not, and tells how often it could. */
static void be_bomb(int go, int tell)
{
	unsigned char n = 0;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	while (n < 4 * BOMB) {
		pid_t child = fork();

		if (!child)
			for (;;)
				pause();
		if (child < 0)
			break;
		n++;
	}
	if (write(tell, &n, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void hold_bomb(enum cgroup_form form)
{
	struct cgroup *g = cgroup_open(form, parent, 45);
	int go[2], tell[2];
	unsigned char n = 0;
	pid_t rank;

	must(g);
	if (!cgroup_can_limit(form, parent)) {
		is_int(cgroup_limit(g, BOMB), -EOPNOTSUPP);
		is_int(cgroup_remove(g), 0);
		tap_skip("no controller pids for cgroups of form %s here", cgroup_form_name(form));
		return;
	}
	is_int(cgroup_limit(g, BOMB), 0);
	must(!pipe(go) && !pipe(tell));
	rank = fork();
	if (!rank)
		be_bomb(go[0], tell[1]);
	is_int(cgroup_put_rank(g, rank), 0);
	is_int(write(go[1], "g", 1), 1);
	is_int(read(tell[0], &n, 1), 1);
	okf(n >= BOMB_LEAST && n < BOMB, "it could fork %d times", n);
	ok(EVENTUALLY(cgroup_kill(g) || (waitpid(-1, NULL, WNOHANG), cgroup_is_empty(g))));
	ok(EVENTUALLY(!cgroup_remove(g)));
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(tell[i]);
	}
}

#define MEMORY (UINT64_C(32) << 20)

/* Wants twice as much as it may have. */
static void be_glutton(int go)
{
	volatile char *all =
		mmap(NULL, 2 * MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	if (all == MAP_FAILED || read(go, &byte, 1) != 1)
		_exit(1);
	for (size_t i = 0; i < 2 * MEMORY; i += 4096)
		all[i] = 1;
	_exit(0);
}

static int feed(struct cgroup *g)
{
	int go[2], status = 0;
	pid_t rank;

	if (pipe(go))
		return -1;
	rank = fork();
	if (!rank)
		be_glutton(go[0]);
	is_int(cgroup_put_rank(g, rank), 0);
	is_int(write(go[1], "g", 1), 1);
	is_int(waitpid(rank, &status, 0), rank);
	close(go[0]);
	close(go[1]);
	return status;
}

static void hold_glutton(enum cgroup_form form)
{
	struct cgroup *g = cgroup_open(form, parent, 46);
	char path[PATH_MAX];
	int status;

	must(g);
	if (!cgroup_can_limit_memory(form, parent)) {
		is_int(cgroup_limit_memory(g, MEMORY), -EOPNOTSUPP);
		is_int(cgroup_remove(g), 0);
		tap_skip("no controller memory for cgroups of form %s here",
			 cgroup_form_name(form));
		return;
	}
	is_int(feed(g), 0); /* no limit yet */
	is_int(cgroup_limit_memory(g, MEMORY), 0);
	ok(cgroup_memory_kills(g, path, sizeof(path)));
	is_int(limit_kills(path), 0);
	status = feed(g);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	is_int(limit_kills(path), 1);
	ok(EVENTUALLY(!cgroup_remove(g)));
	is_int(limit_kills(path), 0);
}

/* Whatever it fails at for want of descriptors, no group is left. */
static void lack_files(enum cgroup_form form)
{
	struct cgroup *g = NULL;
	struct rlimit before;
	rlim_t free_fd = (rlim_t)dup(0);
	int n_failed = 0;

	close((int)free_fd);
	getrlimit(RLIMIT_NOFILE, &before);
	for (rlim_t more = 0; !g && more < 8; more++) {
		uint64_t *ids = NULL;

		setrlimit(RLIMIT_NOFILE, &(struct rlimit){free_fd + more, before.rlim_max});
		g = cgroup_open(form, parent, 47);
		setrlimit(RLIMIT_NOFILE, &before);
		if (g)
			break;
		ok(errno == EMFILE || !more);
		n_failed++;
		is_int(cgroup_list(form, parent, &ids), 0);
		free(ids);
	}
	ok(n_failed);
	must(g);
	is_int(cgroup_remove(g), 0);
}

static bool has(enum cgroup_form form)
{
	struct cgroup *g;

	snprintf(parent, sizeof(parent), "openscore-test-%d", getpid());
	g = cgroup_open(form, parent, 1);
	if (!g) {
		tap_skip("cgroups of form %s cannot be made here: needs root and such a mount",
			 cgroup_form_name(form));
		return false;
	}
	cgroup_remove(g);
	return true;
}

static void remove_parent(enum cgroup_form form)
{
	/* The parent stays for later jobs, as a daemon leaves it; here it goes. */
	static const char *const mounts[] = {"", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified"};
	char path[256];

	for (size_t i = 1; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", mounts[i], parent);
		rmdir(path);
	}
	snprintf(path, sizeof(path), "/sys/fs/cgroup/cpuacct/%s", parent);
	rmdir(path);
	snprintf(path, sizeof(path), "/sys/fs/cgroup/pids/%s", parent);
	rmdir(path);
	snprintf(path, sizeof(path), "/sys/fs/cgroup/memory/%s", parent);
	rmdir(path);
	(void)form;
}

TAP_TEST(cgroup__v2)
{
	if (!has(CGROUP_V2))
		return;
	live_and_die(CGROUP_V2);
	find_again(CGROUP_V2);
	look_without_opening(CGROUP_V2);
	hold_bomb(CGROUP_V2);
	hold_glutton(CGROUP_V2);
	lack_files(CGROUP_V2);
	remove_parent(CGROUP_V2);
}

TAP_TEST(cgroup__v1)
{
	if (!has(CGROUP_V1))
		return;
	live_and_die(CGROUP_V1);
	find_again(CGROUP_V1);
	look_without_opening(CGROUP_V1);
	hold_bomb(CGROUP_V1);
	hold_glutton(CGROUP_V1);
	lack_files(CGROUP_V1);
	remove_parent(CGROUP_V1);
}

TAP_TEST(cgroup__none)
{
	live_and_die(CGROUP_NONE);
}
