// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scnoded/holdings/surveyed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

struct surveyed surveyed;

char *surveyed_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", surveyed.directory, name);
	return path;
}

/* It has neither the output of the test nor its descriptors. */
static _Noreturn void be_the_job(deed deed)
{
	int null = open("/dev/null", O_RDWR);
	char result;

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(3, REPORT_FD - 1, 0);
	close_range(KEPT_FD + 1, ~0u, 0);
	result = !deed || deed() ? 'y' : (char)errno;
	if (write(REPORT_FD, &result, 1) != 1)
		_exit(1);
	close(REPORT_FD);
	for (;;)
		pause();
}

/* Whether it could do its deed; the reason of the skip is told. */
bool surveyed_start(deed deed)
{
	int report[2];
	char result = 0, rest;

	if (geteuid()) {
		tap_skip("needs root, as scnoded does");
		return false;
	}
	snprintf(surveyed.directory, sizeof(surveyed.directory), "/tmp/survey_test.%d", getpid());
	mkdir(surveyed.directory, 0700);
	if (!ok(!pipe(report)))
		return false;
	surveyed.root = fork();
	if (!surveyed.root) {
		dup2(report[1], REPORT_FD);
		be_the_job(deed);
	}
	close(report[1]);
	ok(read(report[0], &result, 1) == 1);
	/* The end comes when its last process has closed the pipe. */
	ok(read(report[0], &rest, 1) == 0);
	close(report[0]);
	if (result != 'y')
		tap_skip("this machine does not allow that: %s", strerror(result));
	return result == 'y';
}

void surveyed_end(void)
{
	char command[96];

	if (surveyed.root > 1) {
		/* Its children are in its session and in its group. */
		kill(-surveyed.root, SIGKILL);
		kill(surveyed.root, SIGKILL);
		waitpid(surveyed.root, NULL, 0);
		snprintf(command, sizeof(command), "rm -rf %s", surveyed.directory);
		ok(!system(command));
	}
	surveyed.root = 0;
	holdings_free(&surveyed.h);
}

int surveyed_look(const struct survey_order *order)
{
	holdings_free(&surveyed.h);
	return survey_job(order, &surveyed.h);
}

void surveyed_judge(void)
{
	struct restorable_terms terms = {
		.job = 7, .host = "here", .ghost_bytes = RESTORABLE_GHOST_BYTES};
	struct survey_rank rank = {.pid = surveyed.root, .rank = RANK};
	struct survey_order order = {
		.root = surveyed.root, .ranks = &rank, .n_ranks = 1, .limit_ms = LIMIT_MS};
	struct refusals refusals = {.n = 0};
	size_t n = 0;

	is_int(surveyed_look(&order), 0);
	restorable_judge(&surveyed.h, &terms, &refusals);
	*surveyed.text = 0;
	for (size_t i = 0; i < refusals.n && n < sizeof(surveyed.text); i++)
		n += (size_t)snprintf(surveyed.text + n, sizeof(surveyed.text) - n, "%s\n",
				      refusals.lines[i]);
	is_int(refusals.n_more, 0);
	refusals_free(&refusals);
}

/* All that is refused is one thing of the rank, and this begins its clause. */
void surveyed_expect(const char *file, int line, deed deed, const char *clause)
{
	char want[512];
	size_t size;

	if (surveyed_start(deed)) {
		surveyed_judge();
		size = (size_t)snprintf(want, sizeof(want),
					"job 7: rank %d on here (process %d) %s", RANK,
					surveyed.root, clause);
		surveyed.text[size < sizeof(surveyed.text) ? size : 0] = 0;
		tap_is_str(file, line, "sentence", surveyed.text, want);
	}
	surveyed_end();
}

void surveyed_nothing(const char *file, int line, deed deed)
{
	if (surveyed_start(deed)) {
		surveyed_judge();
		tap_is_str(file, line, "sentences", surveyed.text, "");
	}
	surveyed_end();
}
