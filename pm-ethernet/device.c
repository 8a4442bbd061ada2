// SPDX-License-Identifier: BSD-3-Clause
/*
 * device - the operations table of ethernet: open and close, rails, suspend and resume, dump. The
 * daemon, memory, packets and peers are the business of the other files.
 */
#include "pm-ethernet/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-ethernet/ethernet.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/text.h"

_Static_assert(sizeof(((struct stats_rail *)0)->name) == ETH_NAME, "rail name");

/*
 * Packets that may be held unreturned: enough for two windows, few enough that copies of all of
 * them stay small.
 */
#define RX_SLOTS_MIN 1024u
#define RX_SLOTS_MAX 8192u

/*
 * Kicks with nothing to send, of which one looks for completions: the look reads a cache line that
 * the kernel writes.
 */
#define REAP_IDLE 64u

/* ---- open and close ---- */

static void ethernet_close(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	for (uint32_t i = 0; i < d->n_sockets; i++)
		if (d->tx_waiting >> i & 1)
			eth_tx_flush(d, i);
	eth_lease_close(d);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	for (uint32_t i = 0; i < d->n_peers; i++)
		free(d->peers[i]);
	free(d->peers);
	eth_tx_fini(d);
	eth_rx_fini(d);
	free(d);
}

static uint32_t slots_for(const struct conf *conf)
{
	uint32_t n = 2 * conf->window;

	return n < RX_SLOTS_MIN ? RX_SLOTS_MIN : n > RX_SLOTS_MAX ? RX_SLOTS_MAX : n;
}

/* Numbers and names of the rails granted, and the packets they carry. */
static void take_rails(struct eth_dev *d)
{
	const struct eth_granted *g = &d->granted;

	d->dev.n_rails = g->n_rails;
	for (uint32_t h = 0; h < ETH_RAILS; h++)
		d->rail_of[h] = PM_RAILS_MAX;
	for (uint32_t r = 0; r < g->n_rails; r++) {
		const struct eth_granted_rail *rail = &g->rails[r];

		d->rail_of[rail->host_rail] = r;
		if (eth_payload(rail->mtu) > d->payload)
			d->payload = eth_payload(rail->mtu);
		memcpy(d->env.rails[r].name, rail->name, sizeof(d->env.rails[r].name));
	}
}

static int set_up(struct eth_dev *d)
{
	int err = eth_sleep_open(d);

	if (!err)
		err = eth_lease_open(d);
	if (err)
		return err;
	take_rails(d);
	err = eth_ways_init(d);
	if (err)
		return err;
	if (d->granted.tx_packets < d->dev.tx_buffers)
		d->dev.tx_buffers = d->granted.tx_packets;
	err = eth_tx_init(d, d->dev.tx_buffers);
	if (!err)
		err = eth_rx_init(d, d->dev.rx_buffers);
	if (err)
		snprintf(d->env.why, d->env.why_size, "ethernet: no memory for the packets: %s",
			 strerror(-err));
	return err;
}

static int ethernet_open(const struct pm_device_env *env, struct pm_dev *lower,
			 struct pm_dev **ret_dev)
{
	struct eth_dev *d;
	int err;

	(void)lower;
	if (!env->job_key) {
		snprintf(env->why, env->why_size,
			 "ethernet: the job has no key; set job_key in pmOptions to a random "
			 "number");
		return -EOPNOTSUPP;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->dev.ops = &pm_ethernet_ops;
	d->dev.is_cheap = true;
	d->dev.tx_buffers = env->conf->send_buffers;
	d->dev.rx_buffers = slots_for(env->conf);
	d->env = *env;
	d->lease = d->epoll_fd = d->inbox.fd = -1;
	for (uint32_t i = 0; i <= ETH_NOWHERE; i++)
		d->sockets[i].fd = -1;
	err = set_up(d);
	if (err) {
		ethernet_close(&d->dev);
		return err;
	}
	/* a hypercrossbar has no IP route beyond its next neighbours */
	d->dev.takes_lane = !d->grid.n_dims;
	*ret_dev = &d->dev;
	return 0;
}

/* ---- rails ---- */

/*
 * Asked every few milliseconds: often enough to learn of other ways, which would cost each packet
 * something.
 */
static enum pm_rail_state ethernet_rail_state(struct pm_dev *dev, uint32_t r)
{
	struct eth_dev *d = eth_of(dev);

