/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame - what pm-ethernet puts in front of a packet of the channel, shared by user space and BPF.
 * Numbers are little-endian but for the EtherType. The head is 32 bytes, so that the packet behind
 * it is as aligned as the frame, and the job key lies where the kernel programs expect it.
 */
#ifndef PM_ETHERNET_FRAME_H
#define PM_ETHERNET_FRAME_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

#define ETH_TYPE_DEFAULT 0x88b5 /* IEEE 802: local experimental */
#define ETH_VERSION 1
#define ETH_RAILS 8
#define ETH_TTL 8 /* of a new frame: one less per relay, of which there are 7 at most (route.h) */
#define ETH_MAC 6

enum eth_kind {
	ETH_PACKET = 1, /* a packet of the channel follows */
	ETH_QUERY = 2,  /* control, for the daemon: who is there? */
	ETH_ANSWER = 3, /* control, for the daemon: I am */
	ETH_GONE =
		/* a packet with ETH_F_ASK came back: its context is no more, or of another job */
	4,
	ETH_WATCH =
		5, /* control, head only: is the way to you open? Kernels answer by themselves, */
	ETH_ECHO = 6, /* with this, and note when one came */
};

/* Head of every frame. */
struct eth_frame {
	uint8_t dst_mac[ETH_MAC];
	uint8_t src_mac[ETH_MAC];
	uint16_t type;   /* network byte order */
	uint8_t version; /* ETH_VERSION */
	uint8_t kind;    /* enum eth_kind */
	uint8_t ttl;     /* relays this frame may still pass */
	uint8_t rail;    /* the sender's number of the rail; every program on the way obeys it */
	uint32_t dst_host;
	uint32_t src_host;
	uint16_t dst_context;
	uint16_t src_context;
	uint8_t in_rail; /* the receiver's number of the rail, written by its kernel */
	uint8_t flags;   /* ETH_F_* */
} __attribute__((packed, aligned(2)));

#define ETH_F_ASK 0x01 /* flag: to a context that is not there, send this back as ETH_GONE */
/* For the relays of a detour: the dimension + 1 that comes last, 0 = none; see route.h. */
#define ETH_F_LATE 0xf0
#define ETH_LATE_SHIFT 4

#define ETH_HEAD 32
/* The part of the packet that the kernel programs know: struct wire_header. */
#define ETH_PACKET_HEAD 48  /* its size */
#define ETH_LENGTH_OFFSET 4 /* of its length: bytes behind it, 16 bits */
#define ETH_KEY_OFFSET 8    /* of its key: the job's, 64 bits */
/* Bytes of head that count against the MTU. */
#define ETH_MTU_OVERHEAD (ETH_HEAD - 14)

_Static_assert(sizeof(struct eth_frame) == ETH_HEAD, "frame head size");

/*
 * Why the kernel programs dropped a frame, and the name of the reason in reports. The numbers are
 * shared by BPF and the daemon; pm-ethernetctl(8) explains the names.
 */
#define ETH_DROP_LIST(X)                                                                           \
	X(SHORT, "short")       /* shorter than head and packet header */                          \
	X(VERSION, "version")   /* other version of the head */                                    \
	X(KIND, "kind")         /* unknown kind, or control from a port */                         \
	X(HOST, "host")         /* for another host */                                             \
	X(CONTEXT, "context")   /* no such context here */                                         \
	X(KEY, "key")           /* other job key */                                                \
	X(RAIL, "rail")         /* no such rail, or no NIC there now */                            \
	X(SOURCE, "source")     /* a port sent with a host or context that is not its own */       \
	X(TYPE, "type")         /* a port sent another EtherType */                                \
	X(NO_GRANT, "no-grant") /* from a port that nobody owns */                                 \
	X(DETACHED, "detached") /* the context has no socket or port now, or not on this queue */  \
	X(LENGTH, "length")     /* the packet says it is longer than the frame */                  \
	X(GROUP, "group")       /* a port sent to a group address */                               \
	X(POINT, "point")       /* for a host that is not in the grid */                           \
	X(WAY, "way")           /* no way is open to that host */                                  \
	X(TTL, "ttl")           /* passed as many relays as it may */                              \
	X(FULL, "full")         /* the context's inbox has no room */

enum eth_drop {
	ETH_DROP_NONE = 0,
#define ETH_DROP_NUMBER(name, text) ETH_DROP_##name,
	ETH_DROP_LIST(ETH_DROP_NUMBER)
#undef ETH_DROP_NUMBER
		ETH_DROPS
};

#endif
