// SPDX-License-Identifier: BSD-3-Clause
/* options: each form against its GNU form, what is refused, and what the refusal says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scrun/options.h"
#include "tests/harness/tap.h"

#define WORDS_MAX 32

/* A command line, parted by blanks, in memory that may be written. */
struct line {
	char text[512];
	char *argv[WORDS_MAX];
	int argc;
	struct options options;
	char why[512];
	int err;
};

static void read_line(struct line *line, const char *text)
{
	char *at = line->text;

	memset(line, 0, sizeof(*line));
	strcpy(line->text, text);
	while ((line->argv[line->argc] = strsep(&at, " ")))
		line->argc++;
	line->err =
		options_read(&line->options, line->argc, line->argv, line->why, sizeof(line->why));
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool are_same(const struct options *a, const struct options *b)
{
	return a->n_apps == b->n_apps && a->apps[0].ranks == b->apps[0].ranks &&
	       a->nodes == b->nodes && a->per_node == b->per_node && is_same(a->group, b->group) &&
	       is_same(a->hosts, b->hosts) && is_same(a->network, b->network) &&
	       a->has_default_collectives == b->has_default_collectives && a->class == b->class &&
	       a->bind == b->bind && a->cores == b->cores && a->memory == b->memory &&
	       a->priority == b->priority && a->timeout_s == b->timeout_s &&
	       a->stdin_rank == b->stdin_rank && is_same(a->stdin_file, b->stdin_file) &&
	       is_same(a->output, b->output) && a->pty_rank == b->pty_rank &&
	       a->is_labelled == b->is_labelled && a->is_merged == b->is_merged &&
	       a->is_statistics == b->is_statistics && a->wants_checkpoint == b->wants_checkpoint &&
	       a->is_quiet == b->is_quiet && is_same(a->server, b->server) &&
	       is_same(a->apps[0].cwd, b->apps[0].cwd) && a->apps[0].env.n == b->apps[0].env.n &&
	       a->apps[0].env_files.n == b->apps[0].env_files.n && a->is_json == b->is_json;
}

TAP_TEST(options_read__each_form_equals_its_gnu_form)
{
	static const char *const pairs[][2] = {
		{"scrun -nodes=4x2 a", "scrun --nodes 4 --per-node 2 a"},
		{"scrun -nodes=4 a", "scrun --nodes=4 a"},
		{"scrun -nodes=4,env-file=f,dry-run,json a",
		 "scrun --nodes 4 --env-file f --dry-run --json a"},
		{"scrun -nodes=4x2,network=udp a", "scrun --nodes=4x2 --network udp a"},
		{"scrun -nodes=2,group=pcc,statistics a",
		 "scrun --nodes 2 --group pcc --statistics a"},
		{"scrun -nodes=4x2,checkpoint a", "scrun --nodes=4x2 --checkpoint a"},
		{"scrun -checkpoint a", "scrun --checkpoint a"},
		{"scrun -hosts=n[1-3,7],statistics a", "scrun --hosts n[1-3,7] --statistics a"},
		{"scrun -class=exclusive,priority=-5 a", "scrun --class exclusive --priority -5 a"},
		{"scrun -timeout=15m a", "scrun --timeout 900 a"},
		{"scrun -timeout=1.5h a", "scrun --timeout 5400s a"},
		{"scrun -n 4 a", "scrun --ranks 4 a"},
		{"scrun -np 4 a", "scrun --ranks=4 a"},
		{"scrun -x A=1 a", "scrun --env A=1 a"},
		{"scrun -q a", "scrun --quiet a"},
		{"scrun -stdin=all,label a", "scrun --stdin all --label a"},
		{"scrun --label --no-label a", "scrun a"},
		{"scrun -pty a", "scrun --pty=0 a"},
		{"scrun -pty=3 a", "scrun --pty=3 a"},
		{"scrun --nodes 2x3 --per-node 1 a", "scrun --nodes 2 --per-node 1 a"},
		{"scrun -bind=none,cores=4 a", "scrun --bind none --cores 4 a"},
		{"scrun -nodes=2x2,memory=1.5G a", "scrun --nodes 2x2 --memory 1536M a"},
		{"scrun -memory=2048K a", "scrun --memory 2097152 a"},
		{"scrun -collectives=default a", "scrun --collectives default a"},
		{"scrun -- a", "scrun a"},
	};
	struct line left, right;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		read_line(&left, pairs[i][0]);
		read_line(&right, pairs[i][1]);
		okf(!left.err, "%s: %s", pairs[i][0], left.why);
		okf(!right.err, "%s: %s", pairs[i][1], right.why);
		if (!left.err && !right.err)
			okf(are_same(&left.options, &right.options), "%s", pairs[i][0]);
		options_fini(&left.options);
		options_fini(&right.options);
	}
}

