// SPDX-License-Identifier: BSD-3-Clause
/* One datagram to the address in the environment. */
#include "pmcore/util/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_service(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int fd, err = 0;

	if (!len || len >= sizeof(address.sun_path))
		return 0;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}
