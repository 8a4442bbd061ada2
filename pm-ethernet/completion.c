// SPDX-License-Identifier: BSD-3-Clause
/*
 * completion - transmit chunks come back from the kernel. Where several processes share the
 * completion ring of a rail, whoever has the lock takes all: chunks of others go to their
 * mailboxes, our own mailbox is read without the lock. Nobody waits for the lock: who does not get
 * it looks again later.
 */
#include <assert.h>
#include <errno.h>

#include "pm-ethernet/device.h"

/* ---- the lock ---- */

static void set_broken(struct eth_dev *d)
{
	uint32_t fine = 0;

	atomic_compare_exchange_strong(&d->share->broken, &fine, 1 + d->granted.slot);
}

bool eth_is_broken(const struct eth_dev *d)
{
	return d->share && atomic_load_explicit(&d->share->broken, memory_order_relaxed);
}

bool eth_lock(struct eth_dev *d, uint32_t i)
{
	pthread_mutex_t *lock;
	int err;

	if (!d->share)
		return true;
	if (eth_is_broken(d))
		return false;
	lock = &d->share->rails[i].lock;
	err = pthread_mutex_trylock(lock);
	if (!err)
		return true;
	if (err == EBUSY)
		return false;
	/*
	 * the rings are as the dead owner left them; unlocked without repair nobody gets in again
	 */
	set_broken(d);
	if (err == EOWNERDEAD)
		pthread_mutex_unlock(lock);
	return false;
}

void eth_unlock(struct eth_dev *d, uint32_t i)
{
	if (d->share)
		pthread_mutex_unlock(&d->share->rails[i].lock);
}

/* ---- chunks ---- */

void eth_completion_done(struct eth_dev *d, struct eth_socket *s, struct eth_packet *packet)
{
	s->outstanding--;
	packetpool_let_go(&d->pool, &packet->pub);
}

/* A chunk of our own area is done. */
static void take(struct eth_dev *d, struct eth_socket *s, uint64_t address)
{
	uint64_t offset = address - d->tx_base;
	uint32_t chunk = (uint32_t)(offset >> eth_chunk_shift(d)), n = d->granted.chunks_per_packet;
	uint32_t index = n == 1 ? chunk : chunk / n;
	struct eth_packet *packet;

	if (address < d->tx_base || offset >= d->tx_area_bytes) {
		s->strange++;
		return;
	}
	packet = &d->packets[index];
	if (chunk - index * n != packet->last)
		return;
	if (packet->pub.busy)
		eth_completion_done(d, s, packet);
	else
		s->strange++;
}

static void read_mailbox(struct eth_dev *d, uint32_t i)
{
	struct eth_mailbox *box = eth_share_mailbox(d->share, i, d->granted.slot);
	const uint64_t *letters = eth_share_letters(d->share, i, d->granted.slot);
	uint32_t mask = d->share->mailbox_entries - 1;
	uint32_t head = atomic_load_explicit(&box->head, memory_order_relaxed);
	/* pairs with the release in post_letter */
	uint32_t tail = atomic_load_explicit(&box->tail, memory_order_acquire);

	if (head == tail)
		return;
	while (head != tail)
		take(d, &d->sockets[i], letters[head++ & mask]);
	atomic_store_explicit(&box->head, head, memory_order_release);
}

/* Under the lock. */
static void post_letter(struct eth_dev *d, uint32_t i, uint32_t slot, uint64_t address)
{
	struct eth_mailbox *box = eth_share_mailbox(d->share, i, slot);
	uint32_t entries = d->share->mailbox_entries;
	uint32_t tail = atomic_load_explicit(&box->tail, memory_order_relaxed);

	if (tail - atomic_load_explicit(&box->head, memory_order_acquire) == entries) {
		d->sockets[i].strange++; /* more letters than it has chunks */
		return;
	}
	eth_share_letters(d->share, i, slot)[tail & (entries - 1)] = address;
	atomic_store_explicit(&box->tail, tail + 1, memory_order_release);
}

static void reap_shared(struct eth_dev *d, uint32_t i)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *done = &s->rings.done;
	uint32_t n;

	read_mailbox(d, i);
	if (atomic_load_explicit(done->producer, memory_order_relaxed) ==
		    atomic_load_explicit(done->consumer, memory_order_relaxed) ||
	    !eth_lock(d, i))
		return;
	done->ours = atomic_load_explicit(done->consumer, memory_order_relaxed);
	done->theirs = done->ours;
	for (n = eth_ring_ready(done); n; n--) {
		uint64_t address = *eth_ring_address(done, done->ours++);
		uint64_t slot = address / d->tx_area_bytes;

		if (slot == d->granted.slot)
			take(d, s, address);
		else if (slot < d->granted.n_slots)
			post_letter(d, i, (uint32_t)slot, address);
		else
			s->strange++;
	}
	eth_ring_release(done);
	eth_unlock(d, i);
}

void eth_completion_reap(struct eth_dev *d, uint32_t i)
{
	struct eth_socket *s = &d->sockets[i];
	struct eth_ring *done = &s->rings.done;
	uint32_t n;

	/* of a driver that is gone all was written off */
	if (s->fd < 0 || (s->is_zero_copy && s->is_unbound))
		return;
	if (d->share) {
		reap_shared(d, i);
		return;
	}
	n = eth_ring_ready(done);
	if (!n)
		return;
	while (n--)
		take(d, s, *eth_ring_address(done, done->ours++));
	eth_ring_release(done);
}

void eth_completion_reap_all(struct eth_dev *d)
{
	for (uint32_t i = 0; i < d->n_sockets; i++)
		if (d->sockets[i].outstanding)
			eth_completion_reap(d, i);
}
