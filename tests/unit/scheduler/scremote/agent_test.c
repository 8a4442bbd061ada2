// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands through an agent: what they get, what they say, how they end, and what is left of them.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scremote/run.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scremote/fake_scout.h"

#define MUCH (3u << 20) /* more than is ever under way */
#define QUIET_MS 300    /* nothing has come for so long: nothing will */

/* One command in an agent of its own. */
static struct scout_end do_line(const char *line, json_t *more)
{
	struct scout scout;
	struct scout_end end;

	scout_open(&scout);
	scout_run(&scout, line, more);
	end = scout_end_of(&scout);
	scout_close(&scout);
	return end;
}

static void is_end(const char *line, json_t *more, int status, const char *out, const char *err)
{
	struct scout_end end = do_line(line, more);

	is_int(end.status, status);
	is_str(end.out[0], out);
	is_str(end.out[1], err);
	scout_free_end(&end);
}

static json_t *one_program(const char *name)
{
	return json_pack("{s:[s]}", "argv", name);
}

TAP_TEST(run__how_it_ends)
{
	is_end("exit 0", NULL, 0, "", "");
	is_end("echo out; echo err >&2; exit 3", NULL, 3 << 8, "out\n", "err\n");
	is_end("kill -TERM $$", NULL, SIGTERM, "", "");
	is_end("ulimit -c 0; kill -SEGV $$", NULL, SIGSEGV, "", "");
}

TAP_TEST(run__what_it_finds)
{
	is_end("pwd", json_pack("{s:s}", "directory", "/usr"), 0, "/usr\n", "");
	is_end("echo $A $PWD", json_pack("{s:s, s:{s:s}}", "directory", "/usr", "env", "A", "b c"),
	       0, "b c /usr\n", "");
	is_end("cat", NULL, 0, "", "");
	is_end("echo a; echo b >&2; echo c", json_pack("{s:b}", "merge_stderr", 1), 0, "a\nb\nc\n",
	       "");
	/* 0 to 2 and what ls opens itself. */
	is_end("ls /proc/self/fd | wc -l", NULL, 0, "4\n", "");
	is_end("test $(cut -d ' ' -f 6 /proc/$$/stat) = $$ && trap", NULL, 0, "", "");
}

static void is_not_started(json_t *more, int code, const char *error, const char *part)
{
	struct scout_end end = do_line("true", more);

	is_int(end.status, code << 8);
	is_str(end.error, error);
	okf(strstr(end.text, part) != NULL, "\"%s\" is not in: %s", part, end.text);
	scout_free_end(&end);
}

TAP_TEST(run__cannot_be_started)
{
	is_not_started(one_program("no-such-program"), 127, "ENOENT", "no-such-program, host h0");
	is_not_started(one_program("/no/such/program"), 127, "ENOENT", "/no/such/program");
	is_not_started(one_program("/etc/passwd"), 126, "EACCES", "chmod");
	is_not_started(one_program(""), 127, "ENOENT", "empty");
	is_not_started(json_pack("{s:s, s:b}", "directory", "/no/such", "is_directory_needed", 1),
		       126, "ENOENT", "/no/such");
	is_not_started(json_pack("{s:[]}", "argv"), 126, "EINVAL", "argv");
	is_not_started(json_pack("{s:s}", "directory", "relative"), 126, "EINVAL", "directory");
	is_not_started(json_pack("{s:{s:s}}", "env", "A=B", "c"), 126, "EINVAL", "A=B");
	/* The home directory instead. */
	is_end("test $PWD -ef $HOME", json_pack("{s:s}", "directory", "/no/such"), 0, "", "");
}

/* ---- bytes ---- */

static char *random_bytes(size_t size)
{
	uint64_t state = tap_seed();
	char *bytes = malloc(size);

	for (size_t i = 0; bytes && i < size; i++)
		bytes[i] = (char)tap_rand(&state);
	return bytes;
}

