/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address - the packet device's part of the context address: version, number of rails, and per rail
 * the queue pair that takes packets, as the link writes it. Little-endian; bytes of others are
 * checked here.
 * The version is that of packets and probes too.
 *
 *   u8 version, u8 rails, u16 port for probes; per rail: PMV_ADDRESS_RAIL bytes
 */
#ifndef PM_VERBS_DATAGRAM_ADDRESS_H
#define PM_VERBS_DATAGRAM_ADDRESS_H

#include "pm-verbs/hw/address.h"

#define PMVD_ADDRESS_VERSION 2
#define PMVD_ADDRESS_HEADER 4
#define PMVD_ADDRESS_MAX (PMVD_ADDRESS_HEADER + PM_RAILS_MAX * PMV_ADDRESS_RAIL)
/*
 * Least MTU of a port, bytes: packets carry headers, and messages of a few hundred bytes in one
 * piece.
 */
#define PMVD_MTU_MIN 1024

struct pmvd_address {
	uint32_t n_rails;       /* 1..PM_RAILS_MAX */
	uint16_t liveness_port; /* UDP port, 0 = none: see liveness.h */
	struct pmv_end rails[PM_RAILS_MAX];
};

/* Bytes written, or -ENOSPC. */
int pmvd_address_encode(const struct pmvd_address *address, void *buf, size_t room);
/* 0, -EHOSTUNREACH: of another version; -EINVAL: damaged. */
int pmvd_address_decode(const void *buf, size_t len, struct pmvd_address *ret);

/*
 * Where our rails lead to: bit r of the result set = our rail r to their rail ret_to[r]. Rails of
 * equal number, or, when no such two match, each to the first that does, and to different ones
 * while there are. 0 with a sentence: none reaches any. Rails of ours with an MTU of 0 are closed.
 */
uint32_t pmvd_address_ways(const struct pmvd_address *ours, const struct pmvd_address *theirs,
			   uint8_t ret_to[PM_RAILS_MAX], char *why, size_t why_size);

#endif
