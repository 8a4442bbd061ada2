// SPDX-License-Identifier: BSD-3-Clause
/*
 * ranks: real processes of /bin/sh, without PMIx around them.
 */
#include "scheduler/scstepd/ranks.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/input.h"
#include "scheduler/scstepd/output.h"
#include "scheduler/scstepd/pmi.h"
#include "scheduler/scstepd/rankenv.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static char *argv[] = {(char *)"sh", (char *)"-c", NULL, NULL};
static char slash[] = "/";
static struct world *world;
static int64_t culprit;
static char why[1024];

int bind_mask(const struct bind *bind, uint32_t slot, unsigned long **ret)
{
	*ret = NULL;
	return 0;
}

int pmi_join(struct step *step, struct world *its_world, uint32_t rank, int *ret)
{
	*ret = -1;
	return 0;
}

int rankenv_app(const struct step *step, const struct world *its_world, const struct job_app *app,
		struct env *ret)
{
	env_put(ret, "PATH=/bin:/usr/bin");
	return ret->is_broken ? -ENOMEM : 0;
}

int rankenv_rank(const struct step *step, const struct world *its_world, uint32_t number, int pmi,
		 const struct env *common, struct env *ret)
{
	env_put_all(ret, common->v);
	env_putf(ret, "RANK=%u", number);
	return ret->is_broken ? -ENOMEM : 0;
}

/* Two ranks of "sh -c @script" in @cwd. */
static int start(const char *program, const char *script, char *cwd)
{
	fake_open(1, 2);
	signal(SIGPIPE, SIG_IGN);
	argv[0] = (char *)(uintptr_t)program;
	argv[2] = (char *)(uintptr_t)script;
	for (size_t i = 0; i < 2; i++)
		fake.small.apps[i].argv = argv;
	fake.small.job.cwd = cwd;
	fake.small.job.umask = 022;
	fake.small.job.stdin_rank = JOB_STDIN_NONE;
	fake.step.output = output_open(&fake.step);
	fake.step.input = input_open(&fake.step);
	fake.step.ranks = ranks_open(&fake.step);
	world = worlds_get(&fake.step.worlds, 0);
	culprit = -1;
	return ranks_start(fake.step.ranks, world, &culprit, why, sizeof(why));
}

/* Until @n ranks are over. */
static void wait_for(unsigned int n)
{
	while (fake.n_over < n && !tap_has_failed())
		ev_run(fake.step.loop, EVRUN_ONCE);
}

static void finish(void)
{
	ranks_signal(fake.step.ranks, SIGKILL);
	while (ranks_alive(fake.step.ranks))
		ev_run(fake.step.loop, EVRUN_ONCE);
	output_close(fake.step.output);
	input_close(fake.step.input);
	ranks_close(fake.step.ranks);
	fake_close();
}

static bool has_said(const char *text)
{
	for (const struct sent *sent = fake.first; sent; sent = sent->next)
		if (!strcmp(sent->body, text))
			return true;
	return false;
}

