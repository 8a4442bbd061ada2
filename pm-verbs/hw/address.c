// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | get16(p + 2) << 16;
}

void pmv_end_encode(const struct pmv_end *end, uint8_t *p)
{
	memset(p, 0, PMV_ADDRESS_RAIL);
	memcpy(p, end->gid, sizeof(end->gid));
	put32(p + 16, end->qp);
	put16(p + 20, end->lid);
	put16(p + 22, end->mtu);
	p[24] = end->protocol;
	p[26] = end->skipped;
}

int pmv_address_encode(const struct pmv_address *address, void *buf, size_t room)
{
	size_t len = PMV_ADDRESS_HEADER + address->n_rails * (size_t)PMV_ADDRESS_RAIL;
	uint8_t *p = buf;

	if (room < len)
		return -ENOSPC;
	memset(p, 0, len);
	p[0] = PMV_ADDRESS_VERSION;
	p[1] = (uint8_t)address->n_rails;
	put32(p + 4, address->buffer_bytes);
	p += PMV_ADDRESS_HEADER;
	for (uint32_t i = 0; i < address->n_rails; i++, p += PMV_ADDRESS_RAIL)
		pmv_end_encode(&address->rails[i], p);
	return (int)len;
}

static bool is_mtu(uint32_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

int pmv_end_decode(const uint8_t *p, struct pmv_end *ret)
{
	memcpy(ret->gid, p, sizeof(ret->gid));
	ret->qp = get32(p + 16);
	ret->lid = (uint16_t)get16(p + 20);
	ret->mtu = get16(p + 22);
	ret->protocol = p[24];
	ret->skipped = p[26];
	if (ret->qp > 0xffffff || !is_mtu(ret->mtu) || p[25] || p[26] >= PM_RAILS_MAX || p[27])
		return -EINVAL;
	if (ret->protocol < PMV_INFINIBAND || ret->protocol > PMV_ROCE_V2)
		return -EINVAL;
	return 0;
}

int pmv_address_decode(const void *buf, size_t len, struct pmv_address *ret)
{
	struct pmv_address a = {0};
	const uint8_t *p = buf;

	if (len < PMV_ADDRESS_HEADER)
		return -EINVAL;
	if (p[0] != PMV_ADDRESS_VERSION)
		return -EHOSTUNREACH;
	a.n_rails = p[1];
	a.buffer_bytes = get32(p + 4);
	if (!a.n_rails || a.n_rails > PM_RAILS_MAX || get16(p + 2) ||
	    len != PMV_ADDRESS_HEADER + a.n_rails * (size_t)PMV_ADDRESS_RAIL)
		return -EINVAL;
	if (a.buffer_bytes < PMV_BUFFER_MIN || a.buffer_bytes > PMV_BUFFER_MAX ||
	    a.buffer_bytes % 64)
		return -EINVAL;
	for (uint32_t i = 0; i < a.n_rails; i++)
		if (pmv_end_decode(p + PMV_ADDRESS_HEADER + i * PMV_ADDRESS_RAIL, &a.rails[i]))
			return -EINVAL;
	*ret = a;
	return 0;
}

int pmv_end_find(const struct pmv_end *rails, uint32_t n, uint32_t number)
{
	for (uint32_t i = 0; i < n; i++)
		if (i + rails[i].skipped == number)
			return (int)i;
	return -1;
}

int pmv_address_pairs(const struct pmv_address *ours, const struct pmv_address *theirs,
		      bool is_lower, struct pmv_pair *ret, char *why, size_t why_size)
{
	const struct pmv_address *lower = is_lower ? ours : theirs;
	const struct pmv_address *upper = is_lower ? theirs : ours;
	int n = 0;

	if (ours->buffer_bytes != theirs->buffer_bytes) {
		snprintf(why, why_size,
			 "verbs.mtu is %u bytes in this process and %u in the other: set it alike",
			 ours->buffer_bytes, theirs->buffer_bytes);
		return -EHOSTUNREACH;
	}
	for (uint32_t l = 0; l < lower->n_rails; l++) {
		int u = pmv_end_find(upper->rails, upper->n_rails, l + lower->rails[l].skipped);
		uint32_t o = is_lower ? l : (uint32_t)u, t = is_lower ? (uint32_t)u : l;

		if (u >= 0 && !pmv_port_reaches(&ours->rails[o], &theirs->rails[t], why, why_size))
			ret[n++] = (struct pmv_pair){(uint8_t)o, (uint8_t)t};
	}
	if (n)
		return n;
	for (uint32_t l = 0; l < lower->n_rails; l++)
		for (uint32_t u = 0; u < upper->n_rails && n < PM_RAILS_MAX; u++) {
			uint32_t o = is_lower ? l : u, t = is_lower ? u : l;

			if (!pmv_port_reaches(&ours->rails[o], &theirs->rails[t], why, why_size))
				ret[n++] = (struct pmv_pair){(uint8_t)o, (uint8_t)t};
		}
	return n ? n : -EHOSTUNREACH;
}
