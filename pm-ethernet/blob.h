/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blob - the address a context publishes: its host, its number, and the rails it uses. Bytes in,
 * struct out and back; knows no device.
 */
#ifndef PM_ETHERNET_BLOB_H
#define PM_ETHERNET_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm-ethernet/frame.h"

/* Bytes of a published address at most. */
#define ETH_BLOB_MAX (10 + 10 * ETH_RAILS)

struct eth_blob_rail {
	uint8_t host_rail; /* the host's number of the rail, < ETH_RAILS, each once */
	uint8_t mac[ETH_MAC];
	uint32_t mtu; /* of the interface, 68..65535 */
};

struct eth_blob {
	uint32_t host;
	uint16_t context; /* not 0 */
	bool is_port;     /* attached by a port: can be reached on its own host */
	uint32_t n_rails; /* 1..ETH_RAILS */
	struct eth_blob_rail rails[ETH_RAILS];
};

/* Returns the bytes written or -ENOSPC. */
int eth_blob_pack(const struct eth_blob *blob, void *buf, size_t room);
/* -EINVAL: damaged; nothing was written. */
int eth_blob_unpack(const void *buf, size_t len, struct eth_blob *ret_blob);

#endif
