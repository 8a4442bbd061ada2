// SPDX-License-Identifier: BSD-3-Clause
/* Questions of ranks, and what is refused; their barriers are in pmi1_barrier_test.c. */
#include "scheduler/scstepd/pmi1.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scstepd/pmi1_line.h"
#include "scheduler/scstepd/pmi1_space.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/fake_host.h"

TAP_TEST(pmi1_release__ranks_wait_in_init)
{
	struct host host;

	if (open_held(&host, true)) {
		is_str(ask(&host, 0, BEGIN), "");
		is_str(ask(&host, 1, BEGIN), "");
		is_int(host.n_initialized, 0);
		pmi1_release(host.pmi);
		pmi1_release(host.pmi);
		turn(&host);
		is_str(hear(&host, 0), BEGUN);
		is_str(hear(&host, 1), BEGUN);
		is_int(host.n_initialized, 2);
	}
	close_host(&host);
}

TAP_TEST(pmi1__what_a_rank_asks_first)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	is_int(host.n_initialized, 2);
	is_str(ask(&host, 0, "cmd=get_maxes\n"),
	       "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=512\n");
	is_str(ask(&host, 0, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
	is_str(ask(&host, 1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=5\n");
	is_str(ask(&host, 0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=space\n");
	is_str(ask(&host, 0, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=8\n");
	is_str(ask(&host, 0, "cmd=get kvsname=space key=PMI_process_mapping\n"),
	       "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
	is_str(ask(&host, 0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
	is_int(host.n_finalized, 1);
	is_int(host.n_aborts, 0);
	close_host(&host);
}

TAP_TEST(pmi1__abort_with_a_reason)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 1,
	    "cmd=abort exitcode=7 message=rank 3 called MPI_Abort(7) cmd=put\nand more\n");
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	is_int(host.code, 7);
	close_host(&host);
}

TAP_TEST(pmi1__abort)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 1, "cmd=abort exitcode=7\n");
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	is_int(host.code, 7);
	is_str(host.why, "");
	close_host(&host);
}

TAP_TEST(pmi1__spawn_and_names_are_refused)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	is_str(ask(&host, 0, "mcmd=spawn\nnprocs=2\nexecname=./a b\ncmd=abort\nendcmd\n"),
	       "cmd=spawn_result rc=-1 msg=MPI_Comm_spawn_needs_PMIx\n");
	is_str(ask(&host, 0, "cmd=publish_name service=a port=b\n"),
	       "cmd=publish_result rc=-1 msg=PMI-1_names_are_not_offered\n");
	is_str(ask(&host, 0, "cmd=lookup_name service=a\n"),
	       "cmd=lookup_result rc=-1 msg=PMI-1_names_are_not_offered\n");
	is_str(ask(&host, 0, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
	is_int(host.n_aborts, 0);
	close_host(&host);
}

TAP_TEST(pmi1__init_of_another_version)
{
	struct host host;

	must(open_host(&host));
	has(ask(&host, 0, "cmd=init pmi_version=2 pmi_subversion=0\n"), "rc=-1");
	is_int(host.n_initialized, 0);
	close_host(&host);
}

/* The rank is hung up, the other one is served on. */
static void check_violation(const char *line, const char *why)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	is_str(ask(&host, 0, line), "end");
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST);
	is_int(host.code, 1);
	has(host.why, why);
	is_str(ask(&host, 1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=5\n");
	close_host(&host);
}

TAP_TEST(pmi1__violations)
{
	char line[PMI1_LINE_MAX + 8];

	check_violation("hello\n", "not cmd=");
	check_violation("\n", "not cmd=");
	check_violation("key=a cmd=get\n", "not cmd=");
	check_violation("cmd=get key=a key=b\n", "not cmd=");
	check_violation("cmd=destroy_kvs\n", "cmd=destroy_kvs is not offered");
	check_violation("cmd=barrier_in\ncmd=barrier_in\n", "within a barrier");
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	check_violation(line, "more than 2048 bytes");
}

TAP_TEST(pmi1__command_before_init)
{
	struct host host;

	must(open_host(&host));
	is_str(ask(&host, 0, "cmd=barrier_in\n"), "end");
	has(host.why, "before cmd=init");
	close_host(&host);
}

TAP_TEST(pmi1__put_is_limited)
{
	char line[PMI1_LINE_MAX], value[PMI1_VALUE_MAX + 1], *most = value + 1;
	struct host host;

	must(open_host(&host));
	begin(&host);
	memset(value, 'v', sizeof(value));
	value[PMI1_VALUE_MAX] = '\0';
	snprintf(line, sizeof(line), "cmd=put kvsname=space key=k value=%s\n", value);
	has(ask(&host, 0, line), "rc=-1 msg=key_or_value_too_long");
	snprintf(line, sizeof(line), "cmd=put kvsname=space key=%.64s value=1\n", value);
	has(ask(&host, 0, line), "rc=-1 msg=key_or_value_too_long");
	snprintf(line, sizeof(line), "cmd=put kvsname=space key=%.63s value=%s\n", value, most);
	has(ask(&host, 0, line), "rc=0");
	has(ask(&host, 0, "cmd=put kvsname=space key=k\n"), "rc=-1 msg=needs_");
	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "cmd=put kvsname=space key=%d value=%s\n", i, most);
		if (strstr(ask(&host, 0, line), "rc=-1 msg=rank_has_put_more_than"))
			break;
	}
	has(host.answer, "rank_has_put_more_than");
	has(ask(&host, 1, "cmd=put kvsname=space key=k value=1\n"), "rc=0");
	is_int(host.n_aborts, 0);
	close_host(&host);
}

TAP_TEST(pmi1__rank_that_reads_nothing)
{
	static const char line[] = "cmd=get kvsname=space key=PMI_process_mapping\n";
	size_t n_sent = 0, n_lines = 0;
	struct host host;

	must(open_host(&host));
	begin(&host);
	/* The pipe to the server fills up because it stops to read. */
	while (n_sent < (64u << 20)) {
		ssize_t n = send(host.ranks[0], line, sizeof(line) - 1, MSG_DONTWAIT);

		if (n != (ssize_t)sizeof(line) - 1)
			break;
		n_sent += (size_t)n;
		ev_run(host.loop, EVRUN_NOWAIT);
	}
	okf(n_sent < (8u << 20), "%zu bytes were taken", n_sent);
	is_str(ask(&host, 1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=5\n");
	/* Nothing is lost when it reads again. */
	for (int i = 0; i < 1000000 && n_lines < n_sent / (sizeof(line) - 1); i++) {
		ev_run(host.loop, EVRUN_NOWAIT);
		for (const char *at = hear(&host, 0); (at = strchr(at, '\n')); at++)
			n_lines++;
	}
	is_int(n_lines, n_sent / (sizeof(line) - 1));
	is_int(host.n_aborts, 0);
	close_host(&host);
}

TAP_TEST(pmi1_add__wrong_rank)
{
	struct host host;

	must(open_host(&host));
	is_int(pmi1_add(host.pmi, FIRST, open("/dev/null", O_RDONLY | O_CLOEXEC)), -EINVAL);
	is_int(pmi1_add(host.pmi, FIRST - 1, open("/dev/null", O_RDONLY | O_CLOEXEC)), -EINVAL);
	is_int(pmi1_add(host.pmi, FIRST + N_LOCAL, open("/dev/null", O_RDONLY | O_CLOEXEC)),
	       -EINVAL);
	close_host(&host);
}

TAP_TEST(pmi1_space_merge__what_makes_no_sense)
{
	char key[PMI1_KEY_MAX + 4] = "";
	struct pmi1_space space = {0};

	is_int(pmi1_space_merge(&space, "a\0b", 4), 0);
	is_str(pmi1_space_get(&space, "a"), "b");
	is_int(pmi1_space_merge(&space, "a\0c", 3), -EPROTO);
	is_int(pmi1_space_merge(&space, "a", 2), -EPROTO);
	is_int(pmi1_space_merge(&space, "a\0d\0e", 6), -EPROTO);
	memset(key, 'k', PMI1_KEY_MAX);
	is_int(pmi1_space_merge(&space, key, sizeof(key)), -EPROTO);
	is_str(pmi1_space_get(&space, "a"), "b");
	is_int(pmi1_space_merge(&space, NULL, 0), 0);
	pmi1_space_fini(&space);
}
