/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_wire.h - every byte the channel puts on a wire, and nothing else. All numbers are
 * little-endian. A packet is one header followed by a body:
 *
 *   DATA   one or more messages, each a wire_msg followed by its payload, padded to 8 bytes
 *          (the last one is not padded); takes a sequence number; acks ride along
 *   ACK    a wire_ack: the whole receive state; takes no sequence number (seq is the next one)
 *   PROBE  empty; asks for an ACK; takes a rail sequence number only
 *
 * Each packet of any type takes the next rail sequence number of its rail. A rail is FIFO, so a gap
 * there is a loss, while reordering between rails never looks like one. Adding a packet type: the
 * enum, both checks in codec.c, chan_input, pmstat's names, the fuzz corpus.
 */
#ifndef PM_WIRE_H
#define PM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 1
#define WIRE_RAILS 8
#define WIRE_WINDOW_MAX 4096 /* packets; bits of the longest selective ack */
#define WIRE_ALIGN 8

enum wire_type { WIRE_DATA = 1, WIRE_ACK = 2, WIRE_PROBE = 3 };

/* wire_header.flags */
#define WIRE_F_CRC 0x01     /* crc is valid: CRC32C of the packet with crc as 0 */
#define WIRE_F_ACK_NOW 0x02 /* sender asks for an ack at once */
#define WIRE_F_ECHO_SHIFT 4 /* bits 4..6: the rail that rail_ack speaks of */
#define WIRE_F_ECHO_MASK 0x70

struct wire_header {
	uint8_t version; /* WIRE_VERSION */
	uint8_t type;    /* enum wire_type */
	uint8_t flags;
	uint8_t rail;    /* sender's number of the rail, < WIRE_RAILS */
	uint16_t length; /* body bytes; the packet may be padded behind them by the link */
	/*
	 * low bits of the count of message packets the receiver of this header may have sent in all
	 * (absolute, so that loss does no harm)
	 */
	uint16_t credit;
	uint64_t key;      /* job key */
	uint32_t src;      /* node */
	uint32_t dst;      /* node */
	uint32_t seq;      /* of this DATA packet; of the next one otherwise */
	uint32_t rail_seq; /* on @rail from src to dst */
	uint32_t ack;      /* all before it have been received */
	uint32_t sack;     /* bit i: ack + 1 + i has been received */
	/* next rail_seq expected on the rail named in flags, of the other direction */
	uint32_t rail_ack;
	uint32_t crc;
};

/* wire_msg.kind */
enum wire_kind {
	WIRE_DATAGRAM = 1, /* user message */
	WIRE_READ = 2,     /* body wire_read: please place a range of a region */
	WIRE_PLACE = 3,    /* body wire_place then data: lands in the reader's memory on arrival */
	WIRE_REFUSE = 4,   /* body wire_refuse: a read or write can't be served */
	WIRE_WRITE = 5,    /* body wire_write: please pull from me into your region */
	WIRE_WRITTEN = 6,  /* body wire_refuse with error 0: the write has been done */
};

/* wire_msg.flags */
/* a datagram of the composite's own (device/takeover.c), not of the user */
#define WIRE_M_CARRIED 0x01

struct wire_msg {
	uint16_t length; /* payload bytes behind this header, body struct included */
	uint8_t kind;    /* enum wire_kind */
	uint8_t flags;   /* WIRE_M_CARRIED, of datagrams; others are 0 */
	/* Initiator's operation number; in the first datagram of a packet: packets of datagrams
	 * sent to this node before; 0 in those behind it. */
	uint32_t op;
};

struct wire_read {
	uint64_t rkey;
	uint64_t roffset; /* in the region */
	uint64_t offset;  /* in the operation: where the data lands */
	uint64_t length;
};

struct wire_place {
	uint64_t offset; /* in the operation */
};

struct wire_write {
	uint64_t rkey; /* target region */
	uint64_t roffset;
	uint64_t length;
	uint64_t source; /* rkey by which the target reads the initiator's memory, from offset 0 */
};

struct wire_refuse {
	uint32_t error; /* 0 or an errno value */
	uint32_t pad;
};

/* Body of an ACK. ack in the header; bitmap bit i: ack + 1 + i received. */
struct wire_ack {
	uint32_t rail_next[WIRE_RAILS]; /* next rail_seq expected on each rail */
	uint32_t n_words; /* 64-bit words of bitmap that follow, 0..WIRE_WINDOW_MAX/64 */
	uint32_t pad;
};

_Static_assert(sizeof(struct wire_header) == 48, "wire header size");
_Static_assert(offsetof(struct wire_header, key) == 8, "wire header layout");
_Static_assert(offsetof(struct wire_header, seq) == 24, "wire header layout");
_Static_assert(offsetof(struct wire_header, crc) == 44, "wire header layout");
_Static_assert(sizeof(struct wire_msg) == 8, "wire message header size");
_Static_assert(sizeof(struct wire_read) == 32, "wire read size");
_Static_assert(sizeof(struct wire_ack) == 40, "wire ack size");

/* Bytes of a packet before the payload of its first message. */
#define WIRE_OVERHEAD (sizeof(struct wire_header) + sizeof(struct wire_msg))

#endif
