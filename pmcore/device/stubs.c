// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/stubs.h"

#include <errno.h>
#include <string.h>

#include "pmcore/util/copy.h"
#include "pmcore/util/packetrow.h"

#define FILL(ret, ops, op, stub) ((ret)->op = (ops)->op ? (ops)->op : (stub))

static int link_address(struct pm_link *link, void *buf, size_t room)
{
	(void)link, (void)buf, (void)room;
	return 0;
}

static void link_forget(struct pm_link *link, uint32_t node)
{
	(void)link, (void)node;
}

int stubs_post(struct pm_link *link, struct pm_link_peer *peer, const void *data, uint32_t len)
{
	uint64_t cookie;
	void *buf;
	int err = link->ops->get_send(link, peer, len, &buf, &cookie);

	if (err)
		return err;
	copy_bytes(buf, data, len);
	return link->ops->send(link, peer, cookie, len);
}

static int link_post_row(struct pm_link *link, struct pm_link_peer *peer, const struct pm_row *row,
			 uint64_t *ret_done)
{
	uint64_t cookie;
	uint8_t *buf;
	int err = 0;

	for (*ret_done = 0; !err && *ret_done < row->len;) {
		uint32_t part = pm_row_part(row, *ret_done);
		uint32_t len = pm_row_head(row, *ret_done)->len + part;

		err = link->ops->get_send(link, peer, len, (void **)&buf, &cookie);
		if (err)
			break;
		packetrow_fill(row, *ret_done, buf);
		err = link->ops->send(link, peer, cookie, len);
		*ret_done += part;
	}
	return err;
}

static int link_probe(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static uint32_t link_receive_more(struct pm_link *link, uint64_t cookie, struct iovec *ret_parts,
				  uint32_t room)
{
	(void)link, (void)cookie, (void)ret_parts, (void)room;
	return 0;
}

static int link_ask(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return -EAGAIN;
}

static void link_cork(struct pm_link *link, bool is_on)
{
	(void)link, (void)is_on;
}

static int link_send_out(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static int link_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		     uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	(void)link, (void)peer, (void)rkey, (void)roffset, (void)local, (void)len, (void)ret_op;
	return -ENOSYS;
}

static int link_write(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		      uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op)
{
	(void)link, (void)peer, (void)rkey, (void)roffset, (void)local, (void)len, (void)ret_op;
	return -ENOSYS;
}

static int link_rma_done(struct pm_link *link, uint32_t op)
{
	(void)link, (void)op;
	return -ENOENT;
}

static bool link_is_read_by(struct pm_link *link, uint32_t node)
{
	(void)link, (void)node;
	return true;
}

static void link_region(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len)
{
	(void)link, (void)rkey, (void)addr, (void)len;
}

static int link_carry(struct pm_link *link, struct pm_link_peer *peer, const void *head,
		      uint32_t head_len, const void *data, uint32_t len)
{
	(void)link, (void)peer, (void)head, (void)head_len, (void)data, (void)len;
	return -EOPNOTSUPP;
}

static void link_await(struct pm_link *link, struct pm_link_peer *peer, bool is_on)
{
	(void)link, (void)peer, (void)is_on;
}

static bool link_is_gone(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return false;
}

/* for links without can_leave, so nobody calls one */
static const struct pm_leave_ops link_leaving;

static int link_poll_fds(struct pm_link *link, int *fds, int room)
{
	(void)link, (void)fds, (void)room;
	return 0;
}

static int link_arm(struct pm_link *link, uint64_t *timeout_ns)
{
	(void)link, (void)timeout_ns;
	return 0;
}

static void link_nothing(struct pm_link *link)
{
	(void)link;
}

static int link_quiesce(struct pm_link *link)
{
	(void)link;
	return 0;
}

static int link_save(struct pm_link *link, void *buf, size_t room)
{
	(void)link, (void)buf, (void)room;
	return 0;
}

static int link_restore(struct pm_link *link, const void *buf, size_t len,
			int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
			void *arg)
{
	(void)link, (void)buf, (void)resolve, (void)arg;
	return len ? -EINVAL : 0;
}

static int link_dump(struct pm_link *link, char *buf, size_t room)
{
	(void)link;
	if (room)
		buf[0] = '\0';
	return 0;
}

static uint64_t link_memory(struct pm_link *link)
{
	(void)link;
	return 0;
}

int stubs_link(const struct pm_link_ops *ops, struct pm_link_ops *ret)
{
	if (ops->abi != PM_DEVICE_ABI || ops->size != sizeof(*ops))
		return -EPROTO;
	if (!ops->name || !ops->open || !ops->close || !ops->peer_add || !ops->peer_del ||
	    !ops->mtu || !ops->get_send || !ops->send || !ops->send_done || !ops->receive ||
	    !ops->release)
		return -EPROTO;
	*ret = *ops;
	FILL(ret, ops, address, link_address);
	FILL(ret, ops, forget, link_forget);
	FILL(ret, ops, post, stubs_post);
	FILL(ret, ops, post_row, link_post_row);
	FILL(ret, ops, probe, link_probe);
	FILL(ret, ops, ask, link_ask);
	FILL(ret, ops, cork, link_cork);
	FILL(ret, ops, send_out, link_send_out);
	FILL(ret, ops, receive_more, link_receive_more);
	FILL(ret, ops, read, link_read);
	FILL(ret, ops, write, link_write);
	FILL(ret, ops, rma_done, link_rma_done);
	FILL(ret, ops, is_read_by, link_is_read_by);
	FILL(ret, ops, exported, link_region);
	FILL(ret, ops, unexport, link_region);
	FILL(ret, ops, carry, link_carry);
	FILL(ret, ops, await, link_await);
	FILL(ret, ops, is_gone, link_is_gone);
	FILL(ret, ops, leaving, &link_leaving);
	FILL(ret, ops, poll_fds, link_poll_fds);
	FILL(ret, ops, arm, link_arm);
	FILL(ret, ops, disarm, link_nothing);
	FILL(ret, ops, quiesce, link_quiesce);
	FILL(ret, ops, resume, link_nothing);
	FILL(ret, ops, save, link_save);
	FILL(ret, ops, restore, link_restore);
	FILL(ret, ops, dump, link_dump);
	FILL(ret, ops, memory, link_memory);
	return 0;
}

static struct pm_packet *packet_tx_alloc_bulk(struct pm_dev *dev)
{
	return dev->ops->tx_alloc(dev);
}

static uint32_t packet_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
				    struct pm_packet **ret_packets)
{
	uint32_t i = 0;