TAP_TEST(options_read__refusal_names_thing_and_remedy)
{
	static const char *const table[][2] = {
		{"scrun",
		 "program 1: it is missing; write one after the options, scrun --help tells how"},
		{"scrun --nods 4 a", "--nods: there is no such option; did you mean --nodes?"},
		{"scrun --timeuot=4 a",
		 "--timeuot: there is no such option; did you mean --timeout?"},
		{"scrun -nods=4 a", "-nods: there is no such option; did you mean -nodes?"},
		{"scrun -nodes=2,netwrok=udp a",
		 "-netwrok: there is no such option; did you mean -network?"},
		{"scrun --wombat a", "--wombat: there is no such option; scrun --help lists them"},
		{"scrun --nodes 0 a", "--nodes 0: wanted is HOSTS or HOSTSxRANKS, as 4 or 4x2"},
		{"scrun --nodes 4x a", "--nodes 4x: wanted is HOSTS or HOSTSxRANKS, as 4 or 4x2"},
		{"scrun --nodes 4x2x1 a",
		 "--nodes 4x2x1: wanted is HOSTS or HOSTSxRANKS, as 4 or 4x2"},
		{"scrun -nodes a",
		 "-nodes: its value is missing; wanted is HOSTS or HOSTSxRANKS, as 4 or 4x2"},
		{"scrun -n 0 a", "-n 0: wanted is a number from 1 to 1000000"},
		{"scrun -n 1e3 a", "-n 1e3: wanted is a number from 1 to 1000000"},
		{"scrun -n 99999999999999999999 a",
		 "-n 99999999999999999999: wanted is a number from 1 to 1000000"},
		{"scrun -n", "-n: its value is missing; wanted is a number from 1 to 1000000"},
		{"scrun --memory 1023K a",
		 "--memory 1023K: wanted is memory of each rank, 1M to 1024T, as 512M or 1.5G"},
		{"scrun --memory 1025T a",
		 "--memory 1025T: wanted is memory of each rank, 1M to 1024T, as 512M or 1.5G"},
		{"scrun --memory 64MB a",
		 "--memory 64MB: wanted is memory of each rank, 1M to 1024T, as 512M or 1.5G"},
		{"scrun --memory -1G a",
		 "--memory -1G: wanted is memory of each rank, 1M to 1024T, as 512M or 1.5G"},
		{"scrun --timeout 0 a",
		 "--timeout 0: wanted is a time above 0, as 90, 1.5s, 15m, 2h, 1d"},
		{"scrun --timeout 5w a",
		 "--timeout 5w: wanted is a time above 0, as 90, 1.5s, 15m, 2h, 1d"},
		{"scrun --class fast a", "--class fast: wanted is \"shared\" or \"exclusive\""},
		{"scrun --label=yes a", "--label=yes: it takes no value"},
		{"scrun --group a --hosts b a",
		 "--group and --hosts: both say where; leave one out"},
		{"scrun --nodes 2x2 -n 5 a",
		 "-n 5: 2 hosts with 2 ranks each hold 4; ask for more hosts, or fewer ranks"},
		{"scrun --nodes 4 -n 2 a", "--nodes 4: 2 ranks are too few for so many hosts; ask "
					   "for no more hosts than ranks"},
		{"scrun --nodes 1000000x1000000 a",
		 "ranks: 1000000000000 are more than the 1000000 that a job may have"},
		{"scrun a :", "program 2: it is missing; write one after the \":\""},
		{"scrun a : : b", "program 2: it is missing; write one after the \":\""},
		{"scrun a : --nodes 2 b",
		 "--nodes: it is for the whole job; put it before the first program"},
		{"scrun --pty --label a", "--pty: what a terminal shows is no lines; leave out "
					  "--label, --merge and --output"},
		{"scrun --env =x a", "--env =x: wanted is NAME or NAME=VALUE"},
		{"scrun --group= a", "--group : wanted is a group of the cluster"},
		{"scrun --restart 7 a",
		 "--restart: the job has its program already; leave out \"a\""},
		{"scrun --restart 7 :",
		 "--restart: the job has its program already; leave out \":\""},
		{"scrun -restart", "-restart: its value is missing; wanted is the number of a job, "
				   "and maybe of a checkpoint, as 7 or 7@3; or \"auto\""},
	};
	struct line line;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		read_line(&line, table[i][0]);
		okf(line.err, "%s: taken", table[i][0]);
		is_str(line.why, table[i][1]);
		options_fini(&line.options);
	}
}

