// SPDX-License-Identifier: BSD-3-Clause
/*
 * absent - what stands for the device in a library that was built without the headers of
 * libibverbs.
 */
#include <errno.h>
#include <stdio.h>

#include "pm-verbs/verbs.h"

static int absent_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	snprintf(
		env->why, env->why_size,
		"verbs: this library was built without it: install libibverbs-dev and build again");
	return -ENODEV;
}

static int absent_packet_open(const struct pm_device_env *env, struct pm_dev *lower,
			      struct pm_dev **ret_dev)
{
	return absent_open(env, NULL);
}

bool pm_verbs_takes_datagrams(const struct conf *conf, uint32_t nodes)
{
	return false;
}

static void absent_close(struct pm_link *link)
{
}

static int absent_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			   struct pm_link_peer **ret_peer)
{
	return -EHOSTUNREACH;
}

static void absent_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
}

static uint32_t absent_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	return 0;
}

static int absent_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			   void **ret_buf, uint64_t *ret_cookie)
{
	return -EPIPE;
}

static int absent_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie,
		       uint32_t len)
{
	return -EPIPE;
}

static int absent_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	return 0;
}

static int absent_receive(struct pm_link *link, struct pm_inbound *ret)
{
	return 0;
}

static void absent_release(struct pm_link *link, uint64_t cookie)
{
}

static int absent_packet_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
				  struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	return -EHOSTUNREACH;
}

static void absent_packet_close(struct pm_dev *dev)
{
}

static void absent_packet_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
}

static uint32_t absent_packet_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	return 0;
}

static struct pm_packet *absent_tx_alloc(struct pm_dev *dev)
{
	return NULL;
}

static void absent_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
}

static int absent_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			  struct pm_packet *packet)
{
	return -EAGAIN;
}

static int absent_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	return 0;
}

static void absent_rx_return(struct pm_dev *dev, uint64_t token)
{
}

/* All that stubs.c asks for; nothing but open is ever called. */
const struct pm_link_ops pm_verbs_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "verbs",
	.open = absent_open,
	.close = absent_close,
	.peer_add = absent_peer_add,
	.peer_del = absent_peer_del,
	.mtu = absent_mtu,
	.get_send = absent_get_send,
	.send = absent_send,
	.send_done = absent_send_done,
	.receive = absent_receive,
	.release = absent_release,
};

const struct pm_packet_ops pm_verbs_datagram_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "verbs-datagram",
	.open = absent_packet_open,
	.close = absent_packet_close,
	.peer_add = absent_packet_peer_add,
	.peer_del = absent_packet_peer_del,
	.mtu = absent_packet_mtu,
	.tx_alloc = absent_tx_alloc,
	.tx_free = absent_tx_free,
	.tx_post = absent_tx_post,
	.tx_kick = absent_packet_close,
	.rx_burst = absent_rx_burst,
	.rx_return = absent_rx_return,
};