	while (i < n &&
	       (ret_packets[i] = is_bulk ? dev->ops->tx_alloc_bulk(dev) : dev->ops->tx_alloc(dev)))
		i++;
	return i;
}

static void packet_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		dev->ops->tx_free(dev, packets[i]);
}

static uint32_t packet_tx_post_run(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
				   struct pm_packet *const *packets, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && !dev->ops->tx_post(dev, rail, peer, packets[i]))
		i++;
	return i;
}

static int packet_address(struct pm_dev *dev, void *buf, size_t room)
{
	(void)dev, (void)buf, (void)room;
	return 0;
}

static int packet_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	(void)dev, (void)ret_node;
	return 0;
}

static enum pm_rail_state packet_rail_state(struct pm_dev *dev, uint32_t rail)
{
	(void)dev, (void)rail;
	return PM_RAIL_UP;
}

static int packet_poll_fds(struct pm_dev *dev, int *fds, int room)
{
	(void)dev, (void)fds, (void)room;
	return 0;
}

static int packet_zero(struct pm_dev *dev)
{
	(void)dev;
	return 0;
}

static void packet_nothing(struct pm_dev *dev)
{
	(void)dev;
}

static int packet_dump(struct pm_dev *dev, char *buf, size_t room)
{
	(void)dev;
	if (room)
		buf[0] = '\0';
	return 0;
}

static uint64_t packet_memory(struct pm_dev *dev)
{
	(void)dev;
	return 0;
}

int stubs_packet(const struct pm_packet_ops *ops, struct pm_packet_ops *ret)
{
	if (ops->abi != PM_DEVICE_ABI || ops->size != sizeof(*ops))
		return -EPROTO;
	if (!ops->name || !ops->open || !ops->close || !ops->peer_add || !ops->peer_del ||
	    !ops->mtu || !ops->tx_alloc || !ops->tx_free || !ops->tx_post || !ops->tx_kick ||
	    !ops->rx_burst || !ops->rx_return)
		return -EPROTO;
	*ret = *ops;
	FILL(ret, ops, tx_alloc_bulk, packet_tx_alloc_bulk);
	FILL(ret, ops, tx_alloc_run, packet_tx_alloc_run);
	FILL(ret, ops, tx_free_run, packet_tx_free_run);
	FILL(ret, ops, tx_post_run, packet_tx_post_run);
	FILL(ret, ops, address, packet_address);
	FILL(ret, ops, peer_event, packet_peer_event);
	FILL(ret, ops, rail_state, packet_rail_state);
	FILL(ret, ops, poll_fds, packet_poll_fds);
	FILL(ret, ops, arm, packet_zero);
	FILL(ret, ops, disarm, packet_nothing);
	FILL(ret, ops, suspend, packet_zero);
	FILL(ret, ops, resume, packet_zero);
	FILL(ret, ops, dump, packet_dump);
	FILL(ret, ops, memory, packet_memory);
	return 0;
}