TAP_TEST(options_read__programs_have_their_own)
{
	struct line line;

	read_line(&line, "scrun --nodes 2 -n 3 -x A=1 m -n 5 --label : -n 2 -x B --cwd /x w : e");
	must(!line.err);
	is_int(line.options.n_apps, 3);
	is_int(line.options.apps[0].ranks, 3);
	is_str(line.options.apps[0].argv[0], "m");
	is_str(line.options.apps[0].argv[1], "-n");
	is_str(line.options.apps[0].argv[3], "--label");
	ok(!line.options.apps[0].argv[4]);
	ok(!line.options.is_labelled);
	is_int(line.options.apps[1].ranks, 2);
	is_str(line.options.apps[1].env.v[0], "B");
	is_str(line.options.apps[1].cwd, "/x");
	is_str(line.options.apps[2].argv[0], "e");
	is_int(line.options.apps[2].ranks, 0);
	options_fini(&line.options);
}

TAP_TEST(options_read__stdin_names_rank_or_file)
{
	struct line line;

	read_line(&line, "scrun --stdin 3 a");
	is_int(line.options.stdin_rank, 3);
	options_fini(&line.options);
	read_line(&line, "scrun --stdin none a");
	is_int(line.options.stdin_rank, JOB_STDIN_NONE);
	options_fini(&line.options);
	read_line(&line, "scrun --stdin ./3 a");
	is_int(line.options.stdin_rank, 0);
	is_str(line.options.stdin_file, "./3");
	options_fini(&line.options);
}

TAP_TEST(options_read__help_needs_no_program)
{
	struct line line;

	read_line(&line, "scrun --help");
	ok(!line.err && line.options.wants_help);
	options_fini(&line.options);
	read_line(&line, "scrun -V");
	ok(!line.err && line.options.wants_version);
	options_fini(&line.options);
}

TAP_TEST(options_read__map_is_a_grid_or_any)
{
	struct line line;

	read_line(&line, "scrun -map cart=8x8x4 a");
	is_int(line.err, 0);
	is_int(line.options.n_cart, 3);
	is_int(line.options.cart[0], 8);
	is_int(line.options.cart[2], 4);
	ok(!line.options.may_scatter);
	options_fini(&line.options);
	read_line(&line, "scrun -nodes=4x2,map=any a");
	is_int(line.err, 0);
	ok(line.options.may_scatter);
	options_fini(&line.options);
	read_line(&line, "scrun --map cart=8x0 a");
	is_int(line.err, -EINVAL);
	options_fini(&line.options);
	read_line(&line, "scrun --map cart=2x2x a");
	is_int(line.err, -EINVAL);
	options_fini(&line.options);
	read_line(&line, "scrun --map cart=1x1x1x1x1x1x1 a");
	is_int(line.err, -EINVAL);
	options_fini(&line.options);
}

TAP_TEST(options_read__restart_names_job_and_checkpoint)
{
	static const struct {
		const char *text;
		uint64_t id, round;
	} all[] = {{"scrun --restart 7", 7, 0},
		   {"scrun -restart 7@3", 7, 3},
		   {"scrun --restart=9223372036854775807@1", INT64_MAX, 1},
		   {"scrun --restart 7@9223372036854775807", 7, INT64_MAX},
		   {"scrun --restart 7 --quiet --label --stdin none --server h:1", 7, 0},
		   {"scrun --statistics --output f --restart 7 --munge-socket /s", 7, 0}};
	struct line line;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		read_line(&line, all[i].text);
		okf(!line.err, "%s: %s", all[i].text, line.why);
		is_int(line.options.restart_id, all[i].id);
		is_int(line.options.restart_round, all[i].round);
		options_fini(&line.options);
	}
	read_line(&line, "scrun a");
	is_int(line.options.restart_id, 0);
	options_fini(&line.options);
}

