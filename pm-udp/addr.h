/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addr - which local addresses are rails, the address a context publishes, and which of its rails
 * lead to which address of a peer. Opens no data socket.
 */
#ifndef PM_UDP_ADDR_H
#define PM_UDP_ADDR_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_device.h"

struct conf;

/* Headers of IPv4 without options and of UDP, bytes. */
#define PMU_HEADERS 28
/* Largest UDP payload that is a multiple of 8. */
#define PMU_PAYLOAD_MAX 65504u
/*
 * Payload used on loopback, whose MTU of 64 KiB would make the packet pools huge. Streams over
 * loopback: 1.4 KiB 3.3 GB/s, 4 KiB 4.0, 8 and 16 KiB 4.3, 32 KiB 3.2.
 */
#define PMU_LOOPBACK_PAYLOAD 16384u

/* An IPv4 address of an interface. */
struct pmu_iface {
	char name[IFNAMSIZ];
	int index;        /* of the interface; 0 = it has gone */
	uint32_t address; /* host byte order */
	uint32_t payload; /* largest UDP payload, bytes, a multiple of 8 */
	uint8_t prefix;   /* bits of the subnet, 0..32 */
	bool is_loopback;
	bool is_up, has_carrier;
};

/* The address that a context publishes, decoded. */
struct pmu_address {
	uint64_t host; /* equal on two processes exactly when they share a network namespace */
	uint16_t port; /* of the one receiving socket, host byte order */
	uint32_t n_rails;
	struct {
		uint32_t address; /* host byte order */
		uint32_t payload; /* bytes */
		uint8_t prefix;
		bool is_loopback;
	} rails[PM_RAILS_MAX];
};

/* Bytes of a published address at most. */
#define PMU_BLOB_MAX (12 + 8 * PM_RAILS_MAX)

/*
 * The rails of this host as udp.rails asks (empty: first address of each interface that is up,
 * loopback only if there is none). Returns their number, or -ENODEV, -EINVAL with a sentence in
 * @why.
 */
int pmu_addr_rails(const struct conf *conf, struct pmu_iface rails[PM_RAILS_MAX], char *why,
		   size_t why_size);
/* Every IPv4 address of the host, up to @room; the number or -errno. */
int pmu_addr_scan(const struct conf *conf, struct pmu_iface *ifaces, int room);
/*
 * Does the interface have this address? Loopback has all of its subnet, of which it shows but one.
 */
bool pmu_addr_has(const struct pmu_iface *iface, uint32_t address);
/* Identifies the network namespace of this process on this boot. */
uint64_t pmu_addr_host(void);

/* Returns the bytes written or -ENOSPC. */
int pmu_addr_pack(const struct pmu_address *address, void *buf, size_t room);
/* -EINVAL: damaged; nothing was written. */
int pmu_addr_unpack(const void *buf, size_t len, struct pmu_address *ret_address);

/*
 * Pairs local rails with addresses of a peer: by subnet, else, unless only @neighbours are wanted,
 * by asking the kernel's routing table. Fills ret_to[r] for each bit r of the returned mask, and
 * the payload all of these carry. 0: no way.
 */
uint32_t pmu_addr_pair(const struct pmu_address *local, const struct pmu_address *peer,
		       bool neighbours, uint32_t ret_to[PM_RAILS_MAX], uint32_t *ret_payload);

/* Dotted text into @buf of at least 16 bytes; returns @buf. */
char *pmu_addr_text(uint32_t address, char *buf);

#endif
