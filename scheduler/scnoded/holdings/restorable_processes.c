// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "scheduler/scnoded/holdings/restorable_inside.h"

/* Namespaces that differ for one process of the tree. CRIU knows one of each kind for all. */
static void judge_namespaces(const struct judge *j, size_t process)
{
	static const char *const names[HELD_NAMESPACES] = {"a PID",           "a mount",
							   "a network",       "an IPC",
							   "a UTS",           "a user",
							   "a control group", "a time"};
	uint32_t apart = j->holdings->processes[process].apart;

	/* One is enough: a container has most of them. */
	for (int i = 0; i < HELD_NAMESPACES; i++)
		if (apart >> i & 1) {
			judge_refuse(
				j, process,
				"is in %s namespace of its own, which cannot be restored; start "
				"it without a container or unshare",
				names[i]);
			return;
		}
}

static void judge_memory(const struct judge *j, size_t process)
{
	const struct held_process *p = &j->holdings->processes[process];

	if (p->shares_memory)
		judge_refuse(
			j, process,
			"shares its memory with process %d, as between vfork and exec; try again "
			"when it has called exec",
			p->parent);
}

/* A thread group's first thread that has ended is a zombie as long as there are others. */
static void judge_threads(const struct judge *j, size_t process)
{
	const struct held_process *p = &j->holdings->processes[process];

	if (p->has_dead_thread)
		judge_refuse(
			j, process,
			"has a thread that has ended and is still there, its first one as a rule, "
			"which cannot be restored; let main() wait for the other threads");
	if (p->is_partly_stopped)
		judge_refuse(
			j, process,
			"has some threads that are stopped and some that are not, which cannot be "
			"restored; let it go on, for instance by kill -CONT %d",
			p->pid);
}

static void judge_process(const struct judge *j, size_t process)
{
	const struct held_process *p = &j->holdings->processes[process];

	if (p->err) {
		judge_refuse(j, process,
			     "can't be looked at by scnoded: %s; scnoded needs the rights of root, "
			     "CAP_SYS_PTRACE too",
			     strerror(p->err));
		return;
	}
	if (p->tracer)
		judge_refuse(
			j, process,
			"is traced by process %d, such as a debugger or strace; end that before a "
			"checkpoint",
			p->tracer);
	if (p->terminal)
		judge_refuse(j, process,
			     "has a controlling terminal, which cannot be restored; start the job "
			     "without a terminal");
	judge_threads(j, process);
	judge_memory(j, process);
	judge_namespaces(j, process);
}

/* A session ends with its leader: CRIU makes no process whose session began outside the tree. */
static void judge_root(const struct judge *j)
{
	const struct held_process *root = &j->holdings->processes[0];

	if (root->state == 'Z' || root->state == 'X')
		judge_refuse(j, 0,
			     "has ended, so there is nothing to write down; look at the job's "
			     "state by scqueue");
	else if (root->session != root->pid)
		judge_refuse(
			j, 0,
			"is in a session that began outside the job, in process %d; it must call "
			"setsid() before a checkpoint",
			root->session);
	if (j->holdings->has_other_net)
		judge_refuse_part(j,
				  "is in another network namespace than scnoded, which can't look "
				  "at its connections; start it in the host's own");
}

void judge_processes(const struct judge *j)
{
	const struct holdings *h = j->holdings;

	if (h->n_processes)
		judge_root(j);
	for (size_t i = 0; i < h->n_processes; i++)
		judge_process(j, i);
	for (size_t i = 0; i < h->n_strangers; i++)
		judge_refuse_part(
			j,
			"has a process that is not below its scstepd: process %d (%s), which "
			"would be lost; end it before a checkpoint",
			h->strangers[i].pid, h->strangers[i].name);
}
