/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's side of an inbox, in a file of memory that is laid out as the kernel lays out its
 * ring.
 */
#ifndef TESTS_UNIT_PM_ETHERNET_INBOXRIG_H
#define TESTS_UNIT_PM_ETHERNET_INBOXRIG_H

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pm-ethernet/bpf/maps.h"
#include "pm-ethernet/inbox.h"
#include "tests/harness/tap.h"

#define INBOX_BYTES 4096u
#define INBOX_BUSY BPF_RINGBUF_BUSY_BIT
#define INBOX_DISCARD BPF_RINGBUF_DISCARD_BIT

struct inboxrig {
	uint8_t *map;
	uint64_t *consumer, *producer; /* positions */
	uint8_t *bytes;                /* the ring, twice */
	size_t page;
};

/* The inbox of a fresh ring. */
static inline struct inboxrig inboxrig_open(struct eth_inbox *ret)
{
	struct inboxrig k = {.page = (size_t)sysconf(_SC_PAGESIZE)};
	size_t size = 2 * k.page + 2 * (size_t)INBOX_BYTES;
	int fd = memfd_create("inbox", 0);

	if (fd < 0 || ftruncate(fd, (off_t)size))
		abort();
	k.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (k.map == MAP_FAILED)
		abort();
	k.consumer = (uint64_t *)k.map;
	k.producer = (uint64_t *)(k.map + k.page);
	k.bytes = k.map + 2 * k.page;
	is_int(eth_inbox_open(fd, INBOX_BYTES, ret), 0);
	return k;
}

static inline void inboxrig_close(struct inboxrig *k, struct eth_inbox *b)
{
	eth_inbox_close(b);
	munmap(k->map, 2 * k->page + 2 * (size_t)INBOX_BYTES);
}

/* Writes at a position of the ring, and where it is mapped once more. */
static inline void inboxrig_write(struct inboxrig *k, uint64_t at, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t place = (at + i) % INBOX_BYTES;

		k->bytes[place] = k->bytes[place + INBOX_BYTES] = ((const uint8_t *)from)[i];
	}
}

/* The kernel's head of the record at @at: its length and what is to be said of it. */
static inline void inboxrig_head(struct inboxrig *k, uint64_t at, uint32_t head)
{
	uint32_t words[2] = {head, 1};

	inboxrig_write(k, at, words, sizeof(words));
}

/*
 * A record of @room bytes and its head, that says it holds a frame of @length bytes; where it is.
 */
static inline uint64_t inboxrig_put(struct inboxrig *k, uint32_t room, uint32_t bits,
				    const void *frame, uint32_t length)
{
	uint64_t at = *k->producer;
	struct eth_record record = {.length = length};

	inboxrig_head(k, at, room | bits);
	inboxrig_write(k, at + 8, &record, sizeof(record));
	if (length <= room - sizeof(record))
		inboxrig_write(k, at + 16, frame, length);
	*k->producer = at + ((8 + room + 7) & ~7u);
	return at;
}

#endif
