// SPDX-License-Identifier: BSD-3-Clause
/* restorable: each kind of socket, made up, and the sentence that it gets or does not get. */
#include "scheduler/scnoded/holdings/restorable.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/judged.h"

TAP_TEST(restorable_judge__tcp_to_others)
{
	judged_begin();
	judged_connection(1, "::ffff:10.0.0.2", 40000, "::ffff:10.0.0.9", 7999);
	refused("holds a TCP connection to 10.0.0.9:7999 (descriptor 5)" CANNOT);
	judged_connection(1, "::ffff:127.0.0.1", 40000, "::ffff:127.0.0.1", 7999);
	refused("holds a TCP connection to 127.0.0.1:7999 (descriptor 5)" CANNOT);
	judged_connection(1, "2001:db8::1", 40000, "2001:db8::2", 7999)->state = TCP_SYN_SENT;
	refused("holds a TCP connection to [2001:db8::2]:7999 (descriptor 5)" CANNOT);
	judged_connection(1, "::1", 40000, "::1", 7999)->state = TCP_CLOSE_WAIT;
	refused("holds a TCP connection to [::1]:7999 (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__tcp_within_the_job)
{
	judged_begin();
	judged_connection(0, "::ffff:127.0.0.1", 7999, "::ffff:127.0.0.1", 40000);
	judged_connection(1, "::ffff:127.0.0.1", 40000, "::ffff:127.0.0.1", 7999);
	judged_connection(1, "::1", 1, "::1", 2);
	judged_connection(1, "::1", 2, "::1", 1);
	judged_connection(1, "::ffff:127.8.0.1", 3, "::ffff:127.8.0.1", 3); /* with itself */
	fine();
	judged_connection(0, "::ffff:10.0.0.2", 7999, "::ffff:10.0.0.2", 40000);
	judged_connection(1, "::ffff:10.0.0.2", 40000, "::ffff:10.0.0.2", 7999);
	judged_judge();
	is_int(judged.refusals.n, 2);
	is_str(judged.refusals.lines[1],
	       "job 7: rank 3 on n02 (process 4711) holds a TCP connection within the job to "
	       "10.0.0.2:7999 (descriptor 5), an address that other hosts do not have; connect by "
	       "127.0.0.1");
	is_str(judged.refusals.lines[0],
	       "job 7: process 100 (scstepd) on n02 holds a TCP connection within the job to "
	       "10.0.0.2:40000 (descriptor 5), an address that other hosts do not have; connect by "
	       "127.0.0.1");
}

TAP_TEST(restorable_judge__tcp_without_peer)
{
	struct held_socket *s;

	judged_begin();
	judged_file(S_IFSOCK, "TCP");
	judged_file(S_IFSOCK, "TCPv6");
	judged_socket(1, "TCP", HELD_TCP, TCP_LISTEN)->here = judged_address("::", 1024);
	judged_socket(1, "TCPv6", HELD_TCP, TCP_CLOSE)->here = judged_address("::", 1025);
	fine();
	s = judged_socket(1, "TCP", HELD_TCP, TCP_LISTEN);
	s->here = judged_address("::ffff:0.0.0.0", 1024);
	s->waiting = 1;
	refused("listens on 0.0.0.0:1024 (descriptor 5) and has not accepted all connections, "
		"which "
		"cannot be restored; try again when it has");
}

TAP_TEST(restorable_judge__udp)
{
	judged_begin();
	judged_file(S_IFSOCK, "UDP");
	judged_file(S_IFSOCK, "UDPv6");
	fine();
	judged_socket(1, "UDP", HELD_UDP, TCP_CLOSE)->here =
		judged_address("::ffff:10.0.0.2", 5353);
	refused("holds a UDP socket at 10.0.0.2:5353 (descriptor 5), which would lose packets and "
		"its "
		"address; close it before a checkpoint");
	judged_socket(1, "UDPv6", HELD_UDP, TCP_ESTABLISHED)->here = judged_address("::1", 5353);
	refused("holds a UDP socket at [::1]:5353 (descriptor 5), which would lose packets and its "
		"address; close it before a checkpoint");
}

TAP_TEST(restorable_judge__unix_pairs)
{
	struct held_socket *a, *b;
	uint64_t inode;

	judged_begin();
	a = judged_socket(0, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	inode = a->inode;
	b = judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	b->peer = inode;
	holdings_sort(&judged.h);
	judged.h.sockets[0].peer = judged.h.sockets[1].inode;
	judged_socket(1, "UNIX", HELD_UNIX, TCP_CLOSE)->type = SOCK_DGRAM;
	judged_socket(1, "UNIX", HELD_UNIX, TCP_ESTABLISHED)->type = SOCK_DGRAM;
	judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->is_shut = true;
	judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_LISTEN);
	judged_file(S_IFSOCK, "UNIX-STREAM");
	fine();
}

TAP_TEST(restorable_judge__unix_to_others)
{
	struct held_outsider *outsider;

	judged_begin();
	judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->peer = 5;
	refused("holds a unix socket (descriptor 5) that is connected to a socket outside the "
		"job" CANNOT);
	judged_socket(1, "UNIX", HELD_UNIX, TCP_ESTABLISHED)->peer = 5;
	outsider = holdings_add_outsider(&judged.h);
	*outsider = (struct held_outsider){.inode = 5, .pid = 812, .name = "dbus\ndaemon"};
	refused("holds a unix socket (descriptor 5) that is connected to process 812 (dbus?daemon) "
		"outside the job" CANNOT);
}

TAP_TEST(restorable_judge__unix_not_accepted)
{
	judged_begin();
	judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_LISTEN)->waiting = 2;
	refused("listens on a unix socket (descriptor 5) and has not accepted all connections, "
		"which "
		"cannot be restored; try again when it has");
	judged_socket(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	refused("holds a unix socket (descriptor 5) whose connection was not accepted yet, which "
		"cannot be restored; try again when it is");
}

TAP_TEST(restorable_judge__netlink)
{
	struct held_socket *s;

	judged_begin();
	judged_file(S_IFSOCK, "NETLINK");
	judged_socket(1, "NETLINK", HELD_NETLINK, 0)->protocol = NETLINK_ROUTE;
	judged_socket(1, "NETLINK", HELD_NETLINK, 0)->protocol = NETLINK_SOCK_DIAG;
	fine();
	s = judged_socket(1, "NETLINK", HELD_NETLINK, 0);
	s->protocol = NETLINK_SOCK_DIAG;
	s->waiting = 768;
	refused("has not read all that came by a netlink socket (descriptor 5), which cannot be "
		"restored; try again when it has");
	for (uint8_t protocol = 1; protocol < 64; protocol++) {
		char clause[128];

		if (protocol == NETLINK_SOCK_DIAG)
			continue;
		judged_socket(1, "NETLINK", HELD_NETLINK, 0)->protocol = protocol;
		snprintf(clause, sizeof(clause),
			 "holds a netlink socket of protocol %u (descriptor 5)" CANNOT, protocol);
		refused(clause);
	}
}

TAP_TEST(restorable_judge__other_sockets)
{
	static const char *const all[][2] = {
		{"XDP", "an AF_XDP socket"},
		{"PACKET", "a packet socket"},
		{"RAW", "a raw socket"},
		{"RAWv6", "a raw socket"},
		{"PING", "a socket for ICMP"},
		{"PINGv6", "a socket for ICMP"},
		{"MPTCP", "an MPTCP socket"},
		{"MPTCPv6", "an MPTCP socket"},
		{"AF_VSOCK", "a socket to another virtual machine (AF_VSOCK)"},
		{"ALG", "a socket for ciphers (AF_ALG)"},
		{"UDP-Lite", "a socket of protocol UDP-Lite"},
		{"SCTP", "a socket of protocol SCTP"},
		{"", "a socket of protocol unknown"},
		{"tcp", "a socket of protocol tcp"},
		{"01234567890123456789012345678901234567",
		 "a socket of protocol 01234567890123456789012345678901"},
	};

	judged_begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char clause[256];

		judged_file(S_IFSOCK, all[i][0]);
		snprintf(clause, sizeof(clause), "holds %s (descriptor 5)" CANNOT, all[i][1]);
		refused(clause);
	}
}