/* PMIx's server would not take all of them in. */
TAP_TEST(ranks_start__more_than_there_are_descriptors_for)
{
	struct rlimit usual, few;

	must(!getrlimit(RLIMIT_NOFILE, &usual));
	few = (struct rlimit){56, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	is_int(start("sh", "sleep 9", slash), STEP_CODE_START);
	setrlimit(RLIMIT_NOFILE, &usual);
	is_int(ranks_count(fake.step.ranks), 0);
	okf(strstr(why, "2 ranks there need 52 descriptors, and scstepd has 49") &&
		    strstr(why, "LimitNOFILE="),
	    "%s", why);
	finish();
}

TAP_TEST(ranks__from_start_to_end)
{
	if (is_int(start("sh", "echo rank $RANK in $PWD; exit $((RANK + 3))", slash), 0)) {
		is_int(ranks_count(fake.step.ranks), 2);
		is_int(ranks_alive(fake.step.ranks), 2);
		ok(ranks_get(fake.step.ranks, world, 1) == ranks_at(fake.step.ranks, 1));
		ok(!ranks_get(fake.step.ranks, world, 2));
		ranks_go(fake.step.ranks, world);
		wait_for(2);
		is_int(ranks_alive(fake.step.ranks), 0);
		for (uint32_t i = 0; i < 2; i++) {
			const struct rank *rank = ranks_at(fake.step.ranks, i);

			ok(WIFEXITED(rank->status));
			is_int(WEXITSTATUS(rank->status), i + 3);
			is_int(rank->code, 0);
			okf(rank->max_rss > 65536, "%llu bytes", (unsigned long long)rank->max_rss);
		}
		ok(has_said("rank 0 in /\n") && has_said("rank 1 in /\n"));
	}
	finish();
}

/*
 * A rank that fails after the kernel has ended something of the job for its memory tells that,
 * another does not.
 */
TAP_TEST(ranks__one_that_wanted_too_much_memory)
{
	static char text[] = "too much";
	char file[] = "/tmp/ranks-kills-XXXXXX";
	int fd = mkstemp(file);

	must(fd >= 0);
	if (is_int(start("sh", "[ $RANK = 0 ] || kill -9 $$", slash), 0)) {
		is_int(write(fd, "oom_kill 1\n", 11), 11);
		fake.step.memory_kills = file;
		fake.step.memory_text = text;
		ranks_go(fake.step.ranks, world);
		wait_for(2);
		is_int(ranks_at(fake.step.ranks, 0)->code, 0);
		is_int(ranks_at(fake.step.ranks, 1)->code, STEP_CODE_MEMORY);
		is_str(ranks_at(fake.step.ranks, 1)->why, text);
		fake.step.memory_kills = fake.step.memory_text = NULL;
	}
	finish();
	close(fd);
	unlink(file);
}

TAP_TEST(ranks_go__they_wait_for_it)
{
	if (is_int(start("sh", "exit 0", slash), 0)) {
		fake_turn();
		is_int(ranks_alive(fake.step.ranks), 2);
		is_int(fake.n_running, 0);
		ranks_signal(fake.step.ranks, SIGKILL);
		wait_for(2);
		ok(WIFSIGNALED(ranks_at(fake.step.ranks, 0)->status));
		/* Dead ranks need no start signal: ranks_go() reports no error. */
		ranks_go(fake.step.ranks, world);
		is_int(fake.code, 0);
	}
	finish();
}

TAP_TEST(ranks_go__told_when_all_execute)
{
	if (is_int(start("sh", "exec sleep 60", slash), 0)) {
		ranks_go(fake.step.ranks, world);
		while (!fake.n_running)
			ev_run(fake.step.loop, EVRUN_ONCE);
		is_int(fake.n_running, 1);
		is_int(ranks_alive(fake.step.ranks), 2);
		ranks_signal(fake.step.ranks, SIGTERM);
		wait_for(2);
		is_int(fake.n_running, 1);
		is_int(WTERMSIG(ranks_at(fake.step.ranks, 1)->status), SIGTERM);
	}
	finish();
}

TAP_TEST(ranks_start__no_such_program)
{
	is_int(start("no-such-program", "", slash), 127);
	is_int(culprit, 0);
	okf(strstr(why, "no-such-program, host host: "), "%s", why);
	is_int(ranks_count(fake.step.ranks), 0);
	finish();
}

TAP_TEST(ranks_go__a_directory_that_is_not_there)
{
	static char nowhere[] = "/no/such/directory";

	if (is_int(start("/bin/sh", "exit 0", nowhere), 0)) {
		const struct rank *rank = ranks_at(fake.step.ranks, 0);

		ranks_go(fake.step.ranks, world);
		wait_for(2);
		is_int(rank->code, STEP_CODE_START);
		okf(rank->why && strstr(rank->why, "/no/such/directory, host host: "), "%s",
		    rank->why ? rank->why : "nothing");
		is_int(fake.n_running, 0);
	}
	finish();
}

TAP_TEST(ranks__a_rank_outlived_by_what_it_started)
{
	if (is_int(start("sh", "[ $RANK = 1 ] || sleep 60 & exit 0", slash), 0)) {
		ranks_go(fake.step.ranks, world);
		wait_for(2);
		is_int(ranks_alive(fake.step.ranks), 0);
		kill(-ranks_at(fake.step.ranks, 0)->pid, SIGKILL);
	}
	finish();
}
