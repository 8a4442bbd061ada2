// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmi: ranks over their sockets, with the real server of PMI-1 behind them; the tree and the table
 * of ranks are the test's.
 */
#include "scheduler/scstepd/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define BEGIN "cmd=init pmi_version=1 pmi_subversion=1\n"
#define BEGUN "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define N_HOSTS 4
#define EACH 2

static struct world *world;
static struct rank ranks[EACH];
static int ends[EACH] = {-1, -1};
static char answer[1024];
static struct {
	unsigned int n;
	int rc; /* what it answers */
	char op[16], set[16];
	size_t size;
	collective_done *done;
	void *arg;
} joined;
static struct {
	unsigned int n;
	uint32_t world, rank;
	int code;
	char text[64];
} aborted;

int collective_join(struct collectives *collectives, const char *op, const char *set,
		    const void *data, size_t size, collective_done *done, void *arg)
{
	joined.n++;
	snprintf(joined.op, sizeof(joined.op), "%s", op);
	snprintf(joined.set, sizeof(joined.set), "%s", set);
	joined.size = size;
	joined.done = done;
	joined.arg = arg;
	return joined.rc;
}

void step_abort(struct step *step, uint32_t its_world, uint32_t rank, int code, const char *text)
{
	aborted.n++;
	aborted.world = its_world;
	aborted.rank = rank;
	aborted.code = code;
	snprintf(aborted.text, sizeof(aborted.text), "%s", text);
}

struct rank *ranks_get(const struct ranks *table, const struct world *its_world, uint32_t number)
{
	uint32_t first = world->hosts[fake.step.here].first;

	return its_world == world && number - first < EACH ? &ranks[number - first] : NULL;
}

/* Host 1 of four, with two ranks on each. */
static void begin_with(bool is_debugged)
{
	memset(&joined, 0, sizeof(joined));
	memset(&aborted, 0, sizeof(aborted));
	memset(ranks, 0, sizeof(ranks));
	fake_open(N_HOSTS, EACH);
	fake.step.here = 1;
	fake.small.job.is_debugged = is_debugged;
	world = worlds_get(&fake.step.worlds, 0);
}

static void begin(void)
{
	begin_with(false);
}

