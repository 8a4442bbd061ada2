/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbox - the ring that the kernel programs at tc put the frames of a context into, whatever rail
 * they came by: a BPF ring buffer from its reader's side. Records are read in place and given back
 * in order, several at once, because the kernel looks at our position for each frame. Positions are
 * bytes and run freely.
 */
#ifndef PM_ETHERNET_INBOX_H
#define PM_ETHERNET_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eth_inbox {
	int fd;                     /* -1: there is none, or it is closed */
	_Atomic uint64_t *consumer; /* up to where we gave back, and ETH_INBOX_SLEEPS */
	_Atomic uint64_t *producer; /* up to where the kernel has reserved; read-only */
	/* the ring, twice in a row, so that no record has a break; read-only */
	const uint8_t *bytes;
	uint64_t size; /* of the ring, bytes, a power of two */
	uint64_t page; /* bytes */
	uint64_t ours, given,
		known;    /* next to be read; what consumer and producer are as far as we know */
	uint64_t sleeps;  /* ETH_INBOX_SLEEPS while it is to be seen at the position, else 0 */
	uint64_t strange; /* records that no program of ours writes */
	bool is_watched;  /* epoll waits for it */
};

/* Maps the ring of @fd, which becomes ours. 0 or -errno, then @fd is still the caller's. */
int eth_inbox_open(int fd, uint64_t size, struct eth_inbox *ret);
void eth_inbox_close(struct eth_inbox *b);

/*
 * The next frame: its first byte, or NULL: there is none, or not yet all of it. *ret_next is what
 * eth_inbox_pass is to be told when it has been read. Only the kernel can write there, so it is no
 * less to be trusted than what it returns.
 */
const uint8_t *eth_inbox_next(struct eth_inbox *b, uint32_t *ret_length, uint64_t *ret_next);
/* Goes on behind a frame. */
void eth_inbox_pass(struct eth_inbox *b, uint64_t next);
/* Gives back all that was passed. */
void eth_inbox_release(struct eth_inbox *b);
/* Something is there, maybe not yet all of it. */
bool eth_inbox_is_pending(const struct eth_inbox *b);

/*
 * From now on the kernel wakes whoever waits for the descriptor; what is there already has to be
 * looked for after that. awake takes it back.
 */
void eth_inbox_sleep(struct eth_inbox *b);
void eth_inbox_awake(struct eth_inbox *b);

#endif
