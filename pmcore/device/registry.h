/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry - the devices this library knows, by name. One screen: adding a backend is a line in
 * registry.c. Checks the ABI of each table and lays it over the stubs.
 */
#ifndef PM_DEVICE_REGISTRY_H
#define PM_DEVICE_REGISTRY_H

#include "pm_device.h"

struct registry_entry {
	const char *name;
	const struct pm_link_ops *link; /* one of the two is not NULL */
	const struct pm_packet_ops *packet;
};

/* NULL: no such device. */
const struct registry_entry *registry_find(const char *name);
/* The device that a job of so many processes (0 = unknown) takes which asks for @name. */
const struct registry_entry *registry_choose(const char *name, const struct conf *conf,
					     uint32_t nodes);
/*
 * The device that goes other ways over the same ports, or NULL: the two do not understand each
 * other.
 */
const char *registry_other_way(const char *name);
/* The link that carries long reads beside a network device; it can't be asked for as a device. */
const struct pm_link_ops *registry_stream(void);
/* Names of all devices, for messages: "self, shmem, udp". */
const char *registry_names(void);

#endif
