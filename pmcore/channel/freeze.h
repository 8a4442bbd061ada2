/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * freeze - layout of a frozen engine, shared by the writer and the reader. Host byte order: it is
 * read on the same kind of machine. A head, then per peer its numbers and unsent messages, then the
 * messages received and not read, in order. Each message is a freeze_msg and its bytes, padded to
 * 8.
 */
#ifndef PM_CHANNEL_FREEZE_H
#define PM_CHANNEL_FREEZE_H

#include <stdint.h>

#include "pmcore/wire/pm_wire.h"

#define FREEZE_MAGIC 0x315a465043534f53ull
#define FREEZE_VERSION 1

struct freeze_head {
	uint64_t magic;
	uint32_t version;
	uint32_t crc;   /* CRC32C of all behind this field */
	uint64_t bytes; /* of all, head included */
	uint32_t self;  /* node */
	uint32_t n_peers;
	uint32_t n_unread; /* messages */
	uint32_t pad;
};

struct freeze_peer {
	uint32_t node;
	uint32_t tx_next, tx_mseq, tx_credit; /* as in struct chan_peer; all is acked */
	uint32_t rx_next, rx_mseq, rx_done, rx_credit;
	uint32_t rail_tx[WIRE_RAILS];
	uint32_t rail_acked[WIRE_RAILS];
	uint32_t rail_rx[WIRE_RAILS];
	uint32_t srtt_ns, rttvar_ns;
	uint32_t n_unsent; /* messages that follow */
	uint32_t pad;
};

struct freeze_msg {
	uint32_t node;
	uint16_t len;       /* bytes */
	uint8_t is_last;    /* of its packet: its release gives credit */
	uint8_t is_carried; /* not the user's */
};

_Static_assert(sizeof(struct freeze_head) == 40, "frozen head");
_Static_assert(sizeof(struct freeze_peer) % 8 == 0, "frozen peer");
_Static_assert(sizeof(struct freeze_msg) == 8, "frozen message");

#endif
