// SPDX-License-Identifier: BSD-3-Clause
/*
 * verdict: exit codes and the one line for every way in which a rank can end.
 */
#include "scheduler/scstepd/verdict.h"

#include <signal.h>

#include "tests/harness/tap.h"

static struct verdict_rank ended(int status)
{
	return (struct verdict_rank){.rank = 3, .host = "h1", .status = status};
}

TAP_TEST(verdict_rank_ended__well)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(0);

	ok(!verdict_rank_ended(&verdict, &rank));
	ok(!verdict.is_given);
}

TAP_TEST(verdict_rank_ended__exit_code)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(5 << 8);

	ok(verdict_rank_ended(&verdict, &rank));
	is_int(verdict.code, 5);
	is_str(verdict.text, "rank 3 on h1 exited with code 5");
}

TAP_TEST(verdict_rank_ended__signal)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(SIGKILL);

	ok(verdict_rank_ended(&verdict, &rank));
	is_int(verdict.code, 137);
	is_str(verdict.text, "rank 3 on h1 was killed by signal 9 (Killed)");
}

TAP_TEST(verdict_rank_ended__core_dump)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(SIGSEGV | 0x80);

	rank.world = 2;
	ok(verdict_rank_ended(&verdict, &rank));
	is_int(verdict.code, 139);
	is_str(verdict.text, "rank 3 of spawned world 2 on h1 was killed by signal 11 "
			     "(Segmentation fault) and left a core dump");
}

TAP_TEST(verdict_rank_ended__without_finalize)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(0);

	rank.is_in_mpi = true;
	ok(verdict_rank_ended(&verdict, &rank));
	is_int(verdict.code, 1);
	is_str(verdict.text,
	       "rank 3 on h1 exited with code 0 but without MPI_Finalize after MPI_Init");
}

TAP_TEST(verdict_rank_ended__could_not_exec)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(126 << 8);

	rank.code = 126;
	rank.why = "./a, host h1: Exec format error";
	ok(verdict_rank_ended(&verdict, &rank));
	is_int(verdict.code, 126);
	is_str(verdict.text, rank.why);
}

TAP_TEST(verdict_give__first_wins)
{
	struct verdict verdict = {0};
	struct verdict_rank rank = ended(SIGTERM);

	verdict_give(&verdict, 123, "host h2 is lost");
	verdict_rank_ended(&verdict, &rank);
	verdict_aborted(&verdict, 0, 1, "h0", 9, "");
	is_int(verdict.code, 123);
	is_str(verdict.text, "host h2 is lost");
}

TAP_TEST(verdict_aborted__codes)
{
	struct verdict small = {0}, large = {0}, silent = {0};

	verdict_aborted(&small, 0, 1, "h0", 7, "no convergence");
	is_int(small.code, 7);
	is_str(small.text, "rank 1 on h0 called MPI_Abort with code 7: no convergence");
	/* 512 modulo 256 is 0, which would be success. */
	verdict_aborted(&large, 0, 1, "h0", 512, "");
	is_int(large.code, 1);
	is_str(large.text, "rank 1 on h0 called MPI_Abort with code 512");
	verdict_aborted(&silent, 0, 1, "h0", -1, "N/A");
	is_int(silent.code, 255);
	is_str(silent.text, "rank 1 on h0 called MPI_Abort with code -1");
}