	if (d->is_steering)
		eth_ways_refresh(d);
	if (eth_rail_is_up(d, r))
		return PM_RAIL_UP;
	/* what waits for a dead rail can go by another only when we let it go */
	if (!eth_is_port(d) && d->sockets[r].outstanding)
		eth_tx_withdraw(d, r);
	return eth_ways_lead_around(d, r) ? PM_RAIL_UP : PM_RAIL_DOWN;
}

/* ---- sending ---- */

/*
 * Nothing new is to be sent: looks after frames that were sent before, and after drivers that wait.
 */
static void look_after(struct eth_dev *d)
{
	if (++d->idle % REAP_IDLE)
		return;
	eth_completion_reap_all(d);
	eth_rx_look_after(d);
}

static void ethernet_kick(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	if (d->tx_waiting)
		eth_tx_kick(dev);
	else
		look_after(d);
}

/* ---- suspend and resume ---- */

static int ethernet_suspend(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	eth_tx_forget(d);
	return eth_lease_suspend(d);
}

/* Packets, rails and ways were made for what was granted first. */
static bool is_alike(const struct eth_dev *d, const struct eth_granted *before)
{
	const struct eth_granted *g = &d->granted;

	if (g->n_rails != before->n_rails || g->attachment != before->attachment ||
	    memcmp(&d->grid, &d->board->grid.grid, sizeof(d->grid)))
		return false;
	for (uint32_t r = 0; r < g->n_rails; r++)
		if (strcmp(g->rails[r].name, before->rails[r].name) ||
		    g->rails[r].mtu != before->rails[r].mtu)
			return false;
	return true;
}

static int ethernet_resume(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);
	struct eth_granted before = d->granted;
	int err = eth_lease_resume(d);

	if (err)
		return err;
	if (!is_alike(d, &before)) {
		snprintf(d->env.why, d->env.why_size,
			 "ethernet: rails, MTU, attachment or topology changed while the context "
			 "was suspended; restore it where they are as before");
		return -EPROTO;
	}
	take_rails(d);
	err = eth_ways_init(d);
	return err ? err : eth_rx_attach(d);
}

/* ---- observation ---- */

static int ethernet_dump(struct pm_dev *dev, char *buf, size_t room)
{
	struct eth_dev *d = eth_of(dev);
	const struct eth_granted *g = &d->granted;
	struct text text = {.buf = buf, .room = room};

	text_add(&text,
		 "ethernet: host %u context %u, %s, %s mode, slot %u of %u, %u peers, packets free "
		 "%u "
		 "of %u, copied %llu, slots free %u of %u\n",
		 g->host, g->context, eth_is_port(d) ? "port" : "direct",
		 eth_has_inbox(d) ? "tc"
		 : g->is_native   ? "native"
				  : "generic",
		 g->slot, g->n_slots, d->n_peers, d->pool.n_free, d->dev.tx_buffers,
		 (unsigned long long)d->copies, d->n_free_slots, d->n_slots);
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		text_add(&text, "  rail %u %s (%u of the host): mtu %u, %s\n", r, g->rails[r].name,
			 g->rails[r].host_rail, g->rails[r].mtu,
			 d->board->rails[g->rails[r].host_rail].is_up ? "up" : "down");
	if (d->grid.n_dims)
		text_add(&text, "  hypercrossbar: %u dimensions, %u points, astray %llu\n",
			 d->grid.n_dims, d->grid.n_points, (unsigned long long)d->n_astray);
	if (eth_has_inbox(d))
		text_add(&text, "  inbox: %u bytes, strange %llu\n", g->inbox_bytes,
			 (unsigned long long)d->inbox.strange);
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		const struct eth_socket *s = &d->sockets[i];

		text_add(&text,
			 "  socket %u%s%s: open posts %u, send calls %llu, lent %u of %u chunks, "
			 "lost "
			 "%llu, strange %llu\n",
			 i, s->is_zero_copy ? " zero-copy" : "", s->is_blocked ? " full" : "",
			 s->outstanding, (unsigned long long)s->calls, s->lent, g->rx_chunks,
			 (unsigned long long)s->lost, (unsigned long long)s->strange);
	}
	return (int)text.len;
}

static uint64_t ethernet_memory(struct pm_dev *dev)
{
	const struct eth_dev *d = eth_of(dev);
	uint64_t per_peer = sizeof(struct eth_peer) + d->dev.n_rails * sizeof(struct eth_frame);
	uint64_t sum = sizeof(*d) + d->tx_area_bytes + d->granted.inbox_bytes +
		       d->dev.tx_buffers * sizeof(struct eth_packet) +
		       (uint64_t)d->n_slots * (d->slot_bytes + sizeof(uint32_t)) +
		       d->room_peers * sizeof(struct eth_peer *) + d->n_peers * per_peer;

	for (const struct eth_area *area = d->areas; area; area = area->next)
		sum += sizeof(*area) + area->size;
	return sum;
}

const struct pm_packet_ops pm_ethernet_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "ethernet",
	.open = ethernet_open,
	.close = ethernet_close,
	.address = eth_peer_address,
	.peer_add = eth_peer_add,
	.peer_del = eth_peer_del,
	.mtu = eth_peer_mtu,
	.tx_alloc = eth_tx_alloc,
	.tx_free = eth_tx_free,
	.tx_post = eth_tx_post,
	.tx_kick = ethernet_kick,
	.rx_burst = eth_rx_burst,
	.rx_return = eth_rx_return,
	.peer_event = eth_peer_event,
	.rail_state = ethernet_rail_state,
	.poll_fds = eth_sleep_fds,
	.arm = eth_sleep_arm,
	.disarm = eth_sleep_disarm,
	.suspend = ethernet_suspend,
	.resume = ethernet_resume,
	.dump = ethernet_dump,
	.memory = ethernet_memory,
};
