/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maps - the BPF maps of pm-ethernet as user space and BPF both see them. The daemon writes all but
 * counters and pulses; the programs only read. All are pinned, so that a daemon started anew finds
 * them.
 *
 *   host      ARRAY[1]              struct eth_host
 *   nics      ARRAY[ETH_RAILS]      struct eth_nic      by rail
 *   contexts  ARRAY[ETH_CONTEXTS]   struct eth_context  by context number
 *   sockets   XSKMAP                by context * ETH_RAILS + rail: sockets on the NICs (direct)
 *   doors     XSKMAP[ETH_CONTEXTS]  by context: the socket on the user end of its port
 *   inboxes   ARRAY_OF_MAPS[ETH_CONTEXTS] of RINGBUF by context: struct eth_record, for the programs at tc
 *   ports     DEVMAP[ETH_CONTEXTS]  by context: switch end of its port
 *   rails     DEVMAP[ETH_RAILS]     by rail: the NIC
 *   grants    HASH[ETH_CONTEXTS]    ifindex of a port's switch end -> struct eth_grant
 *   grid      ARRAY[1]              struct eth_grid
 *   points    ARRAY[n_points or 1]  struct eth_point    by host id - 1
 *   neighbours ARRAY[ETH_NEIGHBOURS] struct eth_neighbour by rail and coordinate
 *   pulses    ARRAY[ETH_NEIGHBOURS] uint64_t            the same: when its last ETH_ECHO came, monotonic ns;
 *                                                       written by eth_nic, mapped by the daemon
 *   counters  PERCPU_ARRAY[ETH_COUNTERS] struct eth_counters: by rail, ETH_RAILS = all ports and
 *   doors
 *
 * Programs: "eth_nic" on each NIC (its constant nic_rail is set before loading), "eth_port" on the
 * switch end of a port (frames from the process), "eth_door" on the user end (frames to the
 * process). They are there twice: for XDP, where frames go to sockets and doors, and for tc, where
 * they go to inboxes and there is no door.
 */
#ifndef PM_ETHERNET_MAPS_H
#define PM_ETHERNET_MAPS_H

#include "pm-ethernet/grid.h"

#define ETH_CONTEXTS 1024 /* context numbers 1..1023; 0 is nobody */
#define ETH_COUNTERS (ETH_RAILS + 1)
#define ETH_NEIGHBOURS (ETH_RAILS * ETH_LINE_MAX)

struct eth_host {
	uint32_t id;
	uint16_t type;   /* EtherType, network byte order */
	uint16_t n_nics; /* rails 0..n_nics-1 exist */
};

struct eth_nic {
	uint32_t ifindex; /* 0: none now */
	uint8_t mac[ETH_MAC];
	uint16_t pad;
};

#define ETH_INBOX_MIN 4096 /* bytes of a ring, a power of two */

/*
 * A frame in an inbox. With the 8 bytes that the kernel puts in front of a record it takes a whole
 * number of cache lines. The bytes behind the frame mean nothing.
 */
struct eth_record {
	uint32_t length; /* of the frame, bytes */
	uint32_t pad;
	uint8_t frame[]; /* struct eth_frame, and its packet */
};

/*
 * The lowest bit of an inbox's consumer position, which counts in eights: the process sleeps, or is
 * about to, and the next record is to wake it.
 */
#define ETH_INBOX_SLEEPS 1ull

enum eth_attachment { ETH_DETACHED = 0, ETH_DIRECT = 1, ETH_PORT = 2 };

struct eth_context {
	uint64_t key;        /* job key; never 0 for a context that exists */
	uint32_t attachment; /* enum eth_attachment */
	uint32_t pad;
};

struct eth_grant {
	uint64_t key;
	uint16_t context;
	uint16_t pad[3];
};

struct eth_counters {
	/* Taken from the NIC for a context; or from ports for anybody. Bytes from the MAC on. */
	uint64_t rx_frames, rx_bytes;
	/* queries and answers passed to the daemon, watches answered, echoes noted */
	uint64_t control;
	/* Passed on for other hosts, counted at the rail they came in by. */
	uint64_t relayed_frames, relayed_bytes;
	uint64_t detours; /* frames, of others and of ours, that begin a detour here */
	uint64_t drops[ETH_DROPS];
};

#endif
