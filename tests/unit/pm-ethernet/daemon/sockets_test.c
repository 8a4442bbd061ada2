// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/sockets.c that any socket will do for. */
#include "pm-ethernet/daemon/sockets.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static int room_of(int fd)
{
	int room = -1;
	socklen_t len = sizeof(room);

	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &len);
	return room;
}

TAP_TEST(xsk_scale_room__so_many_times_the_default)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int before = room_of(fd);

	if (geteuid()) {
		tap_skip("needs CAP_NET_ADMIN");
		close(fd);
		return;
	}
	is_int(xsk_scale_room(fd, 1), 0);
	is_int(room_of(fd), before);
	is_int(xsk_scale_room(fd, 3), 0);
	is_int(room_of(fd), 3 * before);
	close(fd);
	is_int(xsk_scale_room(fd, 3), -EBADF);
}
