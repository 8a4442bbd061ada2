// SPDX-License-Identifier: BSD-3-Clause
/* Barriers of the ranks of two hosts, and ranks that do not come to them. */
#include "scheduler/scstepd/pmi1.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/fake_host.h"

TAP_TEST(pmi1__barrier_joins_what_all_have_put)
{
	static const char other[] = "a\0=1\0far\0=2=3";
	struct host host;

	must(open_host(&host));
	begin(&host);
	is_str(ask(&host, 0, "cmd=put kvsname=space key=a value==1\n"),
	       "cmd=put_result rc=0 msg=success\n");
	is_str(ask(&host, 0, "cmd=barrier_in\n"), "");
	is_int(host.n_fences, 0);
	is_str(ask(&host, 1, "cmd=barrier_in\n"), "");
	is_int(host.n_fences, 1);
	is_int(host.n_put, 5);
	is_mem(host.put, "a\0=1", 5);
	pmi1_fenced(host.pmi, 0, other, sizeof(other));
	is_str(hear(&host, 0), "cmd=barrier_out rc=0\n");
	is_str(hear(&host, 1), "cmd=barrier_out rc=0\n");
	is_str(ask(&host, 1, "cmd=get kvsname=space key=far\n"),
	       "cmd=get_result rc=0 msg=success value==2=3\n");
	has(ask(&host, 1, "cmd=get kvsname=space key=near\n"), "rc=-1");
	has(ask(&host, 1, "cmd=get kvsname=other key=far\n"), "rc=-1");
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	is_int(host.n_fences, 2);
	is_int(host.n_put, 0);
	close_host(&host);
}

TAP_TEST(pmi1__barrier_without_those_that_finished)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=finalize\n");
	is_int(host.n_fences, 1);
	close_host(&host);
}

TAP_TEST(pmi1__barrier_with_one_that_never_began)
{
	struct host host;

	must(open_host(&host));
	is_str(ask(&host, 0, BEGIN), BEGUN);
	close(host.ranks[1]);
	host.ranks[1] = -1;
	turn(&host);
	is_int(host.n_aborts, 0);
	ask(&host, 0, "cmd=barrier_in\n");
	is_int(host.n_fences, 0);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	has(host.why, "before MPI_Init");
	close_host(&host);
}

/* Its answer finds nobody: that is how the server learns that it is gone. */
TAP_TEST(pmi1__barrier_with_one_that_goes_without_its_answer)
{
	static const char line[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
	struct host host;

	must(open_host(&host));
	is_str(ask(&host, 0, BEGIN), BEGUN);
	ask(&host, 0, "cmd=barrier_in\n");
	is_int(send(host.ranks[1], line, sizeof(line) - 1, MSG_NOSIGNAL), sizeof(line) - 1);
	close(host.ranks[1]);
	host.ranks[1] = -1;
	turn(&host);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	has(host.why, "before MPI_Init");
	close_host(&host);
}

static void leave(struct host *host, uint32_t i)
{
	close(host->ranks[i]);
	host->ranks[i] = -1;
	turn(host);
}

TAP_TEST(pmi1__host_whose_ranks_never_began_adds_a_marker)
{
	struct host host;

	must(open_host(&host));
	leave(&host, 0);
	is_int(host.n_fences, 0);
	leave(&host, 1);
	is_int(host.n_fences, 1);
	is_int(host.n_put, 3);
	is_mem(host.put, "\0002", 3);
	/* Others were there: it is their business. */
	pmi1_fenced(host.pmi, 0, "\0002\0a\0001", 7);
	is_int(host.n_aborts, 0);
	is_int(host.n_fences, 1);
	close_host(&host);
	must(open_host(&host));
	is_str(ask(&host, 0, BEGIN), BEGUN);
	ask(&host, 0, "cmd=finalize\n");
	leave(&host, 0);
	leave(&host, 1);
	is_int(host.n_fences, 1);
	is_mem(host.put, "\0003", 3);
	close_host(&host);
}

TAP_TEST(pmi1__host_whose_ranks_were_lost_adds_none)
{
	struct host host;

	must(open_host(&host));
	is_str(ask(&host, 0, BEGIN), BEGUN);
	leave(&host, 0);
	leave(&host, 1);
	is_int(host.n_fences, 0);
	close_host(&host);
}

TAP_TEST(pmi1__barrier_with_a_host_whose_ranks_never_began)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	pmi1_fenced(host.pmi, 0, "a\0001\0\0001", 7);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, 1);
	is_int(host.code, 1);
	has(host.why, "before MPI_Init");
	is_str(hear(&host, 0), "");
	close_host(&host);
}

