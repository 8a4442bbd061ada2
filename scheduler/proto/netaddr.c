// SPDX-License-Identifier: BSD-3-Clause
/* netaddr - see netaddr.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/proto/netaddr.h"

#define PORT_TEXT 6

/* Cuts @text in two. False: it is not of the form. */
static bool cut(const char *text, char *host, size_t host_size, char *port, bool is_listener)
{
	const char *colon = strrchr(text, ':'), *from = text, *end = colon;

	if (!colon && is_listener) {
		end = text;
		colon = text - 1;
	} else if (!colon || (colon == text && !is_listener)) {
		return false;
	} else if (*text == '[') {
		from = text + 1;
		end = colon - 1;
		if (end <= from || *end != ']')
			return false;
	} else if (memchr(text, ':', (size_t)(colon - text))) {
		return false;
	}
	if ((size_t)(end - from) >= host_size || strlen(colon + 1) >= PORT_TEXT || !colon[1] ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	snprintf(host, host_size, "%.*s", (int)(end - from), from);
	snprintf(port, PORT_TEXT, "%s", colon + 1);
	return true;
}

int netaddr_find(struct addrinfo **ret, const char *text, bool is_listener, char *why,
		 size_t why_size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST |
					     (is_listener ? AI_PASSIVE : 0)};
	char host[NI_MAXHOST], port[PORT_TEXT];
	unsigned int number = 0;
	int err;

	if (!cut(text, host, sizeof(host), port, is_listener) || sscanf(port, "%u", &number) != 1 ||
	    number > 65535 || (!number && !is_listener)) {
		snprintf(why, why_size, "%s: no address; write HOST:PORT, or [IPv6]:PORT", text);
		return -EINVAL;
	}
	err = getaddrinfo(*host ? host : NULL, port, &hints, ret);
	if (err == EAI_NONAME) {
		hints.ai_flags &= ~AI_NUMERICHOST;
		err = getaddrinfo(host, port, &hints, ret);
	}
	if (!err)
		return 0;
	snprintf(why, why_size, "%s: the name of the host is not known: %s", text,
		 err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
	return err == EAI_MEMORY ? -ENOMEM : -ENOENT;
}

void netaddr_text(char *to, size_t size, const struct sockaddr *from)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;

		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		snprintf(to, size, "%s:%u", text, ntohs(in->sin_port));
	} else if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
		bool is_v4 = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

		inet_ntop(is_v4 ? AF_INET : AF_INET6, in6->sin6_addr.s6_addr + (is_v4 ? 12 : 0),
			  text, sizeof(text));
		snprintf(to, size, is_v4 ? "%s:%u" : "[%s]:%u", text, ntohs(in6->sin6_port));
	} else {
		snprintf(to, size, "local");
	}
}

void netaddr_here(char *to, size_t size, int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	*to = '\0';
	if (!getsockname(fd, (struct sockaddr *)&at, &len))
		netaddr_text(to, size, (struct sockaddr *)&at);
}

void netaddr_there(char *to, size_t size, int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	*to = '\0';
	if (!getpeername(fd, (struct sockaddr *)&at, &len))
		netaddr_text(to, size, (struct sockaddr *)&at);
}

struct netaddr_net netaddr_net(const struct sockaddr *from)
{
	struct netaddr_net net = {{0}};
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)from;
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)from;

	if (from->sa_family == AF_INET) {
		net.bytes[10] = net.bytes[11] = 0xff;
		memcpy(net.bytes + 12, &four->sin_addr, 4);
	} else if (from->sa_family == AF_INET6) {
		memcpy(net.bytes, &six->sin6_addr, IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? 16 : 8);
	}
	return net;
}

struct netaddr_net netaddr_net_there(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	/* A connection whose other end is unknown is one of those without a network. */
	(void)getpeername(fd, (struct sockaddr *)&at, &len);
	return netaddr_net((struct sockaddr *)&at);
}
