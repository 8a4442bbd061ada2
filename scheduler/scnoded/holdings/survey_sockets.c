// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/sockdiag.h"
#include "scheduler/scnoded/holdings/survey_inside.h"

#define SOCKETS_BETWEEN_LOOKS 256 /* at the clock */

struct search {
	struct survey *survey;
	struct inodes held;
	size_t n_seen;
};

static bool take_socket(const struct held_socket *found, void *owner)
{
	struct search *search = owner;
	struct held_socket *socket;

	if (++search->n_seen % SOCKETS_BETWEEN_LOOKS == 0 && !survey_goes_on(search->survey))
		return false;
	/* A connection that nobody has accepted, or that was closed, has no inode. */
	if (!found->inode || !inodes_has(&search->held, found->inode))
		return true;
	socket = holdings_add_socket(search->survey->holdings);
	if (!socket)
		return false;
	*socket = *found;
	return true;
}

static void ask_kernel(struct search *search, enum held_kind kind, const char *what,
		       const char *module)
{
	int err = sockdiag_each(kind, take_socket, search);

	if (err == -ENOENT)
		holdings_trouble(search->survey->holdings,
				 "the kernel does not tell of its %s sockets; load the module %s",
				 what, module);
	else if (err)
		holdings_trouble(search->survey->holdings,
				 "the kernel does not tell of its %s sockets: %s; try again", what,
				 strerror(-err));
}

/* This file is always there, the module netlink_diag is not. */
static void read_netlink(struct search *search)
{
	FILE *file = fopen("/proc/thread-self/net/netlink", "re");
	struct procline_netlink n;
	char line[512];

	if (!file)
		holdings_trouble(search->survey->holdings,
				 "/proc/net/netlink can't be read: %s; mount /proc there",
				 strerror(errno));
	while (file && fgets(line, sizeof(line), file)) {
		struct held_socket socket = {.kind = HELD_NETLINK};

		if (!procline_netlink(line, &n))
			continue;
		socket.inode = n.inode;
		socket.protocol = n.protocol;
		socket.waiting = n.unread;
		if (!take_socket(&socket, search))
			break;
	}
	if (file)
		fclose(file);
}

/* The sockets of the tree, each once. */
static bool collect(const struct holdings *h, struct inodes *ret)
{
	for (size_t i = 0; i < h->n_files; i++)
		if (S_ISSOCK(h->files[i].mode) && !inodes_add(ret, h->files[i].inode))
			return false;
	inodes_sort(ret);
	return true;
}

void survey_sockets(struct survey *s)
{
	struct search search = {.survey = s};

	if (!collect(s->holdings, &search.held))
		holdings_trouble(s->holdings,
				 "scnoded has no memory for a list of sockets; " HOLDINGS_FREE);
	if (search.held.n && survey_goes_on(s)) {
		ask_kernel(&search, HELD_TCP, "TCP", "tcp_diag");
		ask_kernel(&search, HELD_UDP, "UDP", "udp_diag");
		ask_kernel(&search, HELD_UNIX, "unix", "unix_diag");
		read_netlink(&search);
	}
	inodes_free(&search.held);
	holdings_sort(s->holdings);
}
