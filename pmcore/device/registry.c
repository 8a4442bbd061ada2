/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmcore/device/registry.h"

#include <string.h>

#include "pm-ethernet/ethernet.h"
#include "pm-shmem/shmem.h"
#include "pm-udp/udp.h"
#include "pm-verbs/verbs.h"
#include "pmcore/device/self.h"

static const struct registry_entry entries[] = {
	{"self", &pm_self_ops, NULL},   {"shmem", &pm_shmem_ops, NULL},
	{"verbs", &pm_verbs_ops, NULL}, {"ethernet", NULL, &pm_ethernet_ops},
	{"udp", NULL, &pm_udp_ops},
};

const struct registry_entry *registry_find(const char *name)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

const char *registry_names(void)
{
	return "self, shmem, verbs, ethernet, udp";
}
