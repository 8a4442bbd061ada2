// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pm-verbs/datagram/liveness.h"
#include "pm-verbs/datagram/peer.h"
#include "pm-verbs/datagram/rail.h"
#include "pm-verbs/datagram/rx.h"
#include "pm-verbs/datagram/sleep.h"
#include "pm-verbs/datagram/trouble.h"
#include "pm-verbs/datagram/tx.h"
#include "pm-verbs/hw/discover.h"
#include "pm-verbs/hw/opening.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

/* Registered receive buffers of a rail, which take bursts, and their number. */
#define RX_BYTES (4u << 20)
#define RX_MIN 256u
#define RX_MAX 4096u
/* Packets that may be held unreturned, all rails together: enough for two windows. */
#define SLOTS_MIN 1024u
#define CLOSE_NS 100000000ull /* longest wait for the last packets to leave: 100 ms */

/* ---- open and close ---- */

static bool is_sending(const struct pmvd_dev *d)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (pmvd_rail_is_running(&d->rails[r]) &&
		    d->rails[r].tx.head != d->rails[r].tx.tail)
			return true;
	return false;
}

/* The last packets may be those that others wait for. */
static void send_last(struct pmvd_dev *d)
{
	uint64_t end = clock_monotonic_ns() + CLOSE_NS;

	do
		pmvd_tx_kick(&d->dev);
	while (is_sending(d) && clock_monotonic_ns() < end);
}

static void close_rails(struct pmvd_dev *d)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		pmvd_rail_close(d, &d->rails[r]);
}

static void datagram_close(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);

	send_last(d);
	close_rails(d);
	pmvd_liveness_close(d);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	pmvd_peers_fini(d);
	pmvd_tx_fini(d);
	pmvd_rx_fini(d);
	free(d);
}

static int discover(struct pmvd_dev *d, int (*take)(void *arg, const struct pmv_port *port, int gid,
						    struct ibv_device *device))
{
	const struct pmv_discovery discovery = {.v = d->v,
						.conf = d->env.conf,
						.why = d->env.why,
						.why_size = d->env.why_size,
						.note = d->env.note,
						.note_size = d->env.note_size,
						.take = take,
						.arg = d};

	return pmv_discover(&discovery);
}

static int take_port(void *arg, const struct pmv_port *port, int gid, struct ibv_device *device)
{
	struct pmvd_dev *d = arg;
	uint32_t r = d->dev.n_rails;
	struct stats_rail *stats = &d->env.rails[r];

	d->rails[r].index = (uint8_t)r;
	if (port->mtu > d->payload)
		d->payload = port->mtu;
	snprintf(stats->name, sizeof(stats->name), "%.12s:%u", port->device, port->number);
	d->dev.n_rails++;
	return pmvd_rail_take(d, &d->rails[r], port, gid, device);
}

/* Buffers for packets as large as any rail has them. */
static int make_buffers(struct pmvd_dev *d)
{
	uint32_t window = d->env.conf->window, n;
	int err;

	d->stride = PMVD_HEAD + d->payload;
	n = RX_BYTES / d->stride;
	n = n < RX_MIN ? RX_MIN : n > RX_MAX ? RX_MAX : n;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		d->rails[r].rx.n = n;
	d->dev.tx_buffers = d->env.conf->send_buffers;
	d->dev.rx_buffers = 2 * window > SLOTS_MIN ? 2 * window : SLOTS_MIN;
	err = pmvd_tx_init(d, d->dev.tx_buffers);
	return err ? err : pmvd_rx_init(d, d->dev.rx_buffers);
}

static int set_up(struct pmvd_dev *d)
{
	int err;

	d->q_key = pmv_q_key(d->env.job_key, PMV_PACKETS);
	d->v = pmv_load(d->env.why, d->env.why_size);
	if (!d->v)
		return -ENODEV;
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll_fd < 0)
		return -errno;
	err = discover(d, take_port);
	if (!err)
		err = make_buffers(d);
	for (uint32_t r = 0; !err && r < d->dev.n_rails; r++)
		err = pmvd_rail_open(d, &d->rails[r]);
	if (!err)
		pmvd_liveness_open(d);
	return err;
}

static int datagram_open(const struct pm_device_env *env, struct pm_dev *lower,
			 struct pm_dev **ret_dev)
{
	struct pmvd_dev *d = calloc(1, sizeof(*d));
	int err;

	(void)lower;
	if (!d)
		return -ENOMEM;
	d->dev.ops = &pm_verbs_datagram_ops;
	d->dev.is_cheap = true;
	d->env = *env;
	d->epoll_fd = d->answer_fd = d->probe_fd = -1;
	err = set_up(d);
	d->env.note = NULL;
	if (err) {
		datagram_close(&d->dev);
		return err;
	}
	*ret_dev = &d->dev;
	return 0;
}

/* ---- suspend and resume ---- */

