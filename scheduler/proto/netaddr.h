/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * netaddr - "HOST:PORT" as text and as what sockets take. Knows no connection.
 */
#ifndef SCHEDULER_PROTO_NETADDR_H
#define SCHEDULER_PROTO_NETADDR_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define NETADDR_TEXT_MAX 320 /* bytes of "HOST:PORT", its end included */

/*
 * Finds what "HOST:PORT" or "[IPv6]:PORT" means; with @is_listener also "PORT": every address.
 * Looking up a name may block, a numeric address does not. 0 and *@ret (freeaddrinfo()), or
 * -EINVAL, -ENOENT or -ENOMEM with a sentence in @why.
 */
int netaddr_find(struct addrinfo **ret, const char *text, bool is_listener, char *why,
		 size_t why_size);
/* "ADDRESS:PORT", numeric; the same text for an IPv4 address and for its form in IPv6. */
void netaddr_text(char *to, size_t size, const struct sockaddr *from);
/* Of the two ends of a connected socket; "" if the kernel does not tell. */
void netaddr_here(char *to, size_t size, int fd);
void netaddr_there(char *to, size_t size, int fd);

/*
 * The addresses that one owner has, as far as can be told: an IPv4 address, or the 64 bits of an
 * IPv6 network.
 */
struct netaddr_net {
	uint8_t bytes[16]; /* as an IPv6 address, an IPv4 one mapped into it; all 0 = not known */
};

struct netaddr_net netaddr_net(const struct sockaddr *from);
/* Of the other end of a connected socket. */
struct netaddr_net netaddr_net_there(int fd);

#endif
