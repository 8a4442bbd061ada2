/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chanlink_private - the state of a channel bound to a device, shared by chanlink.c (what moves
 * messages), chanlink_engine.c (what the engine calls) and chanlink_state.c (stopping, saving,
 * observing), and seen by nobody else.
 */
#ifndef PM_DEVICE_CHANLINK_PRIVATE_H
#define PM_DEVICE_CHANLINK_PRIVATE_H

#include "pmcore/channel/channel.h"
#include "pmcore/device/chanlink.h"
#include "pmcore/device/layers.h"
#include "pmcore/util/clock.h"

struct chanlink_dead {
	uint32_t node;
	bool is_silent; /* else the device has found it dead */
	char *why;      /* the device's sentence; others may follow before it is told */
};

struct chanlink {
	struct pm_link link;
	struct pm_device_env env;
	struct layers layers;
	const struct pm_packet_ops *ops; /* of the top layer */
	struct pm_dev *dev;              /* the top layer */
	struct chan *chan;
	struct job_clock clock;
	uint64_t next_events; /* job time of the next look at rails and peer events */
	uint64_t asleep_ns;   /* granted sleep since the last clock reading */
	uint32_t rails_up;    /* bit per rail, as last told to the engine */
	bool is_corked;       /* the engine may hold messages of a burst */
	bool is_kick_due;     /* packets were posted since the last kick */
	uint32_t n_posted;    /* ... and how many */
	bool is_single;       /* the next post is worth a kick of its own */
	bool is_full;         /* a rail refused a packet since the engine was polled */
	uint32_t idle;        /* polls that brought nothing */
	uint64_t released;    /* message whose release is put off to the next poll, 0 = none */
	struct chanlink_dead *dead; /* nodes found dead and not reported yet */
	uint32_t n_dead, room_dead;
};

static inline struct chanlink *of(struct pm_link *link)
{
	return (struct chanlink *)link;
}

/* chanlink.c: one round of receiving, timers and sending; the release that was put off. */
void chanlink_progress(struct chanlink *c);
void chanlink_settle(struct chanlink *c);

/* chanlink_engine.c: starts what was posted; makes a node a peer of device and engine. */
extern const struct chan_ops chanlink_engine_ops;
void chanlink_start(struct chanlink *c);
int chanlink_add_peer(struct chanlink *c, uint32_t node, const void *addr, size_t len,
		      struct chan_peer **ret_peer);

/* chanlink_state.c: operations of the link. */
int chanlink_quiesce(struct pm_link *link);
void chanlink_resume(struct pm_link *link);
int chanlink_save(struct pm_link *link, void *buf, size_t room);
int chanlink_restore(struct pm_link *link, const void *buf, size_t len,
		     int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		     void *arg);
int chanlink_dump(struct pm_link *link, char *buf, size_t room);
uint64_t chanlink_memory(struct pm_link *link);

#endif
