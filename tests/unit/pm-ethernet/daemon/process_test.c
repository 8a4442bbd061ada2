// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/process.c: when a process was started, whatever it is called. */
#include "pm-ethernet/daemon/process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

TAP_TEST(ethd_process_start__is_the_same_each_time)
{
	uint64_t start = ethd_process_start(getpid());

	ok(start > 0);
	ok(ethd_process_start(getpid()) == start);
	ok(ethd_process_start(1) <= start);
}

TAP_TEST(ethd_process_start__of_a_name_with_brackets_and_blanks)
{
	uint64_t start = ethd_process_start(getpid());

	prctl(PR_SET_NAME, "a) S 1 1 (b");
	ok(ethd_process_start(getpid()) == start);
}

TAP_TEST(ethd_process_start__of_nobody)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	is_int((long long)ethd_process_start(pid), 0);
	is_int((long long)ethd_process_start(0), 0);
	is_int((long long)ethd_process_start(-5), 0);
	is_int(ethd_process_open(0), -1);
}
