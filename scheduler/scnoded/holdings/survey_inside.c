// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/survey_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "pmcore/util/clock.h"

bool survey_goes_on(const struct survey *s)
{
	if (!*s->holdings->trouble && clock_monotonic_ns() >= s->until_ns)
		holdings_trouble(s->holdings,
				 "it took longer than %llu ms; make it smaller, or try again",
				 (unsigned long long)s->order->limit_ms);
	return !*s->holdings->trouble;
}

bool survey_is_gone(int err)
{
	return err == ENOENT || err == ESRCH || err == EBADF;
}

bool survey_read(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	return n >= 0;
}
