/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layers - a packet device and what is stacked on it (lane, fault, tracer), as the options want it.
 * Knows nothing of the channel.
 */
#ifndef PM_DEVICE_LAYERS_H
#define PM_DEVICE_LAYERS_H

#include "pm_device.h"

#define LAYERS 4

struct layers {
	struct {
		struct pm_packet_ops ops; /* completed by stubs */
		struct pm_dev *dev;
	} all[LAYERS]; /* [0] is the real device */
	unsigned int n;
};

/*
 * Opens @ops and what belongs on it. 0 or -errno with a sentence in env->why; then nothing is open.
 */
int layers_open(const struct pm_packet_ops *ops, const struct pm_device_env *env,
		struct layers *ret);
void layers_close(struct layers *layers);
/* Over all layers: the text about them, length as of snprintf; their bytes of memory. */
int layers_dump(const struct layers *layers, char *buf, size_t room);
uint64_t layers_memory(const struct layers *layers);

#endif
