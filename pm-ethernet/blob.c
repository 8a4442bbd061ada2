// SPDX-License-Identifier: BSD-3-Clause
#include "pm-ethernet/blob.h"

#include <errno.h>
#include <string.h>

#include "pm-ethernet/bpf/maps.h"

/*
 * Little-endian: version 1, rails 1, context 2, host 4, flags 1, zero 1; per rail number 1, zero 1,
 * mtu 2, address 6.
 */
#define VERSION 1
#define HEAD 10
#define RAIL 10
#define FLAG_PORT 1
#define MTU_MIN 68

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static uint32_t get16(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

int eth_blob_pack(const struct eth_blob *blob, void *buf, size_t room)
{
	uint8_t *at = buf;

	if (room < HEAD + RAIL * blob->n_rails)
		return -ENOSPC;
	at[0] = VERSION;
	at[1] = (uint8_t)blob->n_rails;
	put16(at + 2, blob->context);
	put16(at + 4, blob->host);
	put16(at + 6, blob->host >> 16);
	at[8] = blob->is_port ? FLAG_PORT : 0;
	at[9] = 0;
	at += HEAD;
	for (uint32_t r = 0; r < blob->n_rails; r++, at += RAIL) {
		at[0] = blob->rails[r].host_rail;
		at[1] = 0;
		put16(at + 2, blob->rails[r].mtu);
		memcpy(at + 4, blob->rails[r].mac, ETH_MAC);
	}
	return (int)(HEAD + RAIL * blob->n_rails);
}

static bool is_station(const uint8_t mac[ETH_MAC])
{
	static const uint8_t nobody[ETH_MAC];

	return !(mac[0] & 1) && memcmp(mac, nobody, ETH_MAC) != 0;
}

int eth_blob_unpack(const void *buf, size_t len, struct eth_blob *ret_blob)
{
	const uint8_t *at = buf;
	struct eth_blob blob = {0};
	uint32_t seen = 0;

	if (len < HEAD || at[0] != VERSION || at[1] < 1 || at[1] > ETH_RAILS ||
	    len != HEAD + RAIL * (size_t)at[1] || at[8] > FLAG_PORT || at[9])
		return -EINVAL;
	blob.n_rails = at[1];
	blob.context = (uint16_t)get16(at + 2);
	blob.host = get16(at + 4) | get16(at + 6) << 16;
	blob.is_port = at[8] == FLAG_PORT;
	if (!blob.context || blob.context >= ETH_CONTEXTS)
		return -EINVAL;
	at += HEAD;
	for (uint32_t r = 0; r < blob.n_rails; r++, at += RAIL) {
		struct eth_blob_rail *rail = &blob.rails[r];

		rail->host_rail = at[0];
		rail->mtu = get16(at + 2);
		memcpy(rail->mac, at + 4, ETH_MAC);
		if (at[1] || rail->host_rail >= ETH_RAILS || seen >> rail->host_rail & 1 ||
		    rail->mtu < MTU_MIN || !is_station(rail->mac))
			return -EINVAL;
		seen |= 1u << rail->host_rail;
	}
	*ret_blob = blob;
	return 0;
}
