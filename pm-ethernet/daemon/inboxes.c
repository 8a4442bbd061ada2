// SPDX-License-Identifier: BSD-3-Clause
/* A change of a map of maps waits for all processors, some milliseconds, so nothing is taken out that isn't in. */
#include "pm-ethernet/daemon/inboxes.h"

#include <bpf/bpf.h>
#include <errno.h>

int ethd_inbox_make(uint32_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pm_inbox", 0, 0, bytes, NULL);

	return fd < 0 ? -errno : fd;
}

int ethd_inbox_put(struct ethd *d, uint32_t context, int fd)
{
	return bpf_map_update_elem(d->maps.inboxes, &context, &fd, BPF_ANY);
}

void ethd_inbox_remove(struct ethd *d, uint32_t context)
{
	uint32_t id;

	if (!bpf_map_lookup_elem(d->maps.inboxes, &context, &id))
		bpf_map_delete_elem(d->maps.inboxes, &context);
}
