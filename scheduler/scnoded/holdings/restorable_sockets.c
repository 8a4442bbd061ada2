// SPDX-License-Identifier: BSD-3-Clause
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "scheduler/proto/netaddr.h"
#include "scheduler/scnoded/holdings/restorable_inside.h"

#define PROTOCOL_SHOWN 32

static int compare_ends(const struct held_socket *left, const struct sockaddr_in6 *here,
			const struct sockaddr_in6 *there)
{
	int order = memcmp(&left->here.sin6_addr, &here->sin6_addr, sizeof(here->sin6_addr));

	if (!order)
		order = memcmp(&left->there.sin6_addr, &there->sin6_addr, sizeof(there->sin6_addr));
	if (!order)
		order = left->here.sin6_port - here->sin6_port;
	return order ? order : left->there.sin6_port - there->sin6_port;
}

static int compare(const void *a, const void *b)
{
	const struct held_socket *const *left = a, *const *right = b;

	return compare_ends(*left, &(*right)->here, &(*right)->there);
}

/* Sockets that are closed before are no end that counts. */
bool judge_list_ends(struct judge *j)
{
	const struct holdings *h = j->holdings;

	j->ends = calloc(h->n_sockets + 1, sizeof(*j->ends));
	if (!j->ends)
		return false;
	for (size_t i = 0; i < h->n_sockets; i++)
		if (h->sockets[i].kind == HELD_TCP && inodes_has(&j->held, h->sockets[i].inode))
			j->ends[j->n_ends++] = &h->sockets[i];
	if (j->n_ends)
		qsort(j->ends, j->n_ends, sizeof(*j->ends), compare);
	return true;
}

static bool has_other_end(const struct judge *j, const struct held_socket *socket)
{
	struct held_socket other = {.here = socket->there, .there = socket->here};
	const struct held_socket *key = &other;

	return j->n_ends && bsearch(&key, j->ends, j->n_ends, sizeof(*j->ends), compare);
}

