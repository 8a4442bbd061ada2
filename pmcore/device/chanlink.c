// SPDX-License-Identifier: BSD-3-Clause
/*
 * chanlink - the channel engine bound to a packet device. Owns the job clock, the burst loop and
 * the list of peers found dead. The link peer of the contract is the engine's own peer: no second
 * lookup.
 */
#include "pmcore/device/chanlink_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/stubs.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/copy.h"

#define BURST 64
/* Carrier changes and network errors are looked for once in so many polls that brought nothing, and
 * whenever the clock has moved that far. */
#define EVENT_INTERVAL_NS 2000000ull
/*
 * Where a look at the rings is cheaper than one at the clock, timers are looked after once in so
 * many polls that brought nothing.
 */
#define IDLE_POLLS 8u

static struct chan_peer *peer_of(struct pm_link_peer *peer)
{
	return (struct chan_peer *)peer;
}

/* ---- progress ---- */

static uint64_t now(struct chanlink *c)
{
	uint64_t asleep = c->asleep_ns;

	c->asleep_ns = 0;
	return job_clock_read(&c->clock, asleep);
}

static void kick(struct chanlink *c)
{
	if (c->is_kick_due)
		chanlink_start(c);
}

void chanlink_settle(struct chanlink *c)
{
	uint64_t cookie = c->released;

	if (!cookie)
		return;
	c->released = 0;
	chan_release(c->chan, cookie);
}

static void look_at_events(struct chanlink *c, uint64_t t)
{
	uint32_t node;

	c->next_events = t + EVENT_INTERVAL_NS;
	for (uint32_t r = 0; r < c->dev->n_rails; r++) {
		bool is_up = c->ops->rail_state(c->dev, r) == PM_RAIL_UP;

		if (is_up != (c->rails_up >> r & 1)) {
			c->rails_up ^= 1u << r;
			chan_rail(c->chan, r, is_up, t);
		}
	}
	while (c->ops->peer_event(c->dev, &node) == 1) {
		struct chan_peer *peer = chan_peer_find(c->chan, node);

		if (peer && !chan_peer_is_dead(peer))
			chan_peer_dead(c->chan, peer, EPIPE);
	}
}

/* Handles @n packets that have come, timers, and events of the rails. */
static void work(struct chanlink *c, const struct pm_rx *rx, int n)
{
	uint64_t t = now(c);

	chan_input(c->chan, rx, (uint32_t)n, t);
	if (t >= c->next_events)
		look_at_events(c, t);
	if (c->is_full) {
		/* the engine does not ask again by itself: see what the rail takes now */
		c->is_full = false;
		chanlink_start(c);
		chan_poll(c->chan, t);
	} else if (n || chan_deadline(c->chan) <= t) {
		chan_poll(c->chan, t);
	}
	/* also when nothing new was posted: what a full rail left in its ring may go now */
	chanlink_start(c);
}

void chanlink_progress(struct chanlink *c)
{
	struct pm_rx rx[BURST];

	chanlink_settle(c);
	work(c, rx, c->ops->rx_burst(c->dev, rx, BURST));
}

/* The same for one of many polls. */
static void poll_once(struct chanlink *c)
{
	struct pm_rx rx[BURST];
	int n;

	chanlink_settle(c);
	n = c->ops->rx_burst(c->dev, rx, BURST);
	if (n || !c->dev->is_cheap || c->is_full || ++c->idle % IDLE_POLLS == 0)
		work(c, rx, n);
}

/* One of those that were found dead. */
static int report_dead(struct chanlink *c, struct pm_inbound *ret)
{
	struct chanlink_dead *dead = &c->dead[--c->n_dead];

	ret->src = dead->node;
	if (dead->is_silent)
		snprintf(
			c->env.why, c->env.why_size,
			"node %u: it has not answered for %u ms (channel.peer_timeout); look after "
			"its process, its host and the way there",
			dead->node, c->env.conf->peer_timeout_ms);
	else if (dead->why)
		snprintf(c->env.why, c->env.why_size, "%s", dead->why);
	free(dead->why);
	return -EPIPE;
}