/* Input as far as there is room, while the output comes back. */
static void feed(struct scout *scout, const char *bytes, size_t size, char *back)
{
	size_t sent = 0, room = LINK_FULL, come = 0;
	bool is_ended = false;
	const char *op = OP_IN_ROOM;

	while (*op && strcmp(op, OP_ENDED) != 0) {
		while (room && sent < size) {
			size_t n = size - sent < room ? size - sent : room;

			n = n < 65536 ? n : 65536;
			scout_say(scout, json_pack("{s:s, s:i}", "op", OP_IN, "id", 1),
				  bytes + sent, n);
			sent += n;
			room -= n;
		}
		if (sent == size && !is_ended) {
			scout_say(scout, json_pack("{s:s, s:i}", "op", OP_IN, "id", 1), NULL, 0);
			is_ended = true;
		}
		op = scout_hear(scout, SCOUT_HEAR_MS);
		if (!strcmp(op, OP_IN_ROOM)) {
			room += (size_t)scout_number(scout, "bytes");
		} else if (!strcmp(op, OP_OUT) && come + scout->body_size <= size) {
			memcpy(back + come, scout->body, scout->body_size);
			come += scout->body_size;
			scout_say(scout,
				  json_pack("{s:s, s:i, s:I}", "op", OP_OUT_ROOM, "id", 1, "bytes",
					    (json_int_t)scout->body_size),
				  NULL, 0);
		}
	}
	is_str(op, OP_ENDED);
	is_int(come, size);
	is_int(room, LINK_FULL);
}

TAP_TEST(run__many_bytes_there_and_back)
{
	char *bytes = random_bytes(MUCH), *back = calloc(1, MUCH);
	struct scout scout;

	must(bytes && back);
	scout_open(&scout);
	scout_run(&scout, "exec cat", json_pack("{s:b}", "stdin", 1));
	feed(&scout, bytes, MUCH, back);
	ok(!memcmp(bytes, back, MUCH));
	scout_close(&scout);
	free(bytes);
	free(back);
}

TAP_TEST(run__nobody_takes_its_output)
{
	struct scout scout;
	size_t come = 0;

	scout_open(&scout);
	scout_run(&scout, "head -c 3145728 /dev/zero", NULL);
	while (come < LINK_FULL && !strcmp(scout_hear(&scout, SCOUT_HEAR_MS), OP_OUT))
		come += scout.body_size;
	is_int(come, LINK_FULL);
	is_str(scout_hear(&scout, QUIET_MS), "");
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_OUT_ROOM, "id", 1, "bytes", 5),
		  NULL, 0);
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_OUT);
	is_int(scout.body_size, 5);
	scout_close(&scout);
}

TAP_TEST(run__nobody_reads_its_input)
{
	static const char bytes[65536];
	struct scout scout;
	struct scout_end end;

	scout_open(&scout);
	scout_run(&scout, "exec <&-; echo ready; read x; exec sleep 1",
		  json_pack("{s:b}", "stdin", 1));
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_OUT);
	scout_say(&scout, json_pack("{s:s, s:i}", "op", OP_IN, "id", 1), bytes, sizeof(bytes));
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_IN_ROOM);
	is_int(scout_number(&scout, "bytes"), sizeof(bytes));
	end = scout_end_of(&scout);
	is_int(end.status, 0);
	scout_free_end(&end);
	scout_close(&scout);
}

/* ---- what is left ---- */

TAP_TEST(run__what_it_leaves_in_the_background_lives_on)
{
	struct scout scout;
	struct scout_end end;
	pid_t left;

	scout_open(&scout);
	scout_run(&scout, "sleep 1000 & echo $!", NULL);
	end = scout_end_of(&scout);
	left = atoi(end.out[0]);
	is_int(end.status, 0);
	must(left > 1);
	scout_close(&scout);
	is_int(kill(left, 0), 0);
	kill(left, SIGKILL);
	ok(is_gone(left));
	scout_free_end(&end);
}

/*
 * Says the number of a process that has made itself independent, and ignores what can be ignored.
 */
#define STUBBORN                                                                                   \
	"trap '' HUP INT TERM; setsid sh -c 'trap \"\" HUP INT TERM; echo $$; sleep 1000' & "      \
	"while :; do sleep 1000; done"

static pid_t run_stubborn(struct scout *scout)
{
	scout_open(scout);
	scout_run(scout, STUBBORN, NULL);
	return scout_pid(scout);
}

TAP_TEST(signal__nothing_is_left_of_what_is_killed)
{
	struct scout scout;
	struct scout_end end;
	pid_t left;

	left = run_stubborn(&scout);
	must(left > 1);
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", 1, "signal", SIGINT),
		  NULL, 0);
	is_str(scout_hear(&scout, QUIET_MS), "");
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", 1, "signal", SIGKILL),
		  NULL, 0);
	end = scout_end_of(&scout);
	is_int(end.status, SIGKILL);
	ok(kill(left, 0) != 0);
	scout_free_end(&end);
	scout_close(&scout);
}

