// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/address.h"

#include <errno.h>

int pmvd_address_encode(const struct pmvd_address *address, void *buf, size_t room)
{
	size_t len = PMVD_ADDRESS_HEADER + address->n_rails * (size_t)PMV_ADDRESS_RAIL;
	uint8_t *p = buf;

	if (room < len)
		return -ENOSPC;
	p[0] = PMVD_ADDRESS_VERSION;
	p[1] = (uint8_t)address->n_rails;
	p[2] = (uint8_t)address->liveness_port;
	p[3] = (uint8_t)(address->liveness_port >> 8);
	for (uint32_t i = 0; i < address->n_rails; i++)
		pmv_end_encode(&address->rails[i], p + PMVD_ADDRESS_HEADER + i * PMV_ADDRESS_RAIL);
	return (int)len;
}

int pmvd_address_decode(const void *buf, size_t len, struct pmvd_address *ret)
{
	struct pmvd_address a = {0};
	const uint8_t *p = buf;

	if (len < PMVD_ADDRESS_HEADER)
		return -EINVAL;
	if (p[0] != PMVD_ADDRESS_VERSION)
		return -EHOSTUNREACH;
	a.n_rails = p[1];
	a.liveness_port = (uint16_t)(p[2] | p[3] << 8);
	if (!a.n_rails || a.n_rails > PM_RAILS_MAX ||
	    len != PMVD_ADDRESS_HEADER + a.n_rails * (size_t)PMV_ADDRESS_RAIL)
		return -EINVAL;
	for (uint32_t i = 0; i < a.n_rails; i++)
		if (pmv_end_decode(p + PMVD_ADDRESS_HEADER + i * PMV_ADDRESS_RAIL, &a.rails[i]) ||
		    a.rails[i].mtu < PMVD_MTU_MIN)
			return -EINVAL;
	*ret = a;
	return 0;
}

static bool reaches(const struct pmvd_address *ours, uint32_t o, const struct pmvd_address *theirs,
		    uint32_t t, char *why, size_t why_size)
{
	return ours->rails[o].mtu &&
	       !pmv_port_reaches(&ours->rails[o], &theirs->rails[t], why, why_size);
}

/* The rail of theirs that our rail @o takes, one that is not in @taken if possible; -1: none. */
static int find(const struct pmvd_address *ours, uint32_t o, const struct pmvd_address *theirs,
		uint32_t taken, char *why, size_t why_size)
{
	int found = -1;

	for (uint32_t t = 0; t < theirs->n_rails; t++) {
		if (!reaches(ours, o, theirs, t, why, why_size))
			continue;
		if (!(taken >> t & 1))
			return (int)t;
		if (found < 0)
			found = (int)t;
	}
	return found;
}

uint32_t pmvd_address_ways(const struct pmvd_address *ours, const struct pmvd_address *theirs,
			   uint8_t ret_to[PM_RAILS_MAX], char *why, size_t why_size)
{
	uint32_t mask = 0, taken = 0;

	for (uint32_t i = 0; i < ours->n_rails; i++) {
		int t = pmv_end_find(theirs->rails, theirs->n_rails, i + ours->rails[i].skipped);

		if (t >= 0 && reaches(ours, i, theirs, (uint32_t)t, why, why_size)) {
			ret_to[i] = (uint8_t)t;
			mask |= 1u << i;
		}
	}
	if (mask)
		return mask;
	for (uint32_t o = 0; o < ours->n_rails; o++) {
		int t = find(ours, o, theirs, taken, why, why_size);

		if (t < 0)
			continue;
		ret_to[o] = (uint8_t)t;
		taken |= 1u << t;
		mask |= 1u << o;
	}
	return mask;
}
