// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/ports.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/sockdiag.h"

#define FILE_NAME "ports"
#define MAPPED_WORD 3 /* of an IPv6 address that stands for one of IPv4 */

/* An entry of the file. */
struct port {
	struct sockaddr_in6 address;
	uint32_t is_listening;
};

/* ---- when the job stands still ---- */

static bool add_sockets(struct inodes *ret, const char *pid)
{
	const struct dirent *each;
	unsigned long long inode;
	char path[64], target[64];
	bool is_good = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	while (dir && is_good && (each = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), each->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = 0;
		if (sscanf(target, "socket:[%llu]", &inode) == 1)
			is_good = inodes_add(ret, inode);
	}
	if (dir)
		closedir(dir);
	return is_good;
}

static int list_sockets(struct inodes *ret)
{
	const struct dirent *each;
	DIR *dir = opendir("/proc");
	bool is_good = true;

	if (!dir)
		return -errno;
	while (is_good && (each = readdir(dir)))
		if (isdigit((unsigned char)each->d_name[0]))
			is_good = add_sockets(ret, each->d_name);
	closedir(dir);
	inodes_sort(ret);
	return is_good ? 0 : -ENOMEM;
}

struct writing {
	struct inodes sockets;
	int fd;
};

static bool write_one(const struct held_socket *socket, void *owner)
{
	struct writing *w = owner;
	struct port port = {socket->here, socket->state == TCP_LISTEN};

	if (!socket->inode || !socket->here.sin6_port || !inodes_has(&w->sockets, socket->inode))
		return true;
	return write(w->fd, &port, sizeof(port)) == sizeof(port);
}

int ports_write(int dir)
{
	struct writing w = {
		.fd = openat(dir, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
	int err;

	if (w.fd < 0)
		return -errno;
	err = list_sockets(&w.sockets);
	if (!err)
		err = sockdiag_each(HELD_TCP, write_one, &w);
	inodes_free(&w.sockets);
	close(w.fd);
	return err == -ECANCELED ? -EIO : err;
}

/* ---- before a restore ---- */

struct freeing {
	struct port *all;
	size_t n;
	int fd;
	char *taken;
};

static bool is_any(const struct in6_addr *address)
{
	return IN6_IS_ADDR_UNSPECIFIED(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && !address->s6_addr32[MAPPED_WORD]);
}

/* Whether the job needs the address that @here has. @to_listen: for a listener. */
static bool is_needed(const struct freeing *f, const struct sockaddr_in6 *here, bool to_listen)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct sockaddr_in6 *each = &f->all[i].address;

		if ((f->all[i].is_listening || !to_listen) && each->sin6_port == here->sin6_port &&
		    (is_any(&each->sin6_addr) || is_any(&here->sin6_addr) ||
		     IN6_ARE_ADDR_EQUAL(&each->sin6_addr, &here->sin6_addr)))
			return true;
	}
	return false;
}

static void set_address(const struct in6_addr *from, bool is_mapped, __be32 *to)
{
	if (is_mapped)
		to[0] = from->s6_addr32[MAPPED_WORD];
	else
		memcpy(to, from, sizeof(*from));
}

/* If it is gone already, or the kernel can't do it, CRIU finds out. */
static void forget(int fd, const struct held_socket *socket)
{
	bool is_mapped = IN6_IS_ADDR_V4MAPPED(&socket->here.sin6_addr);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 inet;
	} order = {.head = {.nlmsg_len = sizeof(order),
			    .nlmsg_type = SOCK_DESTROY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		   .inet = {.sdiag_family = is_mapped ? AF_INET : AF_INET6,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = 1u << TCP_TIME_WAIT,
			    .id = {.idiag_sport = socket->here.sin6_port,
				   .idiag_dport = socket->there.sin6_port,
				   .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
	char answer[256];

	set_address(&socket->here.sin6_addr, is_mapped, order.inet.id.idiag_src);
	set_address(&socket->there.sin6_addr, is_mapped, order.inet.id.idiag_dst);
	if (send(fd, &order, sizeof(order), 0) == sizeof(order) &&
	    recv(fd, answer, sizeof(answer), 0) < 0)
		errno = 0;
}

static void note_taken(struct freeing *f, const struct sockaddr_in6 *here)
{
	bool is_mapped = IN6_IS_ADDR_V4MAPPED(&here->sin6_addr);
	char address[INET6_ADDRSTRLEN] = "?";

	inet_ntop(is_mapped ? AF_INET : AF_INET6,
		  &here->sin6_addr.s6_addr32[is_mapped ? MAPPED_WORD : 0], address,
		  sizeof(address));
	snprintf(f->taken, PORTS_TEXT_MAX, "%s port %d", address, ntohs(here->sin6_port));
}

static bool free_one(const struct held_socket *socket, void *owner)
{
	struct freeing *f = owner;

	if (socket->state == TCP_TIME_WAIT && is_needed(f, &socket->here, false))
		forget(f->fd, socket);
	else if (socket->state == TCP_LISTEN && is_needed(f, &socket->here, true))
		note_taken(f, &socket->here);
	return true;
}

/* 0 or -errno. */
static int read_ports(int dir, struct freeing *ret)
{
	int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	int err = size < 0 ? -errno : 0;

	if (size > 0) {
		ret->all = malloc((size_t)size);
		if (!ret->all || pread(fd, ret->all, (size_t)size, 0) != size)
			err = -EIO;
		ret->n = (size_t)size / sizeof(*ret->all);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

int ports_free(int dir, char ret_taken[PORTS_TEXT_MAX])
{
	struct freeing f = {.taken = ret_taken};
	int err = read_ports(dir, &f);

	ret_taken[0] = 0;
	f.fd = err ? -1 : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (!err && f.fd < 0)
		err = -errno;
	if (!err && f.n)
		err = sockdiag_each(HELD_TCP, free_one, &f);
	if (f.fd >= 0)
		close(f.fd);
	free(f.all);
	return err;
}
