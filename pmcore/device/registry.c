// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/registry.h"

#include <string.h>

#include "pm-ethernet/ethernet.h"
#include "pm-shmem/shmem.h"
#include "pm-udp/stream/stream.h"
#include "pm-udp/udp.h"
#include "pm-verbs/verbs.h"
#include "pmcore/device/self.h"

static const struct registry_entry entries[] = {
	{"self", &pm_self_ops, NULL},         {"shmem", &pm_shmem_ops, NULL},
	{"verbs", &pm_verbs_ops, NULL},       {"verbs-datagram", NULL, &pm_verbs_datagram_ops},
	{"ethernet", NULL, &pm_ethernet_ops}, {"udp", NULL, &pm_udp_ops},
};

const struct registry_entry *registry_find(const char *name)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

const struct pm_link_ops *registry_stream(void)
{
	return &pm_stream_ops;
}

const struct registry_entry *registry_choose(const char *name, const struct conf *conf,
					     uint32_t nodes)
{
	if (!strcmp(name, "verbs") && pm_verbs_takes_datagrams(conf, nodes))
		name = "verbs-datagram";
	return registry_find(name);
}

const char *registry_other_way(const char *name)
{
	if (!strcmp(name, "verbs"))
		return "verbs-datagram";
	return strcmp(name, "verbs-datagram") ? NULL : "verbs";
}

const char *registry_names(void)
{
	return "self, shmem, verbs, verbs-datagram, ethernet, udp";
}
