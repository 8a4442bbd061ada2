/* SPDX-License-Identifier: BSD-3-Clause */
/* net - what several designs need of an interface and of sockets. */
#ifndef TESTS_BENCH_DESIGNS_NET_H
#define TESTS_BENCH_DESIGNS_NET_H

#include <net/ethernet.h>
#include <netinet/in.h>
#include <stddef.h>

#define NET_SOCKET_BYTES (8 << 20) /* room of a socket, each way */
#define NET_ETHERTYPE 0x88b5       /* for local experiments, IEEE 802 */

struct in_addr net_address(const char *interface);
size_t net_mtu(const char *interface);
int net_index(const char *interface);
void net_mac(const char *interface, unsigned char mac[ETH_ALEN]);
void net_set(int fd, int level, int name, int value);
/* Room for all datagrams of a message; needs root. */
void net_make_room(int fd);
/* Head of the frames that we send to the other rank; both ranks call it. */
void net_head(const char *interface, struct ether_header *ret_head);

#endif