static void finish(void)
{
	pmi_close();
	for (size_t i = 0; i < EACH; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
	fake_close();
}

static bool join(uint32_t i)
{
	return is_int(pmi_join(&fake.step, world, EACH + i, &ends[i]), 0);
}

static const char *hear(size_t i)
{
	ssize_t n;

	fake_turn();
	n = recv(ends[i], answer, sizeof(answer) - 1, MSG_DONTWAIT);
	answer[n > 0 ? n : 0] = '\0';
	return n ? answer : "end";
}

static const char *ask(size_t i, const char *line)
{
	is_int(send(ends[i], line, strlen(line), MSG_NOSIGNAL), strlen(line));
	return hear(i);
}

TAP_TEST(pmi_join__ends_of_the_socket)
{
	begin();
	must(join(0));
	ok(fcntl(ends[0], F_GETFD) & FD_CLOEXEC);
	/* MPICH wants its end to block. */
	ok(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
	is_str(ask(0, BEGIN), BEGUN);
	finish();
}

TAP_TEST(pmi_join__rank_of_another_host)
{
	int none = -1;

	begin();
	is_int(pmi_join(&fake.step, world, 0, &none), -EINVAL);
	is_int(pmi_join(&fake.step, world, 2 * EACH, &none), -EINVAL);
	must(join(0));
	is_int(pmi_join(&fake.step, world, EACH, &none), -EINVAL);
	is_int(none, -1);
	finish();
}

TAP_TEST(pmi__what_a_rank_is_told_of_its_world)
{
	begin();
	must(join(0) && join(1));
	is_str(ask(0, BEGIN), BEGUN);
	is_str(ask(1, BEGIN), BEGUN);
	is_str(ask(0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=score_70000_0\n");
	is_str(ask(0, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=8\n");
	is_str(ask(0, "cmd=get kvsname=score_70000_0 key=PMI_process_mapping\n"),
	       "cmd=get_result rc=0 msg=success value=(vector,(0,4,2))\n");
	is_str(ask(1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
	finish();
}

/* More ranks than cores: each has a place. */
TAP_TEST(pmi__universe_is_no_smaller_than_the_world)
{
	begin();
	for (size_t i = 0; i < N_HOSTS; i++)
		fake.small.order.hosts[i].n_cores = 1;
	must(join(0));
	is_str(ask(0, BEGIN), BEGUN);
	is_str(ask(0, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=8\n");
	finish();
}

TAP_TEST(pmi__mapping_of_hosts_that_differ)
{
	begin();
	world->hosts[0].ranks = 0;
	world->hosts[3].ranks = 4;
	must(join(0));
	is_str(ask(0, BEGIN), BEGUN);
	is_str(ask(0, "cmd=get kvsname=score_70000_0 key=PMI_process_mapping\n"),
	       "cmd=get_result rc=0 msg=success value=(vector,(0,2,2),(2,1,4))\n");
	finish();
}

TAP_TEST(pmi__ranks_in_and_out_of_mpi)
{
	begin();
	must(join(0) && join(1));
	is_str(ask(1, BEGIN), BEGUN);
	ok(!ranks[0].is_in_mpi && !ranks[0].has_come);
	ok(ranks[1].is_in_mpi && ranks[1].has_come);
	is_str(ask(1, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
	ok(!ranks[1].is_in_mpi);
	ok(ranks[1].has_come);
	finish();
}

TAP_TEST(pmi__barrier_is_a_collective_of_the_world)
{
	begin();
	must(join(0) && join(1));
	is_str(ask(0, BEGIN), BEGUN);
	is_str(ask(1, BEGIN), BEGUN);
	is_str(ask(0, "cmd=put kvsname=score_70000_0 key=a value=b\n"),
	       "cmd=put_result rc=0 msg=success\n");
	is_str(ask(0, "cmd=barrier_in\n"), "");
	is_int(joined.n, 0);
	is_str(ask(1, "cmd=barrier_in\n"), "");
	is_int(joined.n, 1);
	is_str(joined.op, OP_BARRIER);
	is_str(joined.set, "0");
	is_int(joined.size, 4);
	joined.done(0, "far\0away", 9, joined.arg);
	is_str(hear(0), "cmd=barrier_out rc=0\n");
	is_str(hear(1), "cmd=barrier_out rc=0\n");
	is_str(ask(1, "cmd=get kvsname=score_70000_0 key=far\n"),
	       "cmd=get_result rc=0 msg=success value=away\n");
	finish();
}

TAP_TEST(pmi__collective_that_fails)
{
	begin();
	must(join(0) && join(1));
	is_str(ask(0, BEGIN), BEGUN);
	is_str(ask(1, BEGIN), BEGUN);
	joined.rc = -ENOSPC;
	ask(0, "cmd=barrier_in\n");
	ask(1, "cmd=barrier_in\n");
	is_int(fake.code, 1);
	is_str(fake.text, "rank 2 on host: PMI-1: the barrier failed: No space left on device");
	is_int(aborted.n, 0);
	finish();
}

/* MPI_Abort is the rank's own request; a line that makes no sense is its failure. */
TAP_TEST(pmi__abort_and_violation)
{
	begin();
	must(join(0) && join(1));
	is_str(ask(1, BEGIN), BEGUN);
	ask(1, "cmd=abort exitcode=9\n");
	is_int(aborted.n, 1);
	is_int(aborted.world, 0);
	is_int(aborted.rank, EACH + 1);
	is_int(aborted.code, 9);
	is_str(aborted.text, "");
	is_str(fake.text, "");
	is_str(ask(0, "nonsense\n"), "end");
	is_int(aborted.n, 1);
	is_int(fake.code, 1);
	is_str(fake.text, "rank 2 on host: PMI-1: a line that is not cmd=... name=value");
	finish();
}

TAP_TEST(pmi_release__ranks_of_a_debugged_job_wait)
{
	begin_with(true);
	must(join(0) && join(1));
	is_str(ask(0, BEGIN), "");
	ok(!ranks[0].is_in_mpi);
	pmi_release();
	is_str(hear(0), BEGUN);
	ok(ranks[0].is_in_mpi);
	finish();
}

TAP_TEST(pmi_close__ranks_see_the_end)
{
	begin();
	must(join(0));
	is_str(ask(0, BEGIN), BEGUN);
	pmi_close();
	is_str(hear(0), "end");
	/* Anew for the next job. */
	close(ends[0]);
	must(join(0));
	is_str(ask(0, BEGIN), BEGUN);
	finish();
}
