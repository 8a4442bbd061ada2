// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/layers.h"

#include <stdio.h>

#include "pmcore/device/fault.h"
#include "pmcore/device/lane.h"
#include "pmcore/device/stubs.h"
#include "pmcore/device/tracer.h"
#include "pmcore/util/conf.h"

static int add(struct layers *layers, const struct pm_packet_ops *ops,
	       const struct pm_device_env *env)
{
	struct pm_dev *lower = layers->n ? layers->all[layers->n - 1].dev : NULL, *dev;
	struct pm_packet_ops *own = &layers->all[layers->n].ops;
	int err = stubs_packet(ops, own);

	if (err) {
		snprintf(env->why, env->why_size, "%s: built for another version of libpm",
			 ops->name ? ops->name : "device");
		return err;
	}
	err = own->open(env, lower, &dev);
	if (err)
		return err;
	dev->ops = own;
	if (lower)
		dev->is_cheap = lower->is_cheap;
	layers->all[layers->n++].dev = dev;
	return 0;
}

int layers_open(const struct pm_packet_ops *ops, const struct pm_device_env *env,
		struct layers *ret)
{
	int err;

	ret->n = 0;
	err = add(ret, ops, env);
	if (!err && ret->all[0].dev->takes_lane)
		err = add(ret, &pm_lane_ops, env);
	if (!err && env->conf->fault[0])
		err = add(ret, &pm_fault_ops, env);
	if (!err && env->conf->trace[0])
		err = add(ret, &pm_tracer_ops, env);
	if (err)
		layers_close(ret);
	return err;
}

void layers_close(struct layers *layers)
{
	while (layers->n) {
		layers->n--;
		layers->all[layers->n].ops.close(layers->all[layers->n].dev);
	}
}

int layers_dump(const struct layers *layers, char *buf, size_t room)
{
	size_t used = 0;

	for (unsigned int i = 0; i < layers->n; i++) {
		size_t at = used > room ? room : used;
		int more = layers->all[i].ops.dump(layers->all[i].dev, buf + at, room - at);

		if (more > 0)
			used += (size_t)more;
	}
	return (int)used;
}

uint64_t layers_memory(const struct layers *layers)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < layers->n; i++)
		sum += layers->all[i].ops.memory(layers->all[i].dev);
	return sum;
}