TAP_TEST(pmi1__barrier_waits_for_a_rank_that_was_lost)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	close(host.ranks[1]);
	host.ranks[1] = -1;
	turn(&host);
	is_int(host.n_fences, 0);
	is_int(host.n_aborts, 0);
	close_host(&host);
}

static void pass(struct host *host, double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	turn(host);
}

TAP_TEST(pmi1__barrier_with_one_that_lives_on_without_its_connection)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	leave(&host, 1);
	pass(&host, PMI1_TIMEOUT_S * 2);
	is_int(host.n_aborts, 0);
	ask(&host, 0, "cmd=barrier_in\n");
	is_int(host.n_fences, 0);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	has(host.why, "PMI_FD before MPI_Finalize");
	close_host(&host);
	/* It goes while others wait, and may have died: that would be told at once. */
	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	leave(&host, 1);
	pass(&host, PMI1_TIMEOUT_S * 0.9);
	is_int(host.n_aborts, 0);
	pass(&host, PMI1_TIMEOUT_S * 0.2);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, FIRST + 1);
	close_host(&host);
}

TAP_TEST(pmi1__barrier_with_one_that_aborted)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=abort exitcode=3\n");
	leave(&host, 1);
	pass(&host, PMI1_TIMEOUT_S * 2);
	is_int(host.n_aborts, 1);
	is_int(host.code, 3);
	close_host(&host);
}

TAP_TEST(pmi1__host_whose_ranks_live_on_without_their_connections)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	is_int(host.n_fences, 1);
	leave(&host, 0);
	leave(&host, 1);
	pass(&host, PMI1_TIMEOUT_S * 2);
	is_int(host.n_fences, 1);
	/* One fence at a time. */
	pmi1_fenced(host.pmi, 0, "", 0);
	is_int(host.n_fences, 2);
	is_int(host.n_put, 8);
	is_mem(host.put, "\0002 left", 8);
	is_int(host.n_aborts, 0);
	close_host(&host);
	/* At the other host. */
	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	pmi1_fenced(host.pmi, 0, "\0001 left", 8);
	is_int(host.n_aborts, 1);
	is_int(host.aborted, 1);
	has(host.why, "PMI_FD before MPI_Finalize");
	is_str(hear(&host, 0), "");
	close_host(&host);
}

TAP_TEST(pmi1__barrier_that_fails)
{
	struct host host;

	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	pmi1_fenced(host.pmi, EHOSTUNREACH, NULL, 0);
	is_int(host.n_aborts, 1);
	has(host.why, "No route to host");
	close_host(&host);
	must(open_host(&host));
	begin(&host);
	host.fence_result = -ENOSPC;
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	is_int(host.n_aborts, 1);
	has(host.why, "No space left");
	close_host(&host);
	must(open_host(&host));
	begin(&host);
	ask(&host, 0, "cmd=barrier_in\n");
	ask(&host, 1, "cmd=barrier_in\n");
	pmi1_fenced(host.pmi, 0, "half", 4);
	is_int(host.n_aborts, 1);
	close_host(&host);
}

/* As MPICH 4.1 and later say it; a message may have several lines. */