/* A message that has come, else -EPIPE for a peer that is dead, or 0. */
static __attribute__((noinline)) int poll_for(struct chanlink *c, struct pm_inbound *ret,
					      struct chan_msg *msg)
{
	poll_once(c);
	if (c->n_dead)
		return report_dead(c, ret);
	return chan_next(c->chan, msg);
}

static int chanlink_receive(struct pm_link *link, struct pm_inbound *ret)
{
	struct chanlink *c = of(link);
	struct chan_msg msg;
	int rc;

	if (!chan_next(c->chan, &msg)) {
		rc = poll_for(c, ret, &msg);
		if (rc <= 0)
			return rc;
	}
	ret->buf = msg.data;
	ret->len = msg.len;
	ret->src = msg.src;
	ret->cookie = msg.cookie;
	return 1 + msg.is_carried;
}

static uint32_t chanlink_receive_more(struct pm_link *link, uint64_t cookie,
				      struct iovec *ret_parts, uint32_t room)
{
	return chan_next_row(of(link)->chan, cookie, ret_parts, room);
}

/*
 * An answer is likely to follow, and shall not wait for this; the peer hears of it at a poll
 * anyway. Polls of a device that is not cheap may be far apart.
 */
static void chanlink_release(struct pm_link *link, uint64_t cookie)
{
	struct chanlink *c = of(link);

	if (!c->dev->is_cheap) {
		chan_release(c->chan, cookie);
		return;
	}
	chanlink_settle(c);
	c->released = cookie;
}

/* ---- life ---- */

static int open_engine(struct chanlink *c)
{
	const struct conf *conf = c->env.conf;
	struct chan_config config = {
		.self = c->env.self,
		.key = c->env.job_key,
		.window = conf->window,
		.credit = conf_credit(conf, c->env.nodes),
		.rx_buffers = c->dev->rx_buffers,
		.tx_buffers = c->dev->tx_buffers,
		.burst = c->dev->burst,
		.n_rails = c->dev->n_rails,
		.bulk_rails = (uint8_t)c->dev->bulk_rails,
		.is_bulk_forced = conf->ethernet_lane == CONF_LANE_ALWAYS,
		.crc = conf->crc,
		.can_gather = c->dev->can_gather,
		.can_show = c->dev->can_show,
		.pull_bytes = conf->pull_bytes,
		.peer_timeout_ns = conf->peer_timeout_ms * 1000000ull,
		.regions = c->env.regions,
		.stats = c->env.stats,
		.rails = c->env.rails,
	};

	return chan_create(&config, &chanlink_engine_ops, c, &c->chan);
}

static void chanlink_close(struct pm_link *link)
{
	struct chanlink *c = of(link);

	kick(c);
	chan_destroy(c->chan);
	layers_close(&c->layers);
	while (c->n_dead)
		free(c->dead[--c->n_dead].why);
	free(c->dead);
	free(c);
}

static int chanlink_address(struct pm_link *link, void *buf, size_t room)
{
	return of(link)->ops->address(of(link)->dev, buf, room);
}

static int chanlink_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			     struct pm_link_peer **ret_peer)
{
	struct chanlink *c = of(link);
	/* heard from already? */
	struct chan_peer *peer = chan_peer_find(c->chan, node);
	int err = peer ? 0 : chanlink_add_peer(c, node, addr, len, &peer);

	if (!err)
		*ret_peer = (struct pm_link_peer *)peer;
	return err;
}

static void chanlink_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
	struct chanlink *c = of(link);
	void *dev_peer = chan_peer_dev(peer_of(peer));

	chan_peer_del(c->chan, peer_of(peer));
	c->ops->peer_del(c->dev, dev_peer);
}

static uint32_t chanlink_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	struct chanlink *c = of(link);

	if (peer)
		return chan_peer_mtu(peer_of(peer));
	return c->ops->mtu(c->dev, NULL) - WIRE_OVERHEAD;
}

/* ---- two-sided ---- */

static int chanlink_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			     void **ret_buf, uint64_t *ret_cookie)
{
	struct pm_packet *packet;
	int err = chan_reserve(of(link)->chan, peer_of(peer), len, &packet, ret_buf);

	if (!err)
		*ret_cookie = (uint64_t)(uintptr_t)packet;
	return err;
}

