/* SPDX-License-Identifier: BSD-3-Clause */
/* discover - which ports there are, and which of them become rails. */
#ifndef PM_VERBS_HW_DISCOVER_H
#define PM_VERBS_HW_DISCOVER_H

#include "pm-verbs/hw/library.h"
#include "pm-verbs/hw/port.h"
#include "pm_device.h"
#include "pmcore/util/conf.h"

#define PMV_NO_DEVICE "verbs: there is no RDMA device here (rdma link shows them)"

/* The caller's settings, room for sentences, and the function that takes the ports. */
struct pmv_discovery {
	const struct verbs *v;
	const struct conf *conf;
	char *why; /* room for a sentence */
	size_t why_size;
	char *note; /* room for what is left out, NULL = nobody asks */
	size_t note_size;
	/*
	 * Called for each port that becomes a rail, in their order, at most PM_RAILS_MAX: @gid is
	 * the entry of port->gids to use, @device is there during the call only. An error ends it
	 * all.
	 */
	int (*take)(void *arg, const struct pmv_port *port, int gid, struct ibv_device *device);
	void *arg;
};

/* 0, or -errno with a sentence, or what take() returned. */
int pmv_discover(const struct pmv_discovery *discovery);

#endif
