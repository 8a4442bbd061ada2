// SPDX-License-Identifier: BSD-3-Clause
/* Requests are built and answered one at a time, each on a socket of its own. */
#include "pm-ethernet/daemon/rtnl.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
	struct nlmsghdr head;
	struct ifinfomsg info;
	char room[512]; /* attributes; all we send are known to fit */
};

static void start(struct request *q, uint16_t type, uint16_t flags)
{
	memset(q, 0, sizeof(*q));
	q->head.nlmsg_len = NLMSG_LENGTH(sizeof(q->info));
	q->head.nlmsg_type = type;
	q->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

static struct rtattr *put(struct request *q, uint16_t type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static void put_text(struct request *q, uint16_t type, const char *text)
{
	put(q, type, text, strlen(text) + 1);
}

static void end(struct request *q, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)((char *)q + q->head.nlmsg_len - (char *)nest);
}

static int talk(struct request *q)
{
	char answer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
	const struct nlmsgerr *told = NLMSG_DATA(head);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (send(fd, q, q->head.nlmsg_len, 0) < 0) {
		err = -errno;
	} else {
		n = recv(fd, answer, sizeof(answer), 0);
		if (n < 0)
			err = -errno;
		else if ((size_t)n < NLMSG_LENGTH(sizeof(*told)) || head->nlmsg_type != NLMSG_ERROR)
			err = -EPROTO;
		else
			err = told->error;
	}
	close(fd);
	return err;
}

int rtnl_watch_open(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int rtnl_watch_drain(int fd)
{
	char buf[16384];
	int seen = 0;

	/* ENOBUFS: messages were lost, so look as if there had been one. */
	while (recv(fd, buf, sizeof(buf), 0) > 0 || errno == ENOBUFS || errno == EINTR) {
		seen = 1;
		errno = 0;
	}
	return seen;
}

static void put_common(struct request *q, const char *name, uint32_t group, uint32_t mtu)
{
	put_text(q, IFLA_IFNAME, name);
	put(q, IFLA_GROUP, &group, sizeof(group));
	put(q, IFLA_MTU, &mtu, sizeof(mtu));
}

/* IPv6 must not talk on a port: no addresses before it comes up. */
static int bring_up(const char *name)
{
	struct request q;
	struct rtattr *families, *family;
	uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	int err;

	start(&q, RTM_SETLINK, 0);
	q.info.ifi_index = (int)if_nametoindex(name);
	families = put(&q, IFLA_AF_SPEC, NULL, 0);
	family = put(&q, AF_INET6, NULL, 0);
	put(&q, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	end(&q, family);
	end(&q, families);
	err = talk(&q);
	if (err && err != -EAFNOSUPPORT)
		return err;
	start(&q, RTM_SETLINK, 0);
	q.info.ifi_index = (int)if_nametoindex(name);
	q.info.ifi_flags = IFF_UP;
	q.info.ifi_change = IFF_UP;
	return talk(&q);
}

int rtnl_pair_add(const char *name, const char *peer, uint32_t group, uint32_t mtu)
{
	struct request q;
	struct rtattr *info, *data, *other;
	struct ifinfomsg none = {0};
	int err;

	start(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	put_common(&q, name, group, mtu);
	info = put(&q, IFLA_LINKINFO, NULL, 0);
	put_text(&q, IFLA_INFO_KIND, "veth");
	data = put(&q, IFLA_INFO_DATA, NULL, 0);
	other = put(&q, VETH_INFO_PEER, &none, sizeof(none));
	put_common(&q, peer, group, mtu);
	end(&q, other);
	end(&q, data);
	end(&q, info);
	err = talk(&q);
	if (!err)
		err = bring_up(name);
	return err ? err : bring_up(peer);
}

int rtnl_link_delete(uint32_t ifindex)
{
	struct request q;

	start(&q, RTM_DELLINK, 0);
	q.info.ifi_index = (int)ifindex;
	return talk(&q);
}

int rtnl_group_delete(uint32_t group)
{
	struct request q;

	start(&q, RTM_DELLINK, 0);
	put(&q, IFLA_GROUP, &group, sizeof(group));
	return talk(&q);
}
