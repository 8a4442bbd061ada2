/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * through - the operations that an interposer leaves to the device it stands on. An interposer
 * embeds struct through as its first member and names these functions in its table for whatever it
 * does not change.
 */
#ifndef PM_DEVICE_THROUGH_H
#define PM_DEVICE_THROUGH_H

#include "pm_device.h"

struct through {
	struct pm_dev dev;
	struct pm_dev *lower;
};

int through_address(struct pm_dev *dev, void *buf, size_t room);
int through_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		     struct pm_dev_peer **ret_peer, uint32_t *ret_rails);
void through_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer);
uint32_t through_mtu(struct pm_dev *dev, struct pm_dev_peer *peer);
struct pm_packet *through_tx_alloc(struct pm_dev *dev);
struct pm_packet *through_tx_alloc_bulk(struct pm_dev *dev);
void through_tx_free(struct pm_dev *dev, struct pm_packet *packet);
int through_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		    struct pm_packet *packet);
void through_tx_kick(struct pm_dev *dev);
int through_peer_event(struct pm_dev *dev, uint32_t *ret_node);
enum pm_rail_state through_rail_state(struct pm_dev *dev, uint32_t rail);
int through_poll_fds(struct pm_dev *dev, int *fds, int room);
int through_arm(struct pm_dev *dev);
void through_disarm(struct pm_dev *dev);
int through_suspend(struct pm_dev *dev);
int through_resume(struct pm_dev *dev);
void through_rx_return(struct pm_dev *dev, uint64_t token);

#endif
