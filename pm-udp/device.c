// SPDX-License-Identifier: BSD-3-Clause
/*
 * device - the operations table of udp: open and close, peers, sleeping, suspend and resume, dump.
 * Sockets, packets and errors are the business of the other files.
 */
#include "pm-udp/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pm-udp/udp.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

_Static_assert(sizeof(((struct stats_rail *)0)->name) == IFNAMSIZ, "rail name");

/* Memory for received packets that are held, and the least number of them. */
#define RX_SLOT_BYTES (8u << 20)
#define RX_SLOTS_MIN 512
#define RX_SLOTS_MAX 4096

/* ---- open and close ---- */

static void udp_close(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);

	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->rails[r].fd >= 0)
			pmu_tx_flush(d, r);
	pmu_link_close(d);
	pmu_sockets_close(d);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	for (uint32_t i = 0; i < d->n_peers; i++)
		free(d->peers[i]);
	free(d->peers);
	pmu_tx_fini(d);
	pmu_rx_fini(d);
	free(d);
}

static uint32_t slots_for(const struct pmu_dev *d)
{
	uint32_t n = RX_SLOT_BYTES / d->payload, least = 2 * d->env.conf->window;

	if (n < RX_SLOTS_MIN)
		n = RX_SLOTS_MIN;
	if (n > RX_SLOTS_MAX)
		n = RX_SLOTS_MAX;
	return n < least ? least : n;
}

/* The rails and the size of packets, as the interfaces are now. */
static int find_rails(struct pmu_dev *d)
{
	struct pmu_iface rails[PM_RAILS_MAX];
	int n = pmu_addr_rails(d->env.conf, rails, d->env.why, d->env.why_size);

	if (n < 0)
		return n;
	d->dev.n_rails = (uint32_t)n;
	for (int r = 0; r < n; r++) {
		d->rails[r].iface = rails[r];
		if (rails[r].payload > d->payload)
			d->payload = rails[r].payload;
		memcpy(d->env.rails[r].name, rails[r].name, sizeof(d->env.rails[r].name));
	}
	return 0;
}

static int udp_open(const struct pm_device_env *env, struct pm_dev *lower, struct pm_dev **ret_dev)
{
	struct pmu_dev *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->dev.ops = &pm_udp_ops;
	d->dev.can_gather = true;
	d->env = *env;
	d->host = pmu_addr_host();
	d->rx.fd = d->link_fd = d->arena.fd = -1;
	for (uint32_t r = 0; r < PM_RAILS_MAX; r++)
		d->rails[r].fd = -1;
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = d->epoll_fd < 0 ? -errno : 0;
	if (err)
		snprintf(env->why, env->why_size, "udp: no epoll descriptor: %s", strerror(-err));
	else
		err = find_rails(d);
	if (!err) {
		d->dev.rx_buffers = slots_for(d);
		d->dev.tx_buffers = env->conf->send_buffers;
		err = pmu_tx_init(d, d->dev.tx_buffers);
	}
	if (!err)
		err = pmu_rx_init(d, d->dev.rx_buffers);
	if (err == -ENOMEM)
		snprintf(env->why, env->why_size, "udp: no memory for the packet buffers");
	if (!err)
		err = pmu_sockets_open(d);
	if (err) {
		udp_close(&d->dev);
		return err;
	}
	pmu_link_open(d);
	*ret_dev = &d->dev;
	return 0;
}

/* ---- addresses and peers ---- */

/* Rails whose interface has gone keep their place with an address that is nobody's. */
static void own_address(const struct pmu_dev *d, struct pmu_address *ret)
{
	*ret = (struct pmu_address){.host = d->host, .port = d->port, .n_rails = d->dev.n_rails};
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		const struct pmu_iface *iface = &d->rails[r].iface;

		ret->rails[r].address = iface->index ? iface->address : 0;
		ret->rails[r].payload = iface->payload;
		ret->rails[r].prefix = iface->index ? iface->prefix : 32;
		ret->rails[r].is_loopback = iface->is_loopback;
	}
}

