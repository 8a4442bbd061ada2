// SPDX-License-Identifier: BSD-3-Clause
/*
 * store, killed at each of its system calls in turn: what is committed is whole, and what is not
 * goes when scnoded starts again.
 */
#include "scheduler/scnoded/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/store/stored.h"

#define CALLS_MAX 2000 /* more than any of these children makes */

enum outcome { KILLED, ENDED, UNTRACED };

/* Ends the child before its system call number @n, or lets it end. */
static enum outcome run_until(void (*work)(void), unsigned int n)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		work();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return UNTRACED;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	/* Each call stops twice, before and after it. */
	for (unsigned int stops = 0; stops < 2 * n + 1; stops++) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
			is_int(status, 0);
			return ENDED;
		}
	}
	kill(pid, SIGKILL);
	is_int(waitpid(pid, &status, 0), pid);
	return KILLED;
}

static bool is_whole(uint64_t round)
{
	struct store_place place = stored_place(round, 0);
	struct hostfile h;
	char *text = store_verify(&place, &h);

	if (!text)
		hostfile_fini(&h);
	free(text);
	return !text;
}

/* How many of the rounds 1 and 2 are kept; none of them may be a part. */
static int count_whole(unsigned int n)
{
	int whole = 0;

	for (uint64_t round = 1; round <= 2; round++) {
		if (!stored_has(round == 1 ? "7/1/0" : "7/2/0"))
			continue;
		whole++;
		okf(is_whole(round), "round %llu after %u calls", (unsigned long long)round, n);
	}
	return whole;
}

/* The directory has @name and nothing else. */
static void has_only(const char *directory, const char *const *names, unsigned int n)
{
	DIR *dir = opendir(stored_path(directory));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *const *name = names;

		while (*name && strcmp(entry->d_name, *name))
			name++;
		okf(entry->d_name[0] == '.' || *name, "%s/%s is left after %u calls", directory,
		    entry->d_name, n);
	}
	if (dir)
		closedir(dir);
}

static void check_clean(unsigned int n)
{
	static const char *const job[] = {"7", NULL}, *const rounds[] = {"1", "2", NULL},
				 *const index[] = {"0", NULL};

	store_clean(stored, "h0");
	has_only("", job, n);
	has_only("7", rounds, n);
	has_only("7/1", index, n);
	has_only("7/2", index, n);
}

static uint64_t keep;

static void take_second(void)
{
	struct store_place place = stored_place(2, 0);

	if (stored_seal(&place, "h0") || store_commit(&place, keep))
		_exit(1);
}

static void check_second(unsigned int n)
{
	struct store_place first = stored_place(1, 0), second = stored_place(2, 0);
	int whole = count_whole(n);

	okf(whole > 0, "no round is left after %u calls", n);
	check_clean(n);
	is_int(count_whole(n), whole);
	if (!stored_has("7/2/0"))
		FINE(stored_seal(&second, "h0"));
	FINE(store_commit(&second, keep));
	ok(is_whole(2));
	ok(stored_has("7/1") == (keep == first.round));
}

static void remove_all(void)
{
	if (store_remove(stored, JOB, "h0"))
		_exit(1);
}

static void check_removal(unsigned int n)
{
	count_whole(n);
	check_clean(n);
	count_whole(n);
	FINE(store_remove(stored, JOB, "h0"));
	ok(!stored_has("7"));
}

static void keep_first(void)
{
	struct store_place place = stored_place(1, 0);

	stored_commit(&place, "h0", 0);
}

static void keep_both(void)
{
	struct store_place place = stored_place(2, 0);

	keep_first();
	stored_commit(&place, "h0", 0);
}

/* With a writer that is the newest file, and so the first that a tmpfs lists. */
static void begin_second(void)
{
	struct store_place place = stored_place(2, 0);

	keep_first();
	FINE(store_begin(&place, "h0", 1));
	ok(stored_dump(&place));
	ok(!unlink(stored_path("7/2.new/0/writer")));
	stored_write("7/2.new/0/writer", "h0");
}

static void abandon_second(void)
{
	struct store_place place = stored_place(2, 0);

	if (store_abandon(&place))
		_exit(1);
}

static void check_abandoned(unsigned int n)
{
	check_clean(n);
	is_int(count_whole(n), 1);
}

/* @prepare makes what is there before @work. */
static void try_all(void (*prepare)(void), void (*work)(void), void (*check)(unsigned int n))
{
	enum outcome outcome = KILLED;
	unsigned int n;

	for (n = 0; n < CALLS_MAX && outcome == KILLED && !tap_has_failed(); n++) {
		stored_begin();
		prepare();
		outcome = run_until(work, n);
		if (outcome == UNTRACED)
			tap_skip("no right to trace");
		else
			check(n);
		stored_end();
	}
	ok(outcome != KILLED && (outcome == UNTRACED || n > 20));
}

TAP_TEST(store_commit__killed_at_each_call)
{
	keep = 1;
	try_all(keep_first, take_second, check_second);
}

TAP_TEST(store_commit__killed_while_it_drops_an_older_round)
{
	keep = 2;
	try_all(keep_first, take_second, check_second);
}

TAP_TEST(store_abandon__killed_at_each_call)
{
	const char *in = stored_in;

	if (!access("/dev/shm", W_OK))
		stored_in = "/dev/shm";
	try_all(begin_second, abandon_second, check_abandoned);
	stored_in = in;
}

TAP_TEST(store_remove__killed_at_each_call)
{
	try_all(keep_both, remove_all, check_removal);
}
