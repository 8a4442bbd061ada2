// SPDX-License-Identifier: BSD-3-Clause
/*
 * A peer killed with SIGKILL: the survivor gets EPIPE naming it, and goes on with the others. The
 * victim is a forked process that shares nothing with the survivor but the job.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/variant.h"

#define VICTIM 4000000000u

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The victim: publishes its address, then echoes until it is killed. */
static void victim(const struct crew *crew, const char *config, int out)
{
	struct pmOptions options = {
		.size = sizeof(options),
		.job_key = crew->key,
		.self = VICTIM,
		.config = config,
	};
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	pmContext ctx;

	if (pmOpenContext(&options, &ctx) || pmGetAddress(ctx, address, &len) ||
	    pmAddNode(ctx, crew_node(crew, 0), crew->address[0], crew->address_len[0]))
		_exit(1);
	if (write(out, address, len) != (ssize_t)len)
		_exit(1);
	for (;;) {
		pmDesc desc, reply;
		size_t size;
		pmNode src;
		void *buf, *to;

		if (pmReceive(ctx, &buf, &size, &src, &desc)) {
			pmWait(ctx, 100);
			continue;
		}
		if (!pmGetSendBuffer(ctx, src, size, &to, &reply)) {
			memcpy(to, buf, size);
			pmSend(ctx, reply);
		}
		pmReleaseReceiveBuffer(ctx, desc);
	}
}

static pid_t start_victim(struct crew *crew, const char *config)
{
	uint8_t address[PM_ADDRESS_MAX];
	int fds[2];
	ssize_t len;
	pid_t pid;

	if (!is_int(pipe(fds), 0))
		return -1;
	pid = fork();
	if (pid == 0)
		victim(crew, config, fds[1]);
	close(fds[1]);
	len = read(fds[0], address, sizeof(address));
	close(fds[0]);
	if (okf(len > 0, "the victim did not start") &&
	    is_int(pmAddNode(crew->ctx[0], VICTIM, address, (size_t)len), PM_SUCCESS))
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

/* Sends to the victim and takes echoes until one has come. */
static bool is_alive(struct crew *crew)
{
	for (double end = seconds() + 5; seconds() < end;) {
		pmDesc desc;
		pmNode src;
		size_t len;
		void *buf;

		if (!pmGetSendBuffer(crew->ctx[0], VICTIM, 16, &buf, &desc)) {
			memset(buf, 0, 16);
			pmSend(crew->ctx[0], desc);
		}
		for (int i = 0; i < 100; i++) {
			if (pmReceive(crew->ctx[0], &buf, &len, &src, &desc))
				continue;
			pmReleaseReceiveBuffer(crew->ctx[0], desc);
			if (src == VICTIM)
				return true;
		}
	}
	return false;
}

CONFORMS(peer__killed)
{
	pid_t pid = start_victim(crew, variant->configs[1]);
	bool is_reported = false;
	double start;

	if (pid < 0)
		return;
	ok(is_alive(crew));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	start = seconds();
	while (!is_reported && seconds() - start < 10) {
		pmDesc desc;
		pmNode src = 0;
		size_t len;
		void *buf;
		int err;

		if (!pmGetSendBuffer(crew->ctx[0], VICTIM, 16, &buf, &desc)) {
			memset(buf, 0, 16);
			pmSend(crew->ctx[0], desc);
		}
		err = pmReceive(crew->ctx[0], &buf, &len, &src, &desc);
		if (err == PM_SUCCESS)
			pmReleaseReceiveBuffer(crew->ctx[0], desc);
		is_reported = err == EPIPE && src == VICTIM;
	}
	if (!okf(is_reported, "no EPIPE within 10 s"))
		pmDumpContext(crew->ctx[0], STDERR_FILENO);
	tap_diag("reported after %.0f ms: %s", (seconds() - start) * 1e3, pmLastError());
	{
		pmDesc desc;
		void *buf;

		is_int(pmGetSendBuffer(crew->ctx[0], VICTIM, 16, &buf, &desc), EPIPE);
		ok(strlen(pmLastError()) > 10);
	}
	must(crew_send_hard(crew, 0, 1, 100) && crew_send_hard(crew, 2, 0, 100));
	crew_drain(crew);
	is_int(pmRemoveNode(crew->ctx[0], VICTIM), PM_SUCCESS);
	is_int(pmRemoveNode(crew->ctx[0], VICTIM), ENOENT);
}