static bool is_loopback(const struct sockaddr_in6 *address)
{
	return IN6_IS_ADDR_LOOPBACK(&address->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&address->sin6_addr) &&
		address->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

static void judge_connection(const struct judge *j, const struct held_file *file,
			     const struct held_socket *socket)
{
	char there[NETADDR_TEXT_MAX];

	netaddr_text(there, sizeof(there), (const struct sockaddr *)&socket->there);
	if (!has_other_end(j, socket))
		judge_refuse(
			j, file->process,
			"holds a TCP connection to %s (descriptor %d), which cannot be restored; "
			"close it before a checkpoint",
			there, file->fd);
	else if (!is_loopback(&socket->here))
		judge_refuse(
			j, file->process,
			"holds a TCP connection within the job to %s (descriptor %d), an address "
			"that other hosts do not have; connect by 127.0.0.1",
			there, file->fd);
}

static void judge_tcp(const struct judge *j, const struct held_file *file,
		      const struct held_socket *socket)
{
	char here[NETADDR_TEXT_MAX];

	/* Not in the list: it has neither an address nor a peer. */
	if (!socket)
		return;
	if (socket->state == TCP_LISTEN) {
		netaddr_text(here, sizeof(here), (const struct sockaddr *)&socket->here);
		if (socket->waiting)
			judge_refuse(j, file->process,
				     "listens on %s (descriptor %d) and has not accepted all "
				     "connections, which cannot be restored; try again when it has",
				     here, file->fd);
	} else if (socket->there.sin6_port) {
		judge_connection(j, file, socket);
	}
}

/* One without an address is a mere handle, as to ask for interfaces. */
static void judge_udp(const struct judge *j, const struct held_file *file,
		      const struct held_socket *socket)
{
	char here[NETADDR_TEXT_MAX];

	if (!socket)
		return;
	netaddr_text(here, sizeof(here), (const struct sockaddr *)&socket->here);
	judge_refuse(j, file->process,
		     "holds a UDP socket at %s (descriptor %d), which would lose packets and its "
		     "address; close it before a checkpoint",
		     here, file->fd);
}

static void judge_unix_peer(const struct judge *j, const struct held_file *file,
			    const struct held_socket *socket)
{
	const struct held_outsider *outsider = holdings_outsider(j->holdings, socket->peer);

	if (outsider)
		judge_refuse(
			j, file->process,
			"holds a unix socket (descriptor %d) that is connected to process %d (%s) "
			"outside the job, which cannot be restored; close it before a checkpoint",
			file->fd, outsider->pid, outsider->name);
	else
		judge_refuse(
			j, file->process,
			"holds a unix socket (descriptor %d) that is connected to a socket "
			"outside the job, which cannot be restored; close it before a checkpoint",
			file->fd);
}

static void judge_unix(const struct judge *j, const struct held_file *file,
		       const struct held_socket *socket)
{
	if (!socket)
		return;
	if (socket->peer && !inodes_has(&j->held, socket->peer))
		judge_unix_peer(j, file, socket);
	else if (socket->state == TCP_LISTEN && socket->waiting)
		judge_refuse(j, file->process,
			     "listens on a unix socket (descriptor %d) and has not accepted all "
			     "connections, which cannot be restored; try again when it has",
			     file->fd);
	else if (!socket->peer && socket->state == TCP_ESTABLISHED && socket->type != SOCK_DGRAM &&
		 !socket->is_shut)
		judge_refuse(
			j, file->process,
			"holds a unix socket (descriptor %d) whose connection was not accepted "
			"yet, which cannot be restored; try again when it is",
			file->fd);
}

/*
 * CRIU takes all kinds, but makes a bare socket: what the kernel keeps for one of another kind,
 * such as a queue of packets, would be gone.
 */
static void judge_netlink(const struct judge *j, const struct held_file *file,
			  const struct held_socket *socket)
{
	if (!socket)
		return;
	if (socket->protocol != NETLINK_ROUTE && socket->protocol != NETLINK_SOCK_DIAG)
		judge_refuse(
			j, file->process,
			"holds a netlink socket of protocol %u (descriptor %d), which cannot be "
			"restored; close it before a checkpoint",
			socket->protocol, file->fd);
	else if (socket->waiting)
		judge_refuse(
			j, file->process,
			"has not read all that came by a netlink socket (descriptor %d), which "
			"cannot be restored; try again when it has",
			file->fd);
}

/* All others are refused; these have a name that people know. */
static void judge_other(const struct judge *j, const struct held_file *file)
{
	static const struct {
		const char *protocol, *words;
	} known[] = {{"XDP", "an AF_XDP socket"},
		     {"PACKET", "a packet socket"},
		     {"RAW", "a raw socket"},
		     {"RAWv6", "a raw socket"},
		     {"PING", "a socket for ICMP"},
		     {"PINGv6", "a socket for ICMP"},
		     {"MPTCP", "an MPTCP socket"},
		     {"MPTCPv6", "an MPTCP socket"},
		     {"AF_VSOCK", "a socket to another virtual machine (AF_VSOCK)"},
		     {"ALG", "a socket for ciphers (AF_ALG)"}};
	const char *words = NULL;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(file->name, known[i].protocol))
			words = known[i].words;
	if (words)
		judge_refuse(
			j, file->process,
			"holds %s (descriptor %d), which cannot be restored; close it before a "
			"checkpoint",
			words, file->fd);
	else
		judge_refuse(j, file->process,
			     "holds a socket of protocol %.*s (descriptor %d), which cannot be "
			     "restored; close it before a checkpoint",
			     PROTOCOL_SHOWN, *file->name ? file->name : "unknown", file->fd);
}

void judge_socket(const struct judge *j, const struct held_file *file)
{
	static const struct {
		const char *protocol;
		void (*judge)(const struct judge *j, const struct held_file *file,
			      const struct held_socket *socket);
	} kinds[] = {{"TCP", judge_tcp},        {"TCPv6", judge_tcp}, {"UDP", judge_udp},
		     {"UDPv6", judge_udp},      {"UNIX", judge_unix}, {"UNIX-STREAM", judge_unix},
		     {"NETLINK", judge_netlink}};
	const struct held_socket *socket = holdings_socket(j->holdings, file->inode);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(file->name, kinds[i].protocol)) {
			kinds[i].judge(j, file, socket);
			return;
		}
	judge_other(j, file);
}
