/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address - the link's part of the context address: version, number of rails, bytes of a receive
 * buffer, and per rail what the other side needs to greet us. Little-endian; bytes of others are
 * checked here.
 * The version is that of all that two links say to each other (conn/wire.h): others go by the
 * next device.
 *
 *   u8 version, u8 rails, u16 zero, u32 buffer bytes;
 *   per rail: u8 gid[16], u32 queue pair, u16 lid, u16 MTU, u8 protocol, u8 zero, u8 rails missing
 *   before it,
 *   u8 zero
 */
#ifndef PM_VERBS_HW_ADDRESS_H
#define PM_VERBS_HW_ADDRESS_H

#include "pm-verbs/hw/port.h"
#include "pm_device.h"

#define PMV_ADDRESS_VERSION 2
#define PMV_ADDRESS_HEADER 8
#define PMV_ADDRESS_RAIL 28
#define PMV_BUFFER_MIN 1024
#define PMV_BUFFER_MAX 65536

struct pmv_address {
	uint32_t n_rails;      /* 1..PM_RAILS_MAX */
	uint32_t buffer_bytes; /* of one receive buffer */
	struct pmv_end rails[PM_RAILS_MAX];
};

/* One rail, PMV_ADDRESS_RAIL bytes. Decoding: 0 or -EINVAL. */
void pmv_end_encode(const struct pmv_end *end, uint8_t *p);
int pmv_end_decode(const uint8_t *p, struct pmv_end *ret);
/* The index of the rail with that number among @n; -1 = there is none. */
int pmv_end_find(const struct pmv_end *rails, uint32_t n, uint32_t number);

/* Bytes written, or -ENOSPC. */
int pmv_address_encode(const struct pmv_address *address, void *buf, size_t room);
/* 0, -EHOSTUNREACH: of another version; -EINVAL: damaged. */
int pmv_address_decode(const void *buf, size_t len, struct pmv_address *ret);

/* Two rails that reach each other. */
struct pmv_pair {
	uint8_t ours, theirs;
};

/*
 * The ways between two addresses in an order that both sides find alike, whichever calls itself
 * ours: rails of equal number, those that are missing counted, or, when no such two match, all that
 * do. Their number (at most PM_RAILS_MAX), or -EHOSTUNREACH with a sentence. @is_lower: our node
 * number is the lower one.
 */
int pmv_address_pairs(const struct pmv_address *ours, const struct pmv_address *theirs,
		      bool is_lower, struct pmv_pair *ret, char *why, size_t why_size);

#endif
