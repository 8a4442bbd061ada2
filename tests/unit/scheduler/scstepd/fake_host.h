/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_host - two ranks of four on this host; what the other host would add comes from the test.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_HOST_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scstepd/pmi1.h"
#include "tests/harness/tap.h"

#define N_LOCAL 2
#define FIRST 2
#define BEGIN "cmd=init pmi_version=1 pmi_subversion=1\n"
#define BEGUN "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"

struct host {
	struct ev_loop *loop;
	struct pmi1 *pmi;
	int ranks[N_LOCAL];
	int fence_result;
	unsigned int n_fences, n_aborts, n_initialized, n_finalized;
	char put[1024];
	size_t n_put;
	uint32_t aborted;
	int code;
	char why[256];
	char answer[4096];
};

static inline int on_fence(const void *data, size_t size, void *owner)
{
	struct host *host = owner;

	host->n_fences++;
	if (okf(size <= sizeof(host->put), "%zu bytes", size) && size)
		memcpy(host->put, data, size);
	host->n_put = size;
	return host->fence_result;
}

static inline void on_abort(uint32_t rank, int code, const char *text, void *owner)
{
	struct host *host = owner;

	host->n_aborts++;
	host->aborted = rank;
	host->code = code;
	snprintf(host->why, sizeof(host->why), "%s", text);
}

static inline void on_initialized(uint32_t rank, void *owner)
{
	struct host *host = owner;

	(void)rank;
	host->n_initialized++;
}

static inline void on_finalized(uint32_t rank, void *owner)
{
	struct host *host = owner;

	(void)rank;
	host->n_finalized++;
}

static const struct pmi1_ops ops = {on_fence, on_abort, on_initialized, on_finalized};

static inline bool add(struct host *host, uint32_t i)
{
	int ends[2];

	if (!ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)))
		return false;
	host->ranks[i] = ends[1];
	return is_int(pmi1_add(host->pmi, FIRST + i, ends[0]), 0);
}

static inline bool open_held(struct host *host, bool is_held)
{
	static const uint32_t appnum[N_LOCAL] = {0, 5};
	struct pmi1_setup setup = {.kvsname = "space",
				   .size = 4,
				   .universe = 8,
				   .first = FIRST,
				   .n_local = N_LOCAL,
				   .appnum = appnum,
				   .mapping = "(vector,(0,2,2))",
				   .is_held = is_held};

	*host = (struct host){.loop = ev_loop_new(EVFLAG_AUTO), .ranks = {-1, -1}};
	host->pmi = pmi1_open(host->loop, &setup, &ops, host);
	return ok(host->pmi != NULL) && add(host, 0) && add(host, 1);
}

static inline bool open_host(struct host *host)
{
	return open_held(host, false);
}

static inline void close_host(struct host *host)
{
	pmi1_close(host->pmi);
	for (size_t i = 0; i < N_LOCAL; i++)
		if (host->ranks[i] >= 0)
			close(host->ranks[i]);
	ev_loop_destroy(host->loop);
}

static inline void turn(struct host *host)
{
	for (int i = 0; i < 8; i++)
		ev_run(host->loop, EVRUN_NOWAIT);
}

static const char *hear(struct host *host, uint32_t i)
{
	ssize_t n = recv(host->ranks[i], host->answer, sizeof(host->answer) - 1, MSG_DONTWAIT);

	host->answer[n > 0 ? n : 0] = '\0';
	return n == 0 || (n < 0 && errno == ECONNRESET) ? "end" : host->answer;
}

/* Sends @line as rank @i; the answer. */
static const char *ask(struct host *host, uint32_t i, const char *line)
{
	size_t size = strlen(line);

	is_int(send(host->ranks[i], line, size, MSG_NOSIGNAL | MSG_DONTWAIT), size);
	turn(host);
	return hear(host, i);
}

static inline void begin(struct host *host)
{
	is_str(ask(host, 0, BEGIN), BEGUN);
	is_str(ask(host, 1, BEGIN), BEGUN);
}

static inline bool has(const char *text, const char *part)
{
	return okf(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

#endif
