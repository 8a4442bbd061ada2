/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nschild - a child in a pid namespace of its own, where it has number 1. It does something, and
 * then waits until it is ended.
 */
#ifndef TESTS_HARNESS_NSCHILD_H
#define TESTS_HARNESS_NSCHILD_H

#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

struct nschild {
	pid_t pid;
	int end; /* closed: it ends */
};

static inline bool nschild_begin(struct nschild *child, void (*run)(void *arg), void *arg)
{
	struct clone_args args = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
	int ready[2], end[2];
	char byte;

	if (pipe(ready) || pipe(end))
		return false;
	child->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child->pid < 0) {
		tap_skip("no right to make a pid namespace");
		return false;
	}
	if (!child->pid) {
		close(end[1]);
		if (run)
			run(arg);
		if (write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	child->end = end[1];
	if (!ok(read(ready[0], &byte, 1) == 1))
		return false;
	close(ready[0]);
	return true;
}

static inline void nschild_end(struct nschild *child)
{
	close(child->end);
	is_int(waitpid(child->pid, NULL, 0), child->pid);
}

#endif