/* A held message needs no time of its own. */
static inline __attribute__((always_inline)) uint64_t now_for(struct chanlink *c,
							      const struct chan_peer *peer)
{
	return c->is_corked && chan_will_hold(c->chan, peer) ? c->clock.now : now(c);
}

/* A message was given to the engine. */
static void look_after(struct chanlink *c)
{
	c->is_single = false;
	if (!c->is_corked)
		kick(c);
	/* what is held goes with the very next poll, not with one of several */
	else if (c->is_kick_due || !chan_deadline(c->chan))
		c->idle = IDLE_POLLS - 1;
}

static int chanlink_post(struct pm_link *link, struct pm_link_peer *peer, const void *data,
			 uint32_t len)
{
	struct chanlink *c = of(link);
	int err;

	c->is_single = !c->is_corked;
	err = chan_post(c->chan, peer_of(peer), data, len, now_for(c, peer_of(peer)));
	look_after(c);
	return err;
}

static int chanlink_post_row(struct pm_link *link, struct pm_link_peer *peer,
			     const struct pm_row *row, uint64_t *ret_done)
{
	struct chanlink *c = of(link);
	int err = chan_post_row(c->chan, peer_of(peer), row, now(c), ret_done);

	look_after(c);
	return err;
}

static int chanlink_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie,
			 uint32_t len)
{
	struct chanlink *c = of(link);
	struct pm_packet *packet = (struct pm_packet *)(uintptr_t)cookie;

	if (!len) {
		chan_discard(c->chan, peer_of(peer), packet);
		return 0;
	}
	c->is_single = !c->is_corked;
	chan_submit(c->chan, peer_of(peer), packet, len, now_for(c, peer_of(peer)));
	look_after(c);
	return 0;
}

static int chanlink_carry(struct pm_link *link, struct pm_link_peer *peer, const void *head,
			  uint32_t head_len, const void *data, uint32_t len)
{
	struct chanlink *c = of(link);
	struct pm_packet *packet;
	void *payload;
	int err = chan_reserve(c->chan, peer_of(peer), head_len + len, &packet, &payload);

	if (err)
		return err;
	memcpy(payload, head, head_len);
	if (len)
		copy_bytes((uint8_t *)payload + head_len, data, len);
	c->is_single = !c->is_corked;
	chan_submit_carried(c->chan, peer_of(peer), packet, head_len + len,
			    now_for(c, peer_of(peer)));
	look_after(c);
	return 0;
}

static void chanlink_await(struct pm_link *link, struct pm_link_peer *peer, bool is_on)
{
	chan_await(of(link)->chan, peer_of(peer), is_on, now(of(link)));
}

static bool chanlink_is_gone(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link;
	return chan_peer_is_dead(peer_of(peer));
}

static int chanlink_probe(struct pm_link *link, struct pm_link_peer *peer)
{
	struct chanlink *c = of(link);
	int err = chan_probe(c->chan, peer_of(peer), now(c));

	kick(c);
	return err;
}

static int chanlink_ask(struct pm_link *link, struct pm_link_peer *peer)
{
	struct chanlink *c = of(link);
	int err = chan_ask(c->chan, peer_of(peer), now(c));

	kick(c);
	return err;
}

static void chanlink_cork(struct pm_link *link, bool is_on)
{
	struct chanlink *c = of(link);

	chan_cork(c->chan, is_on);
	c->is_corked = is_on;
	if (is_on)
		return;
	if (!chan_deadline(c->chan))
		chan_poll(c->chan, now(c));
	kick(c);
}

static int chanlink_send_out(struct pm_link *link, struct pm_link_peer *peer)
{
	return chan_is_out(peer_of(peer)) && !of(link)->is_kick_due ? 0 : -EAGAIN;
}

static int chanlink_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	if (peer && chan_peer_is_dead(peer_of(peer)))
		return -EPIPE;
	return chan_is_acked(of(link)->chan, peer_of(peer)) ? 0 : -EAGAIN;
}

/* ---- one-sided ---- */

static int chanlink_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
			 uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	struct chanlink *c = of(link);
	int err = chan_read(c->chan, peer_of(peer), rkey, roffset, local, len, now(c), ret_op);

	kick(c);
	return err;
}

