// SPDX-License-Identifier: BSD-3-Clause
/* restorable: the processes themselves, and the whole list of sentences. */
#include "scheduler/scnoded/holdings/restorable.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/judged.h"

TAP_TEST(restorable_judge__nothing_held)
{
	judged_begin();
	fine();
	holdings_free(&judged.h);
	judged_judge();
	is_int(judged.refusals.n, 0);
}

TAP_TEST(restorable_judge__trouble)
{
	judged_begin();
	holdings_trouble(&judged.h, "there are more than 5 threads; make it smaller");
	judged_file(S_IFSOCK, "XDP");
	refused_whole(
		"job 7 on n02 can't be looked at before a checkpoint, as there are more than 5 "
		"threads; make it smaller");
}

TAP_TEST(restorable_judge__processes)
{
	judged_begin();
	judged.h.processes[1].state = 'Z';
	fine();
	judged.h.processes[1].state = 'T';
	fine();
	judged.h.processes[1].err = EPERM;
	judged.h.processes[1].tracer = 812;
	refused("can't be looked at by scnoded: Operation not permitted; scnoded needs the rights "
		"of "
		"root, CAP_SYS_PTRACE too");
	judged.h.processes[1].tracer = 812;
	refused("is traced by process 812, such as a debugger or strace; end that before a "
		"checkpoint");
	judged.h.processes[1].terminal = 34816;
	refused("has a controlling terminal, which cannot be restored; start the job without a "
		"terminal");
	judged.h.processes[1].has_dead_thread = true;
	refused("has a thread that has ended and is still there, its first one as a rule, which "
		"cannot "
		"be restored; let main() wait for the other threads");
	judged.h.processes[1].is_partly_stopped = true;
	refused("has some threads that are stopped and some that are not, which cannot be "
		"restored; "
		"let it go on, for instance by kill -CONT 4711");
	judged.h.processes[1].shares_memory = true;
	refused("shares its memory with process 100, as between vfork and exec; try again when it "
		"has "
		"called exec");
}

TAP_TEST(restorable_judge__namespaces)
{
	static const char *const names[HELD_NAMESPACES] = {"a PID",           "a mount",
							   "a network",       "an IPC",
							   "a UTS",           "a user",
							   "a control group", "a time"};

	judged_begin();
	for (int i = 0; i < HELD_NAMESPACES; i++) {
		char clause[256];

		/* Only the first is told. */
		judged.h.processes[1].apart = ~0u << i;
		snprintf(clause, sizeof(clause),
			 "is in %s namespace of its own, which cannot be restored; start it "
			 "without a "
			 "container or unshare",
			 names[i]);
		refused(clause);
	}
	judged.h.has_other_net = true;
	refused_whole(
		"job 7 on n02 is in another network namespace than scnoded, which can't look at "
		"its connections; start it in the host's own");
}

TAP_TEST(restorable_judge__root)
{
	judged_begin();
	judged.h.processes[0].session = 1;
	refused_whole(
		"job 7: process 100 (scstepd) on n02 is in a session that began outside the job, "
		"in process 1; it must call setsid() before a checkpoint");
	judged.h.processes[0].state = 'Z';
	refused_whole("job 7: process 100 (scstepd) on n02 has ended, so there is nothing to write "
		      "down; look at the job's state by scqueue");
}

TAP_TEST(restorable_judge__strangers)
{
	judged_begin();
	*holdings_add_stranger(&judged.h) = (struct held_stranger){.pid = 812, .name = "nsenter"};
	refused_whole("job 7 on n02 has a process that is not below its scstepd: process 812 "
		      "(nsenter), which would be lost; end it before a checkpoint");
}

TAP_TEST(restorable_judge__many_refusals)
{
	judged_begin();
	for (int i = 0; i < 1000; i++)
		judged_file(S_IFSOCK, "XDP");
	judged_judge();
	is_int(judged.refusals.n, REFUSALS_MAX);
	is_int(judged.refusals.n_more, 1000 - REFUSALS_MAX);
}