static int udp_address(struct pm_dev *dev, void *buf, size_t room)
{
	struct pmu_address all, there;

	own_address(pmu_of(dev), &all);
	there = all;
	there.n_rails = 0;
	for (uint32_t r = 0; r < all.n_rails; r++)
		if (all.rails[r].address)
			there.rails[there.n_rails++] = all.rails[r];
	return there.n_rails ? pmu_addr_pack(&there, buf, room) : -ENODEV;
}

static int make_room(struct pmu_dev *d)
{
	uint32_t room = d->room_peers ? 2 * d->room_peers : 16;
	struct pmu_peer **grown;

	if (d->n_peers < d->room_peers)
		return 0;
	grown = realloc(d->peers, room * sizeof(struct pmu_peer *));
	if (!grown)
		return -ENOMEM;
	d->peers = grown;
	d->room_peers = room;
	return 0;
}

static int udp_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_address own, remote;
	uint32_t to[PM_RAILS_MAX] = {0}, payload = 0, rails;
	struct pmu_peer *peer;
	int err = pmu_addr_unpack(addr, len, &remote);

	if (err)
		return err;
	own_address(d, &own);
	rails = pmu_addr_pair(&own, &remote, d->env.conf->udp_is_lane, to, &payload);
	if (!rails)
		return -EHOSTUNREACH;
	err = make_room(d);
	if (err)
		return err;
	peer = calloc(1, sizeof(*peer) + d->dev.n_rails * sizeof(peer->address[0]));
	if (!peer)
		return -ENOMEM;
	peer->node = node;
	peer->port = remote.port;
	peer->payload = payload;
	peer->rails = rails;
	memcpy(peer->address, to, d->dev.n_rails * sizeof(peer->address[0]));
	peer->index = d->n_peers;
	d->peers[d->n_peers++] = peer;
	*ret_peer = (struct pm_dev_peer *)peer;
	*ret_rails = rails;
	return 0;
}

static void udp_peer_del(struct pm_dev *dev, struct pm_dev_peer *dev_peer)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_peer *peer = (struct pmu_peer *)dev_peer, *last = d->peers[--d->n_peers];

	pmu_tx_forget(d, peer);
	d->peers[peer->index] = last;
	last->index = peer->index;
	for (uint32_t i = 0; i < d->n_gone; i++)
		if (d->gone[i] == peer->node)
			d->gone[i--] = d->gone[--d->n_gone];
	free(peer);
}

static uint32_t udp_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	struct pmu_dev *d = pmu_of(dev);
	uint32_t least = d->payload;

	if (peer)
		return ((struct pmu_peer *)peer)->payload;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->rails[r].iface.payload < least)
			least = d->rails[r].iface.payload;
	return least;
}

/* ---- suspend and resume ---- */

static int udp_suspend(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);

	pmu_link_close(d);
	pmu_sockets_close(d);
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		d->rails[r].is_up = false;
		/* what still waits is let go: without its socket a rail loses it */
		pmu_tx_flush(d, r);
	}
	return 0;
}

/*
 * Which of the interfaces found now is rail @r? The one of its name, else the one of its address.
 */
static const struct pmu_iface *match(const struct pmu_rail *rail, const struct pmu_iface *all,
				     int n)
{
	const struct pmu_iface *by_name = NULL;

	for (int i = 0; i < n; i++) {
		if (all[i].address == rail->iface.address)
			return &all[i];
		if (!by_name && !strcmp(all[i].name, rail->iface.name))
			by_name = &all[i];
	}
	return by_name;
}

