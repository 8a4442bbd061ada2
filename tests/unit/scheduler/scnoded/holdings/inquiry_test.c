// SPDX-License-Identifier: BSD-3-Clause
/* inquiry: real processes, and what the child of a real look says of them. */
#include "scheduler/scnoded/holdings/inquiry.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/inquired.h"
#include "tests/unit/scheduler/scnoded/holdings/surveyed.h"

static void inquire(void)
{
	struct survey_rank rank = {.pid = surveyed.root, .rank = RANK};
	struct survey_order order = {.root = surveyed.root, .ranks = &rank, .n_ranks = 1};

	inquired_start(&order);
}

TAP_TEST(inquiry_start__nothing_in_the_way)
{
	if (surveyed_start(NULL)) {
		inquire();
		inquired_wait();
		is_str(inquired.text, "");
		ok(inquired.is_clear);
	}
	surveyed_end();
}

static bool open_udp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return !bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static bool open_two(void)
{
	return open_udp() && open_udp();
}

TAP_TEST(inquiry_start__sockets)
{
	char begin[80];

	if (surveyed_start(open_two)) {
		inquire();
		inquired_wait();
		snprintf(begin, sizeof(begin),
			 "job 7: rank %d on here (process %d) holds a UDP socket", RANK,
			 surveyed.root);
		okf(!strncmp(inquired.text, begin, strlen(begin)), "%s", inquired.text);
		ok(strchr(inquired.text, '\n') != NULL);
		is_int(inquired.text[strlen(inquired.text) - 1] == '\n', 0);
		ok(!inquired.is_clear);
	}
	surveyed_end();
}

TAP_TEST(inquiry_start__no_such_process)
{
	pid_t gone = fork();
	struct survey_order order = {.root = gone};

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	inquired_start(&order);
	inquired_wait();
	ok(strstr(inquired.text, "only a job that runs can be written down") != NULL);
}

TAP_TEST(inquiry_stop__in_the_middle)
{
	struct survey_order order = {.root = getpid()};
	int status = 0;

	inquired_start(&order);
	inquired_stop();
	/* The loop has not run, so the child is here to be waited for. */
	ok(waitpid(-1, &status, 0) > 0);
	/* It may have been done before it was killed. */
	ok(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
	is_int(waitpid(-1, NULL, WNOHANG), -1);
	ev_run(ev_default_loop(EVFLAG_AUTO), EVRUN_NOWAIT);
	is_int(inquired.n, 0);
}
