/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet device that exists in memory only, for interposers to stand on: it gives numbered
 * packets from its script and keeps account of every buffer it lends.
 */
#ifndef TESTS_UNIT_DEVICE_LOWER_H
#define TESTS_UNIT_DEVICE_LOWER_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm_device.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"

#define LOWER_BUFFERS 512
#define LOWER_BYTES 64

struct lower {
	struct pm_dev dev;
	uint32_t next, end; /* packets next..end are still to be given */
	uint32_t n_rails;
	uint32_t held;
	bool is_lent[LOWER_BUFFERS];
	uint64_t bytes[LOWER_BUFFERS][LOWER_BYTES / 8];
	int armed, posted;
};

static int lower_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	struct lower *l = (struct lower *)dev;
	int given = 0;

	for (uint32_t b = 0; b < LOWER_BUFFERS && given < n && l->next < l->end; b++) {
		if (l->is_lent[b])
			continue;
		l->is_lent[b] = true;
		l->held++;
		memset(l->bytes[b], 0x5a, LOWER_BYTES);
		memcpy(l->bytes[b], &l->next, 4);
		rx[given++] = (struct pm_rx){.data = (uint8_t *)l->bytes[b],
					     .len = LOWER_BYTES,
					     .rail = l->next % l->n_rails,
					     .token = b};
		l->next++;
	}
	return given;
}

static void lower_rx_return(struct pm_dev *dev, uint64_t token)
{
	struct lower *l = (struct lower *)dev;

	if (!okf(token < LOWER_BUFFERS && l->is_lent[token], "buffer %llu returned, not lent",
		 (unsigned long long)token))
		return;
	l->is_lent[token] = false;
	l->held--;
}

static uint32_t lower_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	return LOWER_BYTES;
}

static int lower_arm(struct pm_dev *dev)
{
	((struct lower *)dev)->armed++;
	return 0;
}

static int lower_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			 struct pm_packet *packet)
{
	if (rail == 7)
		return -EAGAIN;
	((struct lower *)dev)->posted++;
	return 0;
}

static const struct pm_packet_ops lower_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "lower",
	.mtu = lower_mtu,
	.tx_post = lower_tx_post,
	.rx_burst = lower_rx_burst,
	.rx_return = lower_rx_return,
	.arm = lower_arm,
};

static inline void lower_init(struct lower *l, uint32_t n_rails, uint32_t packets)
{
	*l = (struct lower){.dev = {&lower_ops, n_rails, LOWER_BUFFERS, 64},
			    .n_rails = n_rails,
			    .end = packets};
}

/* An interposer on it. */
struct stand {
	struct lower lower;
	struct conf conf;
	struct stats_link link;
	struct stats_rail rails[PM_RAILS_MAX];
	struct pm_device_env env;
	char why[300];
	struct pm_dev *dev;
};

static inline int stand_open(struct stand *s, const struct pm_packet_ops *ops, uint32_t node)
{
	s->env = (struct pm_device_env){.conf = &s->conf,
					.stats = &s->link,
					.rails = s->rails,
					.self = node,
					.why = s->why,
					.why_size = sizeof(s->why)};
	return ops->open(&s->env, &s->lower.dev, &s->dev);
}

#endif
