// SPDX-License-Identifier: BSD-3-Clause
/* /proc and pidfds. */
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

uint64_t ethd_process_start(pid_t pid)
{
	char path[64], text[1024];
	uint64_t start = 0;
	const char *at;
	size_t n;
	FILE *f;

	if (pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	/* the name of the program, in brackets, may hold anything; behind it are fields 3 and on */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %" SCNu64, &start) != 1)
		return 0;
	return start;
}

int ethd_process_open(pid_t pid)
{
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int ethd_process_peer(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	return ethd_process_open(pid);
}

void ethd_process_watch(struct ethd *d, uint16_t context)
{
	int fd = d->contexts[context].pidfd;

	if (fd >= 0 && ethd_source_add(d, fd, EPOLLIN, ETHD_SOURCE_PROCESS, context))
		ethd_say("context %u: end of its process goes unheard: %m", context);
}
