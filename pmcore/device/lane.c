// SPDX-License-Identifier: BSD-3-Clause
/*
 * lane - see lane.h; lane_send.c has what leaves. Each look at the datagrams' socket is a system
 * call, so it is looked at each time only while something goes by it.
 */
#include "pmcore/device/lane_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/registry.h"
#include "pmcore/device/stubs.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

/*
 * The published address, little-endian: version 1, zero 1, bytes of the frames' part 2, that part,
 * then the datagrams' part, which may be empty.
 */
#define VERSION 1
#define HEAD 4

/* Tokens of packets that came by datagrams: those of the device, and this bit. */
#define TOKEN_DATAGRAM (1ull << PM_TOKEN_BITS)
/*
 * Of datagrams that count as quiet (LANE_WARM_LOOKS) one look in COLD_LOOKS is made, and none
 * within QUIET_LOOKS of a frame. So a program that waits for the answer to a short message spends
 * no system call on them.
 */
#define COLD_LOOKS 32u
#define QUIET_LOOKS 128u

/* ---- life ---- */

static void lane_close(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);

	if (l->datagrams)
		l->ops.close(l->datagrams);
	while (!LIST_EMPTY(&l->peers)) {
		struct lane_peer *peer = LIST_FIRST(&l->peers);

		LIST_REMOVE(peer, all);
		free(peer);
	}
	free(l);
}

/* The datagrams take the interfaces of the frames. */
static void name_rails(struct lane_dev *l, const struct stats_rail *rails)
{
	l->conf.n_udp_rails = l->frames->n_rails;
	for (uint32_t r = 0; r < l->frames->n_rails; r++)
		snprintf(l->conf.udp_rails[r], sizeof(l->conf.udp_rails[r]), "%.*s",
			 (int)sizeof(rails[r].name), rails[r].name);
}

/* eth1 stands for the frames there, eth1:udp for the datagrams. */
static void rename_rails(const struct lane_dev *l, struct stats_rail *rails)
{
	static const char mark[] = ":udp";
	const size_t most = sizeof(rails->name) - sizeof(mark);

	for (uint32_t r = 0; r < l->datagrams->n_rails; r++) {
		size_t len = strnlen(rails[r].name, most);

		memcpy(rails[r].name + len, mark, sizeof(mark));
	}
}

static int open_datagrams(struct lane_dev *l, const struct pm_device_env *env,
			  const struct pm_packet_ops *ops)
{
	struct pm_device_env own = *env;
	int err = stubs_packet(ops, &l->ops);

	if (err) {
		snprintf(l->why, sizeof(l->why), "%s: built for another version of libpm",
			 ops->name);
		return err;
	}
	own.conf = &l->conf;
	own.rails = env->rails + l->first;
	own.why = l->why;
	own.why_size = sizeof(l->why);
	err = l->ops.open(&own, NULL, &l->datagrams);
	if (err) {
		l->datagrams = NULL;
		return err;
	}
	l->datagrams->ops = &l->ops;
	l->datagrams->lender = l->frames;
	rename_rails(l, own.rails);
	return 0;
}

static int find_lane(struct lane_dev *l, const struct pm_device_env *env,
		     const struct pm_packet_ops *ops)
{
	l->conf = *env->conf;
	l->conf.udp_is_lane = true;
	l->first = l->frames->n_rails;
	if (env->conf->ethernet_lane == CONF_LANE_NEVER) {
		snprintf(l->why, sizeof(l->why), "ethernet.lane=never");
		return -ENODEV;
	}
	if (2 * l->first > PM_RAILS_MAX) {
		snprintf(l->why, sizeof(l->why),
			 "%u rails leave no room for it; name at most %d in ethernet.rails",
			 l->first, PM_RAILS_MAX / 2);
		return -ENODEV;
	}
	name_rails(l, env->rails);
	return open_datagrams(l, env, ops);
}

int lane_open(const struct pm_device_env *env, struct pm_dev *frames,
	      const struct pm_packet_ops *datagrams, struct pm_dev **ret_dev)
{
	struct lane_dev *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->frames = frames;
	l->dev = *frames;
	l->dev.ops = &pm_lane_ops;
	err = find_lane(l, env, datagrams);
	if (err && (err == -ENOMEM || env->conf->ethernet_lane == CONF_LANE_ALWAYS)) {
		snprintf(env->why, env->why_size, "ethernet.lane: %s", l->why);
		lane_close(&l->dev);
		return err;
	}
	if (!err) {
		uint32_t n = l->datagrams->n_rails;

		l->dev.n_rails = l->first + n;
		l->dev.bulk_rails = ((1u << n) - 1) << l->first;
		l->dev.burst = l->datagrams->burst;
		l->dev.can_gather = l->datagrams->can_gather;
		l->dev.can_show = l->datagrams->can_show;
		if (l->datagrams->rx_buffers < l->dev.rx_buffers)
			l->dev.rx_buffers = l->datagrams->rx_buffers;
	}
	*ret_dev = &l->dev;
	return 0;
}

