/* SPDX-License-Identifier: BSD-3-Clause */
/* lane_private - the state of a lane, shared by lane.c and lane_send.c and by nobody else. */
#ifndef PM_DEVICE_LANE_PRIVATE_H
#define PM_DEVICE_LANE_PRIVATE_H

#include <sys/queue.h>

#include "pmcore/device/lane.h"
#include "pmcore/util/conf.h"

/* Looks at the datagrams that find nothing until they count as quiet, about 100 us. */
#define LANE_WARM_LOOKS 256u

struct lane_dev {
	struct pm_dev dev;
	struct pm_dev *frames;
	struct pm_dev *datagrams;      /* NULL: there is no lane */
	struct pm_packet_ops ops;      /* of the datagrams, completed */
	struct conf conf;              /* of the datagrams */
	char why[200];                 /* why there is none */
	uint32_t first;                /* rail of the datagrams */
	uint32_t posted[PM_RAILS_MAX]; /* to each of them since the last kick */
	uint32_t warmth;               /* looks to be made each time */
	uint32_t looks;                /* since then, and since the last frame */
	LIST_HEAD(, lane_peer) peers;
};

struct lane_peer {
	LIST_ENTRY(lane_peer) all; /* of the device: some are never removed one by one */
	struct pm_dev_peer *frames;
	struct pm_dev_peer *datagrams; /* NULL: no way by them */
};

static inline struct lane_dev *lane_of(struct pm_dev *dev)
{
	return (struct lane_dev *)dev;
}

static inline struct lane_peer *lane_peer_of(struct pm_dev_peer *peer)
{
	return (struct lane_peer *)peer;
}

/* lane_send.c: operations of pm_packet_ops */
struct pm_packet *lane_tx_alloc(struct pm_dev *dev);
struct pm_packet *lane_tx_alloc_bulk(struct pm_dev *dev);
uint32_t lane_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
			   struct pm_packet **ret_packets);
void lane_tx_free(struct pm_dev *dev, struct pm_packet *packet);
void lane_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n);
int lane_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *dev_peer,
		 struct pm_packet *packet);
uint32_t lane_tx_post_run(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *dev_peer,
			  struct pm_packet *const *packets, uint32_t n);
void lane_tx_kick(struct pm_dev *dev);

#endif