static int datagram_suspend(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);

	send_last(d);
	close_rails(d);
	return 0;
}

/* Ports that have come since have no rail, and buffers keep their size. */
static int take_port_again(void *arg, const struct pmv_port *port, int gid,
			   struct ibv_device *device)
{
	struct pmvd_dev *d = arg;

	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		struct pmvd_rail *rail = &d->rails[r];
		struct pmv_port same = *port;

		if (rail->port.number != port->number || strcmp(rail->port.device, port->device) ||
		    port->mtu > d->payload)
			continue;
		/* it keeps its number, whichever others are active now */
		same.skipped = rail->port.skipped;
		return pmvd_rail_take(d, rail, &same, gid, device);
	}
	return 0;
}

/* A rail whose port has gone stays closed, unless it was the last. */
static int datagram_resume(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);
	int err = discover(d, take_port_again);
	uint32_t n_open = 0;

	for (uint32_t r = 0; !err && r < d->dev.n_rails; r++) {
		if (!d->rails[r].context)
			continue;
		err = pmvd_rail_open(d, &d->rails[r]);
		n_open++;
	}
	if (!err && !n_open) {
		snprintf(d->env.why, d->env.why_size,
			 "verbs: none of the ports is there any more: bring one of them up");
		err = -ENODEV;
	}
	if (err)
		close_rails(d);
	return err;
}

/* ---- observation ---- */

static void dump_rail(const struct pmvd_rail *rail, struct text *text)
{
	const struct pmv_gid *gid = &rail->port.gids[rail->gid];

	text_add(text,
		 "  rail %u: %s:%u, %s, address %u, MTU %u%s%s: waiting %u of %u, %u bytes inline, "
		 "lent %u of %u buffers, lost %llu, restarts %llu%s%s\n",
		 rail->index, rail->port.device, rail->port.number,
		 pmv_protocol_name(gid->protocol), gid->index, rail->port.mtu,
		 rail->is_port_down ? ", down" : "",
		 !rail->qp         ? ", closed"
		 : rail->is_failed ? ", failed"
				   : "",
		 rail->tx.tail - rail->tx.head, rail->tx.depth, rail->tx.max_inline,
		 rail->rx.n_lent, rail->rx.n, (unsigned long long)rail->lost,
		 (unsigned long long)rail->restarts, rail->trouble[0] ? ", last: " : "",
		 rail->trouble);
}

static int datagram_dump(struct pm_dev *dev, char *buf, size_t room)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct text text = {.buf = buf, .room = room};

	text_add(&text,
		 "verbs-datagram: %u peers, copied %llu, slots free %u of %u, ways not found %llu, "
		 "probes %llu\n",
		 d->n_peers, (unsigned long long)d->copies, d->n_free_slots, d->n_slots,
		 (unsigned long long)d->failed_ways, (unsigned long long)d->probes);
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		dump_rail(&d->rails[r], &text);
	if (d->n_refusals)
		text_add(&text, "  %u calls refused by devices, last: %s\n", d->n_refusals,
			 d->refusal);
	return (int)text.len;
}

static uint64_t datagram_memory(struct pm_dev *dev)
{
	const struct pmvd_dev *d = pmvd_of(dev);
	uint64_t per_peer = sizeof(struct pmvd_peer) + d->dev.n_rails * sizeof(struct pmvd_way);
	uint64_t sum = sizeof(*d) + d->packet_memory_bytes +
		       d->dev.tx_buffers * sizeof(struct pm_packet) +
		       (uint64_t)d->n_slots * (d->payload + sizeof(uint32_t)) +
		       d->room_peers * sizeof(struct pmvd_peer *) + d->n_peers * per_peer;

	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		sum += d->rails[r].rx.memory_bytes +
		       d->rails[r].rx.n * (sizeof(uint32_t) + sizeof(uint8_t));
	return sum;
}

const struct pm_packet_ops pm_verbs_datagram_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "verbs-datagram",
	.open = datagram_open,
	.close = datagram_close,
	.address = pmvd_peer_address,
	.peer_add = pmvd_peer_add,
	.peer_del = pmvd_peer_del,
	.mtu = pmvd_peer_mtu,
	.tx_alloc = pmvd_tx_alloc,
	.tx_free = pmvd_tx_free,
	.tx_post = pmvd_tx_post,
	.tx_kick = pmvd_tx_kick,
	.rx_burst = pmvd_rx_burst,
	.rx_return = pmvd_rx_return,
	.peer_event = pmvd_liveness_event,
	.rail_state = pmvd_rail_state,
	.poll_fds = pmvd_sleep_fds,
	.arm = pmvd_sleep_arm,
	.disarm = pmvd_sleep_disarm,
	.suspend = datagram_suspend,
	.resume = datagram_resume,
	.dump = datagram_dump,
	.memory = datagram_memory,
};