static int open_with_udp(const struct pm_device_env *env, struct pm_dev *lower,
			 struct pm_dev **ret_dev)
{
	return lane_open(env, lower, registry_find("udp")->packet, ret_dev);
}

/* ---- addresses and peers ---- */

int lane_address_unpack(const void *blob, size_t len, struct lane_address *ret)
{
	const uint8_t *at = blob;
	size_t frames_len;

	if (len < HEAD || at[0] != VERSION || at[1])
		return -EINVAL;
	frames_len = at[2] | (size_t)at[3] << 8;
	if (!frames_len || frames_len > len - HEAD)
		return -EINVAL;
	*ret = (struct lane_address){.frames = at + HEAD,
				     .frames_len = frames_len,
				     .datagrams = at + HEAD + frames_len,
				     .datagrams_len = len - HEAD - frames_len};
	return 0;
}

static int lane_address(struct pm_dev *dev, void *buf, size_t room)
{
	struct lane_dev *l = lane_of(dev);
	uint8_t *at = buf;
	int frames, datagrams = 0;

	if (room < HEAD)
		return -ENOSPC;
	frames = l->frames->ops->address(l->frames, at + HEAD, room - HEAD);
	if (frames < 0)
		return frames;
	if (l->datagrams)
		datagrams = l->ops.address(l->datagrams, at + HEAD + frames,
					   room - HEAD - (size_t)frames);
	if (datagrams == -ENOSPC)
		return datagrams;
	/* another error: no interface has an address any more */
	if (datagrams < 0)
		datagrams = 0;
	at[0] = VERSION;
	at[1] = 0;
	at[2] = (uint8_t)frames;
	at[3] = (uint8_t)(frames >> 8);
	return HEAD + frames + datagrams;
}

/* Without a way by datagrams there is that by frames: only a damaged address is an error. */
static int add_datagrams(struct lane_dev *l, uint32_t node, const struct lane_address *address,
			 struct lane_peer *peer, uint32_t *rails)
{
	uint32_t more = 0;
	int err;

	if (!l->datagrams || !address->datagrams_len)
		return 0;
	err = l->ops.peer_add(l->datagrams, node, address->datagrams, address->datagrams_len,
			      &peer->datagrams, &more);
	if (err) {
		peer->datagrams = NULL;
		return err == -EHOSTUNREACH ? 0 : err;
	}
	*rails |= more << l->first;
	return 0;
}

static int lane_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			 struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	struct lane_dev *l = lane_of(dev);
	struct lane_address address;
	struct lane_peer *peer;
	uint32_t rails = 0;
	int err = lane_address_unpack(addr, len, &address);

	if (err)
		return err;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	err = l->frames->ops->peer_add(l->frames, node, address.frames, address.frames_len,
				       &peer->frames, &rails);
	if (err) {
		free(peer);
		return err;
	}
	err = add_datagrams(l, node, &address, peer, &rails);
	if (err) {
		l->frames->ops->peer_del(l->frames, peer->frames);
		free(peer);
		return err;
	}
	LIST_INSERT_HEAD(&l->peers, peer, all);
	*ret_peer = (struct pm_dev_peer *)peer;
	*ret_rails = rails;
	return 0;
}

static void lane_peer_del(struct pm_dev *dev, struct pm_dev_peer *dev_peer)
{
	struct lane_dev *l = lane_of(dev);
	struct lane_peer *peer = lane_peer_of(dev_peer);

	if (peer->datagrams)
		l->ops.peer_del(l->datagrams, peer->datagrams);
	l->frames->ops->peer_del(l->frames, peer->frames);
	LIST_REMOVE(peer, all);
	free(peer);
}

/* A packet fits both ways: either may have to carry it again. */
static uint32_t lane_mtu(struct pm_dev *dev, struct pm_dev_peer *dev_peer)
{
	struct lane_dev *l = lane_of(dev);
	struct lane_peer *peer = lane_peer_of(dev_peer);
	uint32_t mtu = l->frames->ops->mtu(l->frames, peer ? peer->frames : NULL), other = mtu;

	if (peer ? peer->datagrams != NULL : l->datagrams != NULL)
		other = l->ops.mtu(l->datagrams, peer ? peer->datagrams : NULL);
	return mtu < other ? mtu : other;
}

/* Of datagrams nothing but the way is known: the frames tell whether a process is gone. */
static int lane_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	struct lane_dev *l = lane_of(dev);
	uint32_t node;

	while (l->datagrams && l->ops.peer_event(l->datagrams, &node) == 1)
		continue;
	return l->frames->ops->peer_event(l->frames, ret_node);
}

static enum pm_rail_state lane_rail_state(struct pm_dev *dev, uint32_t rail)
{
	struct lane_dev *l = lane_of(dev);

	return rail < l->first ? l->frames->ops->rail_state(l->frames, rail)
			       : l->ops.rail_state(l->datagrams, rail - l->first);
}

