// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/spawn.h"
#include "scheduler/scnoded/cores.h"

/* As execve() wants it: not constant. */
static char name[] = "scstepd";

/* Of processors; NULL: any. */
struct mask {
	const unsigned long *bits;
	size_t bytes;
};

static _Noreturn void run_child(const struct spawn *spawn, const struct mask *mask, int control,
				const int go[2])
{
	char *const argv[] = {name, NULL};
	char byte;

	spawn_begin();
	/* Even a job that is not bound keeps to the processors that jobs may use. */
	if (mask->bits)
		sched_setaffinity(0, mask->bytes, (const cpu_set_t *)mask->bits);
	/*
	 * In the job's group before anything of the job runs. A scnoded that dies before lets go by
	 * the pipe's end.
	 */
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	spawn_exec(spawn, argv, control);
}

/* The sentence for what scstepd can't have. */
static char *lack(const struct scnoded *d, const char *what, int error)
{
	return daemon_text("host %s: no %s for scstepd: %s; %s", d->name, what, strerror(error),
			   files_remedy(error,
					"look after memory and control groups of that host"));
}

static char *spawn_step(struct step *step, const struct spawn *spawn, const int control[2],
			const int go[2])
{
	struct mask mask = {NULL, 0};
	char *text = NULL;
	pid_t pid;
	int err;

	mask.bits = cores_mask(step->daemon->cores, &mask.bytes);
	pid = signals_fork();
	if (!pid)
		run_child(spawn, &mask, control[1], go);
	if (pid < 0)
		return daemon_text("host %s: no process for scstepd: %s; end some there, or raise "
				   "kernel.pid_max",
				   step->daemon->name, strerror(-pid));
	step->pid = pid;
	err = cgroup_put_step(step->group, pid);
	if (err)
		text = lack(step->daemon, "way into its cgroup", -err);
	else if (write(go[1], "g", 1) != 1)
		text = daemon_text("host %s: scstepd cannot be let go: %m", step->daemon->name);
	return text;
}

char *fork_step(struct step *step, int *control)
{
	const struct scnoded *d = step->daemon;
	const struct order *order = step->order;
	struct spawn spawn;
	int pair[2], go[2];
	char *text =
		spawn_prepare(&spawn, d, name, d->options.scstepd, order->uid, order->gid, "jobs");

	if (!text && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		text = lack(d, "socket pair", errno);
	if (text) {
		spawn_fini(&spawn);
		return text;
	}
	if (pipe2(go, O_CLOEXEC)) {
		text = lack(d, "pipe", errno);
	} else {
		text = spawn_step(step, &spawn, pair, go);
		close(go[0]);
		close(go[1]);
	}
	close(pair[1]);
	spawn_fini(&spawn);
	if (text)
		close(pair[0]);
	else
		*control = pair[0];
	return text;
}