TAP_TEST(options_read__restart_of_nonsense)
{
	static const char *const all[] = {"0",
					  "-7",
					  "7@",
					  "7@0",
					  "7@-1",
					  "@3",
					  "@",
					  "7@3@",
					  "7x",
					  "7@3x",
					  "7.5",
					  "9223372036854775808",
					  "7@9223372036854775808",
					  "00000000000000000000000000000000000000000000007"};
	struct line line;
	char text[128], want[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(text, sizeof(text), "scrun --restart %s", all[i]);
		snprintf(want, sizeof(want),
			 "--restart %s: wanted is the number of a job, and maybe of a checkpoint, "
			 "as 7 or 7@3; or \"auto\"",
			 all[i]);
		read_line(&line, text);
		okf(line.err, "%s: taken", text);
		is_str(line.why, want);
		is_int(line.options.restart_id, 0);
		options_fini(&line.options);
	}
}

TAP_TEST(options_read__restart_keeps_what_the_job_has)
{
	static const char *const all[] = {"--nodes 2",
					  "--per-node 2",
					  "-n 4",
					  "--memory 1G",
					  "--timeout 9",
					  "--bind none",
					  "--class exclusive",
					  "--cores 2",
					  "--priority 5",
					  "-x A=1",
					  "--cwd /x",
					  "--name x",
					  "--pty",
					  "--no-env A",
					  "--checkpoint",
					  "--dry-run",
					  "--env-file /dev/null",
					  "--map cart=2x2"};
	struct line line;
	char text[128];

	for (size_t i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
		snprintf(text, sizeof(text),
			 i % 2 ? "scrun --restart 7 %s" : "scrun %s --restart 7", all[i / 2]);
		read_line(&line, text);
		okf(line.err, "%s: taken", text);
		okf(strstr(line.why, "--restart: the job keeps its ranks and environment") ==
			    line.why,
		    "%s: %s", text, line.why);
		options_fini(&line.options);
	}
}

TAP_TEST(options_read__restart_elsewhere)
{
	struct line line;

	read_line(&line, "scrun --restart 7 --hosts n[1-2] --network self+udp");
	okf(!line.err, "%s", line.why);
	is_str(line.options.hosts, "n[1-2]");
	is_str(line.options.network, "self+udp");
	options_fini(&line.options);
	read_line(&line, "scrun --group a --restart 7");
	okf(!line.err, "%s", line.why);
	is_str(line.options.group, "a");
	options_fini(&line.options);
	read_line(&line, "scrun --group a --hosts b --restart 7");
	okf(line.err, "both are taken");
	options_fini(&line.options);
}

TAP_TEST(options_read__checkpoints_by_themselves)
{
	struct line line;

	read_line(&line, "scrun --checkpoint=30m --restart auto a");
	okf(!line.err, "%s", line.why);
	ok(line.options.wants_checkpoint && line.options.restarts && !line.options.restart_id);
	ok(line.options.checkpoint_s == 1800);
	options_fini(&line.options);
	/* The next word is the program. */
	read_line(&line, "scrun --checkpoint 30");
	okf(!line.err, "%s", line.why);
	ok(line.options.wants_checkpoint && line.options.checkpoint_s == 0);
	is_str(line.options.apps[0].argv[0], "30");
	options_fini(&line.options);
	read_line(&line, "scrun --restart=auto a");
	ok(!line.err && line.options.wants_checkpoint && line.options.restarts);
	options_fini(&line.options);
	read_line(&line, "scrun --checkpoint=0 a");
	is_str(line.why, "--checkpoint 0: wanted is a time above 0 between two checkpoints, as 90, "
			 "30m, 2h");
	options_fini(&line.options);
	read_line(&line, "scrun --restart auto --pty a");
	okf(strstr(line.why, "--pty and --restart auto: "), "%s", line.why);
	options_fini(&line.options);
}