/* ---- receiving ---- */

static bool is_time_to_look(struct lane_dev *l)
{
	if (l->warmth)
		return true;
	l->looks++;
	return l->looks >= QUIET_LOOKS && l->looks % COLD_LOOKS == 0;
}

static int take_datagrams(struct lane_dev *l, struct pm_rx *rx, int n)
{
	int got;

	if (!is_time_to_look(l))
		return 0;
	got = l->ops.rx_burst(l->datagrams, rx, n);
	for (int i = 0; i < got; i++) {
		rx[i].rail += l->first;
		rx[i].token |= TOKEN_DATAGRAM;
	}
	if (got)
		l->warmth = LANE_WARM_LOOKS;
	else if (l->warmth)
		l->warmth--;
	return got;
}

static int lane_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	struct lane_dev *l = lane_of(dev);
	int got = l->frames->ops->rx_burst(l->frames, rx, n);

	if (got)
		l->looks = 0;
	if (l->datagrams && got < n)
		got += take_datagrams(l, rx + got, n - got);
	return got;
}

static void lane_rx_return(struct pm_dev *dev, uint64_t token)
{
	struct lane_dev *l = lane_of(dev);

	if (token & TOKEN_DATAGRAM)
		l->ops.rx_return(l->datagrams, token & ~TOKEN_DATAGRAM);
	else
		l->frames->ops->rx_return(l->frames, token);
}

/* ---- sleeping ---- */

static int lane_poll_fds(struct pm_dev *dev, int *fds, int room)
{
	struct lane_dev *l = lane_of(dev);
	int n = l->frames->ops->poll_fds(l->frames, fds, room);

	return l->datagrams ? n + l->ops.poll_fds(l->datagrams, fds + n, room - n) : n;
}

static int lane_arm(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);

	if (l->frames->ops->arm(l->frames))
		return 1;
	if (!l->datagrams || !l->ops.arm(l->datagrams))
		return 0;
	l->frames->ops->disarm(l->frames);
	l->warmth = LANE_WARM_LOOKS;
	return 1;
}

/* A datagram may have ended the sleep: the next look is at datagrams too. */
static void lane_disarm(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);

	l->frames->ops->disarm(l->frames);
	if (!l->datagrams)
		return;
	l->ops.disarm(l->datagrams);
	l->warmth = l->warmth ? l->warmth : 1;
}

/* ---- suspend and resume ---- */

/* The datagrams let go of the frames' packets first. */
static int lane_suspend(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);
	int err = l->datagrams ? l->ops.suspend(l->datagrams) : 0;

	return err ? err : l->frames->ops->suspend(l->frames);
}

/* Datagrams that can't go on leave their rails down. */
static int lane_resume(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);
	int err = l->frames->ops->resume(l->frames);

	if (!err && l->datagrams)
		(void)l->ops.resume(l->datagrams);
	return err;
}

/* ---- observation ---- */

/* Its own and the datagrams': the layers below are asked one by one. */
static int lane_dump(struct pm_dev *dev, char *buf, size_t room)
{
	struct lane_dev *l = lane_of(dev);
	int own, more;

	if (!l->datagrams)
		return snprintf(buf, room, "lane: none: %s\n", l->why);
	own = snprintf(buf, room, "lane: long data by datagrams on rails %u to %u\n", l->first,
		       l->dev.n_rails - 1);
	if (own < 0)
		return own;
	more = (size_t)own < room ? l->ops.dump(l->datagrams, buf + own, room - (size_t)own)
				  : l->ops.dump(l->datagrams, NULL, 0);
	return more < 0 ? own : own + more;
}

static uint64_t lane_memory(struct pm_dev *dev)
{
	struct lane_dev *l = lane_of(dev);

	return sizeof(*l) + (l->datagrams ? l->ops.memory(l->datagrams) : 0);
}

const struct pm_packet_ops pm_lane_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "lane",
	.open = open_with_udp,
	.close = lane_close,
	.address = lane_address,
	.peer_add = lane_peer_add,
	.peer_del = lane_peer_del,
	.mtu = lane_mtu,
	.tx_alloc = lane_tx_alloc,
	.tx_alloc_bulk = lane_tx_alloc_bulk,
	.tx_free = lane_tx_free,
	.tx_post = lane_tx_post,
	.tx_alloc_run = lane_tx_alloc_run,
	.tx_free_run = lane_tx_free_run,
	.tx_post_run = lane_tx_post_run,
	.tx_kick = lane_tx_kick,
	.rx_burst = lane_rx_burst,
	.rx_return = lane_rx_return,
	.peer_event = lane_peer_event,
	.rail_state = lane_rail_state,
	.poll_fds = lane_poll_fds,
	.arm = lane_arm,
	.disarm = lane_disarm,
	.suspend = lane_suspend,
	.resume = lane_resume,
	.dump = lane_dump,
	.memory = lane_memory,
};