static int udp_resume(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_iface *all = calloc(256, sizeof(*all));
	int n, err;

	if (!all)
		return -ENOMEM;
	n = pmu_addr_scan(d->env.conf, all, 256);
	for (uint32_t r = 0; r < d->dev.n_rails && n >= 0; r++) {
		const struct pmu_iface *found = match(&d->rails[r], all, n);

		if (found) {
			uint32_t before = d->rails[r].iface.address;

			d->rails[r].iface = *found;
			if (pmu_addr_has(found, before))
				d->rails[r].iface.address = before;
			/* the buffers keep their size */
			if (found->payload > d->payload)
				d->rails[r].iface.payload = d->payload;
		} else {
			d->rails[r].iface.index = 0;
		}
	}
	free(all);
	if (n < 0)
		return n;
	err = pmu_sockets_open(d);
	if (!err)
		pmu_link_open(d);
	return err;
}

/* ---- observation ---- */

static int udp_dump(struct pm_dev *dev, char *buf, size_t room)
{
	struct pmu_dev *d = pmu_of(dev);
	struct pmu_rx *rx = &d->rx;
	struct text text = {.buf = buf, .room = room};
	char address[16];

	text_add(&text,
		 "udp: port %u, %u peers, receive buffer %d bytes, segments on receive %s\n"
		 "  receive calls %llu, copied %llu, landings free %u of %u, slots free %u of %u\n",
		 d->port, d->n_peers, rx->receive_buffer, rx->has_gro ? "merged" : "single",
		 (unsigned long long)rx->calls, (unsigned long long)rx->copies, rx->n_free_landings,
		 PMU_LANDINGS, rx->n_free_slots, rx->n_slots);
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		const struct pmu_rail *rail = &d->rails[r];

		text_add(&text,
			 "  rail %u %s %s/%u %s%s: packet %u, send buffer %d, segmentation %s, "
			 "waiting %u, send calls %llu, uncopied %llu, lost %llu, error reports "
			 "%llu\n",
			 r, rail->iface.name, pmu_addr_text(rail->iface.address, address),
			 rail->iface.prefix, rail->is_up ? "up" : "down",
			 rail->is_blocked ? " full" : "", rail->iface.payload, rail->send_buffer,
			 rail->has_gso ? "on" : "off", rail->tail - rail->head,
			 (unsigned long long)rail->calls, (unsigned long long)rail->shown,
			 (unsigned long long)rail->lost, (unsigned long long)rail->errors);
	}
	if (d->trouble[0])
		text_add(&text, "  last trouble (%u of routes): %s\n", d->route_troubles,
			 d->trouble);
	return (int)text.len;
}

static uint64_t udp_memory(struct pm_dev *dev)
{
	const struct pmu_dev *d = pmu_of(dev);
	uint64_t per_peer = sizeof(struct pmu_peer) + d->dev.n_rails * sizeof(uint32_t);

	return sizeof(*d) + d->arena.size + d->dev.tx_buffers * sizeof(struct pm_packet) +
	       d->rx.arena_bytes + d->rx.n_slots * sizeof(uint32_t) +
	       d->room_peers * sizeof(struct pmu_peer *) + d->n_peers * per_peer;
}

const struct pm_packet_ops pm_udp_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "udp",
	.open = udp_open,
	.close = udp_close,
	.address = udp_address,
	.peer_add = udp_peer_add,
	.peer_del = udp_peer_del,
	.mtu = udp_mtu,
	.tx_alloc = pmu_tx_alloc,
	.tx_free = pmu_tx_free,
	.tx_post = pmu_tx_post,
	.tx_alloc_run = pmu_tx_alloc_run,
	.tx_free_run = pmu_tx_free_run,
	.tx_post_run = pmu_tx_post_run,
	.tx_kick = pmu_tx_kick,
	.rx_burst = pmu_rx_burst,
	.rx_return = pmu_rx_return,
	.peer_event = pmu_error_event,
	.rail_state = pmu_link_state,
	.poll_fds = pmu_sleep_fds,
	.arm = pmu_sleep_arm,
	.disarm = pmu_sleep_disarm,
	.suspend = udp_suspend,
	.resume = udp_resume,
	.dump = udp_dump,
	.memory = udp_memory,
};