static int chanlink_write(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
			  uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op)
{
	struct chanlink *c = of(link);
	int err = chan_write(c->chan, peer_of(peer), rkey, roffset, local, len, now(c), ret_op);

	kick(c);
	return err;
}

static int chanlink_rma_done(struct pm_link *link, uint32_t op)
{
	return chan_op_done(of(link)->chan, op);
}

/* A key is looked up when it comes. */
static void chanlink_exported(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len)
{
	(void)link, (void)rkey, (void)addr, (void)len;
}

static void chanlink_unexport(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len)
{
	chan_unexport(of(link)->chan, rkey, addr, len);
}

/* ---- sleeping ---- */

static int chanlink_poll_fds(struct pm_link *link, int *fds, int room)
{
	return of(link)->ops->poll_fds(of(link)->dev, fds, room);
}

static int chanlink_arm(struct pm_link *link, uint64_t *timeout_ns)
{
	struct chanlink *c = of(link);
	uint64_t t, deadline, events;

	chanlink_progress(c);
	if (c->n_dead || chan_has_messages(c->chan) || c->ops->arm(c->dev))
		return 1;
	t = now(c);
	deadline = chan_deadline(c->chan);
	if (deadline <= t) {
		c->ops->disarm(c->dev);
		return 1;
	}
	/*
	 * a lost carrier or an unreachable port shows only when we look: keep looking while it
	 * matters
	 */
	events = chan_is_acked(c->chan, NULL) ? UINT64_MAX : 5 * EVENT_INTERVAL_NS;
	if (deadline != UINT64_MAX && deadline - t < *timeout_ns)
		*timeout_ns = deadline - t;
	if (events < *timeout_ns)
		*timeout_ns = events;
	c->asleep_ns = *timeout_ns;
	return 0;
}

static void chanlink_disarm(struct pm_link *link)
{
	of(link)->ops->disarm(of(link)->dev);
}

static const struct pm_link_ops link_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "channel",
	.close = chanlink_close,
	.address = chanlink_address,
	.peer_add = chanlink_peer_add,
	.peer_del = chanlink_peer_del,
	.mtu = chanlink_mtu,
	.get_send = chanlink_get_send,
	.send = chanlink_send,
	.post = chanlink_post,
	.post_row = chanlink_post_row,
	.probe = chanlink_probe,
	.ask = chanlink_ask,
	.cork = chanlink_cork,
	.send_out = chanlink_send_out,
	.send_done = chanlink_send_done,
	.carry = chanlink_carry,
	.await = chanlink_await,
	.is_gone = chanlink_is_gone,
	.receive = chanlink_receive,
	.receive_more = chanlink_receive_more,
	.release = chanlink_release,
	.read = chanlink_read,
	.write = chanlink_write,
	.rma_done = chanlink_rma_done,
	.exported = chanlink_exported,
	.unexport = chanlink_unexport,
	.poll_fds = chanlink_poll_fds,
	.arm = chanlink_arm,
	.disarm = chanlink_disarm,
	.quiesce = chanlink_quiesce,
	.resume = chanlink_resume,
	.save = chanlink_save,
	.restore = chanlink_restore,
	.dump = chanlink_dump,
	.memory = chanlink_memory,
};

int chanlink_open(const struct pm_packet_ops *ops, const struct pm_device_env *env,
		  struct pm_link **ret_link)
{
	struct chanlink *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->link.ops = &link_ops;
	c->link.is_expensive = true;
	c->env = *env;
	job_clock_init(&c->clock);
	err = layers_open(ops, env, &c->layers);
	if (err)
		goto close;
	c->dev = c->layers.all[c->layers.n - 1].dev;
	c->ops = c->dev->ops;
	c->rails_up = (1u << c->dev->n_rails) - 1;
	err = open_engine(c);
	if (err)
		goto close;
	c->link.can_carry = true;
	*ret_link = &c->link;
	return 0;

close:
	layers_close(&c->layers);
	free(c);
	return err;
}

uint32_t chanlink_rails(const struct pm_link *link)
{
	return link->ops == &link_ops ? ((const struct chanlink *)link)->dev->n_rails : 0;
}
