// SPDX-License-Identifier: BSD-3-Clause
/*
 * A record begins with 8 bytes of the kernel: its length, and in the highest bits whether it is for
 * reading.
 */
#include "pm-ethernet/inbox.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pm-ethernet/bpf/maps.h"

/* At most this part of the ring has been read and not been given back. */
#define KEEP 8
#define RECORD_HEAD sizeof(struct eth_record)

int eth_inbox_open(int fd, uint64_t size, struct eth_inbox *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct eth_inbox b = {.fd = fd, .size = size, .page = page};
	uint8_t *at;

	b.consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b.consumer == MAP_FAILED)
		return -errno;
	at = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, (off_t)page);
	if (at == MAP_FAILED) {
		int err = -errno;

		munmap(b.consumer, page);
		return err;
	}
	/* a child would give back what we have not read */
	madvise(b.consumer, page, MADV_DONTFORK);
	madvise(at, page + 2 * size, MADV_DONTFORK);
	b.producer = (_Atomic uint64_t *)at;
	b.bytes = at + page;
	b.ours = b.given = b.known = atomic_load(b.consumer);
	*ret = b;
	return 0;
}

void eth_inbox_close(struct eth_inbox *b)
{
	if (b->fd < 0)
		return;
	munmap((void *)b->consumer, b->page);
	munmap((void *)b->producer, b->page + 2 * b->size);
	close(b->fd);
	b->fd = -1;
}

/* The head of a record may be written before its position is, so that is looked at first. */
static bool has_more(struct eth_inbox *b)
{
	if (b->known == b->ours)
		b->known = atomic_load_explicit(b->producer, memory_order_acquire);
	return b->known != b->ours;
}

const uint8_t *eth_inbox_next(struct eth_inbox *b, uint32_t *ret_length, uint64_t *ret_next)
{
	while (has_more(b)) {
		const uint8_t *at = b->bytes + (b->ours & (b->size - 1));
		/* pairs with the exchange by which the kernel says that the record is complete */
		uint32_t head =
			atomic_load_explicit((const _Atomic uint32_t *)at, memory_order_acquire);
		uint64_t length = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t next = b->ours + ((BPF_RINGBUF_HDR_SZ + length + 7) & ~7ull);
		const struct eth_record *record = (const void *)(at + BPF_RINGBUF_HDR_SZ);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && length >= RECORD_HEAD &&
		    record->length <= length - RECORD_HEAD) {
			*ret_length = record->length;
			*ret_next = next;
			return record->frame;
		}
		b->strange += !(head & BPF_RINGBUF_DISCARD_BIT);
		eth_inbox_pass(b, next);
	}
	return NULL;
}

void eth_inbox_pass(struct eth_inbox *b, uint64_t next)
{
	b->ours = next;
	if (b->ours - b->given >= b->size / KEEP)
		eth_inbox_release(b);
}

/* pairs with the kernel's acquire of the consumer */
void eth_inbox_release(struct eth_inbox *b)
{
	b->given = b->ours;
	atomic_store_explicit(b->consumer, b->given | b->sleeps, memory_order_release);
}

bool eth_inbox_is_pending(const struct eth_inbox *b)
{
	return atomic_load_explicit(b->producer, memory_order_acquire) != b->ours;
}

void eth_inbox_sleep(struct eth_inbox *b)
{
	/* before any later look at the producer: see waking() of the programs */
	b->sleeps = ETH_INBOX_SLEEPS;
	eth_inbox_release(b);
	atomic_thread_fence(memory_order_seq_cst);
}

void eth_inbox_awake(struct eth_inbox *b)
{
	b->sleeps = 0;
	eth_inbox_release(b);
}
