/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share - memory that the direct contexts of one job on one host have in common. It has the locks
 * around the fill and completion rings of each rail. It also has mailboxes for transmit chunks that
 * another context's look into the completion ring found done. Only processes of one user and job
 * map it; they trust each other.
 */
#ifndef PM_ETHERNET_SHARE_H
#define PM_ETHERNET_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "pm-ethernet/frame.h"

#define ETH_SHARE_MAGIC 0x53544550u /* "PETS" */
#define ETH_SLOTS_MAX 64

/*
 * One per (rail, slot): addresses in packet memory that are the slot's again. Written under the
 * rail's lock, read by the slot without it. Room for all its transmit chunks, so it can't overflow.
 */
struct eth_mailbox {
	_Atomic uint32_t tail; /* written, free-running */
	uint8_t gap0[60];
	_Atomic uint32_t head; /* read, free-running */
	uint8_t gap1[60];
};

struct eth_share_rail {
	/* Robust and process-shared. Found without an owner: broken is set and everybody stops. */
	pthread_mutex_t lock;
	uint8_t gap[24];
};

struct eth_share {
	uint32_t magic;
	uint32_t n_slots, n_rails;
	uint32_t mailbox_entries; /* power of two, at least the chunks of a transmit area */
	_Atomic uint32_t broken;  /* 1 + slot that found a lock whose owner had died, 0 = fine */
	uint8_t gap[44];
	struct eth_share_rail rails[ETH_RAILS];
	/*
	 * then n_rails * n_slots struct eth_mailbox, then as many arrays of mailbox_entries
	 * uint64_t
	 */
};

static inline struct eth_mailbox *eth_share_mailbox(struct eth_share *s, uint32_t rail,
						    uint32_t slot)
{
	return (struct eth_mailbox *)(s + 1) + (rail * s->n_slots + slot);
}

static inline uint64_t *eth_share_letters(struct eth_share *s, uint32_t rail, uint32_t slot)
{
	uint64_t *all = (uint64_t *)eth_share_mailbox(s, s->n_rails, 0);

	return all + (size_t)(rail * s->n_slots + slot) * s->mailbox_entries;
}

static inline size_t eth_share_bytes(uint32_t n_rails, uint32_t n_slots, uint32_t entries)
{
	return sizeof(struct eth_share) +
	       (size_t)n_rails * n_slots *
		       (sizeof(struct eth_mailbox) + entries * sizeof(uint64_t));
}

#endif