TAP_TEST(signal__to_the_group)
{
	struct scout scout;
	struct scout_end end;

	scout_open(&scout);
	scout_run(&scout, "sleep 1000 & trap 'echo got; exit 4' USR1; echo $!; wait", NULL);
	ok(scout_pid(&scout) > 1);
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", 1, "signal", SIGUSR1),
		  NULL, 0);
	end = scout_end_of(&scout);
	is_int(end.status, 4 << 8);
	is_str(end.out[0], "got\n");
	scout_free_end(&end);
	scout_close(&scout);
}

TAP_TEST(connection__lost)
{
	struct scout scout;
	pid_t left;

	left = run_stubborn(&scout);
	must(left > 1);
	scout_close(&scout);
	ok(is_gone(left));
}

TAP_TEST(agent__killed)
{
	struct scout scout;
	pid_t left;

	left = run_stubborn(&scout);
	must(left > 1);
	kill(scout.agent, SIGKILL);
	scout_close(&scout);
	ok(is_gone(left));
}

TAP_TEST(keeper__killed)
{
	struct scout scout;
	struct scout_end end;
	pid_t keeper;

	scout_open(&scout);
	scout_run(&scout, "echo $PPID; exec sleep 1000", NULL);
	keeper = scout_pid(&scout);
	must(keeper > 1 && keeper != scout.agent);
	kill(keeper, SIGKILL);
	end = scout_end_of(&scout);
	is_int(end.status, SIGKILL);
	is_str(end.error, "ECHILD");
	scout_free_end(&end);
	scout_close(&scout);
}

/* ---- what scout may not say ---- */

static void is_refused(struct scout *scout, json_t *head, const void *body, size_t size)
{
	const char *op;

	scout_say(scout, head, body, size);
	do
		op = scout_hear(scout, SCOUT_HEAR_MS);
	while (!strcmp(op, OP_OUT));
	is_str(op, OP_ERROR);
	is_str(scout_hear(scout, SCOUT_HEAR_MS), "");
	scout_close(scout);
}

TAP_TEST(message__that_ends_the_connection)
{
	static const char bytes[LINK_FULL + 1];
	struct scout scout;

	scout_open(&scout);
	is_refused(&scout, json_pack("{s:s}", "op", "nonsense"), NULL, 0);
	scout_open(&scout);
	is_refused(&scout, json_pack("{s:s}", "op", OP_RUN), NULL, 0);
	scout_open(&scout);
	is_refused(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", 1, "signal", 99),
		   NULL, 0);
	scout_open(&scout);
	scout_run(&scout, "sleep 1000", json_pack("{s:b}", "stdin", 1));
	is_refused(&scout, json_pack("{s:s, s:i}", "op", OP_IN, "id", 1), bytes, sizeof(bytes));
	scout_open(&scout);
	scout_run(&scout, "sleep 1000", NULL);
	is_refused(&scout, json_pack("{s:s, s:i, s:[s]}", "op", OP_RUN, "id", 1, "argv", "true"),
		   NULL, 0);
}

TAP_TEST(message__about_what_has_ended)
{
	struct scout scout;

	scout_open(&scout);
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", 9, "signal", 9), NULL,
		  0);
	scout_say(&scout, json_pack("{s:s, s:i}", "op", OP_IN, "id", 9), "x", 1);
	scout_say(&scout, json_pack("{s:s, s:i, s:i}", "op", OP_OUT_ROOM, "id", 9, "bytes", 1),
		  NULL, 0);
	scout_say(&scout, json_pack("{s:s, s:i}", "op", OP_PING, "id", 7), NULL, 0);
	is_str(scout_hear(&scout, SCOUT_HEAR_MS), OP_PONG);
	is_int(scout_number(&scout, "id"), 7);
	scout_close(&scout);
}

TAP_TEST(run__several_at_once)
{
	struct scout scout;
	const char *op;
	int n_ended = 0;

	scout_open(&scout);
	for (int i = 1; i <= 3; i++)
		scout_say(&scout,
			  json_pack("{s:s, s:i, s:[s, s]}", "op", OP_RUN, "id", i, "argv", "sleep",
				    "1000"),
			  NULL, 0);
	for (int i = 1; i <= 3; i++)
		scout_say(&scout,
			  json_pack("{s:s, s:i, s:i}", "op", OP_SIGNAL, "id", i, "signal", SIGTERM),
			  NULL, 0);
	while (n_ended < 3 && *(op = scout_hear(&scout, SCOUT_HEAR_MS)))
		n_ended += !strcmp(op, OP_ENDED) && scout_number(&scout, "status") == SIGTERM;
	is_int(n_ended, 3);
	scout_close(&scout);
}
