/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * query - the control frames of the daemons: QUERY asks who is there, ANSWER says who is. Both
 * carry the same body behind struct eth_frame and go out on the rail they speak of. Packs and
 * decodes; knows no socket, no clock, and not what a daemon makes of an answer.
 */
#ifndef PM_ETHERNET_QUERY_H
#define PM_ETHERNET_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "pm-ethernet/frame.h"

#define ETH_QUERY_ANYONE 0xffffffffu /* dst_host of a query to all hosts of the segment */
#define ETH_QUERY_HOST_NAME 64       /* bytes of a host name, NUL included */
#define ETH_QUERY_RAIL_NAME 16       /* bytes of an interface name, NUL included */
#define ETH_QUERY_MTU_MIN 68
#define ETH_QUERY_MTU_MAX 65535

/* Body as it lies in the frame, little-endian. */
struct eth_query_body {
	uint64_t nonce;
	uint64_t stamp;
	uint32_t mtu;
	uint8_t n_rails;
	uint8_t pad[3]; /* 0 */
	char rail_name[ETH_QUERY_RAIL_NAME];
	char host_name[ETH_QUERY_HOST_NAME];
} __attribute__((packed));

#define ETH_QUERY_BYTES (ETH_HEAD + sizeof(struct eth_query_body)) /* of a whole frame */

/* A control frame in host byte order. */
struct eth_query {
	uint8_t kind; /* ETH_QUERY or ETH_ANSWER */
	uint8_t dst_mac[ETH_MAC];
	uint8_t src_mac[ETH_MAC]; /* of one interface, never a group */
	uint32_t dst_host;        /* or ETH_QUERY_ANYONE (QUERY only) */
	uint32_t src_host;        /* never ETH_QUERY_ANYONE */
	uint64_t nonce;  /* drawn when the sender's daemon started: tells two hosts of one id */
	uint64_t stamp;  /* the asker's clock when it asked, ns; the answer brings it back */
	uint32_t mtu;    /* of the sender's interface, ETH_QUERY_MTU_MIN..MAX */
	uint8_t rail;    /* the sender's number of it */
	uint8_t n_rails; /* the sender has, 1..ETH_RAILS */
	char rail_name[ETH_QUERY_RAIL_NAME]; /* printable, NUL-terminated, not empty */
	char host_name[ETH_QUERY_HOST_NAME]; /* the same */
};

/*
 * Writes the frame. @type: EtherType, network byte order. Characters of the names that decode would
 * refuse become '?', an empty name "?".
 */
void eth_query_put(uint8_t ret_frame[ETH_QUERY_BYTES], const struct eth_query *query,
		   uint16_t type);

/*
 * Reads a frame that came from anybody. ETH_DROP_NONE and *ret, or why it is none: SHORT, TYPE
 * (another EtherType), VERSION, KIND (no control frame), HOST, RAIL, SOURCE (no address of one
 * interface), LENGTH (an MTU or a name out of range). Bytes behind the body are ignored.
 */
enum eth_drop eth_query_decode(const void *frame, size_t len, uint16_t type, struct eth_query *ret);

#endif
