// SPDX-License-Identifier: BSD-3-Clause
#include "tests/bench/designs/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/designs/meet.h"

static struct ifreq ask(const char *interface, unsigned long request)
{
	struct ifreq asked = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (strlen(interface) >= sizeof(asked.ifr_name)) {
		errno = ENODEV;
		die(interface);
	}
	memcpy(asked.ifr_name, interface, strlen(interface));
	if (fd < 0 || ioctl(fd, request, &asked))
		die(interface);
	close(fd);
	return asked;
}

struct in_addr net_address(const char *interface)
{
	struct ifreq asked = ask(interface, SIOCGIFADDR);
	struct sockaddr_in found;

	memcpy(&found, &asked.ifr_addr, sizeof(found));
	return found.sin_addr;
}

size_t net_mtu(const char *interface)
{
	return (size_t)ask(interface, SIOCGIFMTU).ifr_mtu;
}

int net_index(const char *interface)
{
	return ask(interface, SIOCGIFINDEX).ifr_ifindex;
}

void net_mac(const char *interface, unsigned char mac[ETH_ALEN])
{
	struct ifreq asked = ask(interface, SIOCGIFHWADDR);

	memcpy(mac, asked.ifr_hwaddr.sa_data, ETH_ALEN);
}

void net_set(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("socket option");
}

void net_make_room(int fd)
{
	net_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, NET_SOCKET_BYTES);
	net_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, NET_SOCKET_BYTES);
}

void net_head(const char *interface, struct ether_header *ret_head)
{
	net_mac(interface, ret_head->ether_shost);
	meet_exchange(ret_head->ether_shost, ETH_ALEN, ret_head->ether_dhost);
	ret_head->ether_type = htons(NET_ETHERTYPE);
}
