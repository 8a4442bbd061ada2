// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/parked.h"

#include <errno.h>
#include <stdlib.h>

static int parked_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct pm_link *link = calloc(1, sizeof(*link));

	(void)env;
	if (!link)
		return -ENOMEM;
	link->is_empty = true;
	*ret_link = link;
	return 0;
}

static void parked_close(struct pm_link *link)
{
	free(link);
}

static int parked_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			   struct pm_link_peer **ret_peer)
{
	(void)link, (void)node, (void)addr, (void)len, (void)ret_peer;
	return -EAGAIN;
}

static void parked_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
}

static uint32_t parked_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static int parked_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			   void **ret_buf, uint64_t *ret_cookie)
{
	(void)link, (void)peer, (void)len, (void)ret_buf, (void)ret_cookie;
	return -EAGAIN;
}

static int parked_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie,
		       uint32_t len)
{
	(void)link, (void)peer, (void)cookie, (void)len;
	return -EAGAIN;
}

static int parked_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static int parked_receive(struct pm_link *link, struct pm_inbound *ret)
{
	(void)link, (void)ret;
	return 0;
}

static void parked_release(struct pm_link *link, uint64_t cookie)
{
	(void)link, (void)cookie;
}

const struct pm_link_ops parked_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "suspended",
	.open = parked_open,
	.close = parked_close,
	.peer_add = parked_peer_add,
	.peer_del = parked_peer_del,
	.mtu = parked_mtu,
	.get_send = parked_get_send,
	.send = parked_send,
	.send_done = parked_send_done,
	.receive = parked_receive,
	.release = parked_release,
};
