// SPDX-License-Identifier: BSD-3-Clause
/*
 * The owner of a rail's rings is a socket of our own that no frame is ever steered to; each context
 * has sockets beside it. So a context can die without taking the rings with it.
 */
#include "pm-ethernet/daemon/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pm-ethernet/daemon/charges.h"
#include "pm-ethernet/daemon/closer.h"
#include "pm-ethernet/daemon/memory.h"
#include "pm-ethernet/daemon/sockets.h"

#define RING_MIN 1024u
#define RING_MAX 2048u
#define RX_CHUNKS_MIN 1024u /* in the fill ring beyond what processes may hold */
#define RX_CHUNKS_UNUSED 2u /* where frames come by inboxes: a page, so that areas begin on pages */
#define INBOX_FRAMES 1024u  /* of the largest size, that wait in an inbox */
#define INBOX_MIN (1u << 20)
#define INBOX_MAX (1u << 23)
/* struct xdp_desc; the kernel has a copy of each of those to be sent */
#define DESCRIPTOR_BYTES 16u
#define ADDRESS_BYTES 8u        /* of a chunk, in fill and completion rings */
#define KERNEL_CHUNK_BYTES 144u /* what the kernel keeps of a chunk beside it, 120 to 140 */

static uint32_t power_of_two(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static uint32_t ring_for(uint64_t chunks)
{
	uint32_t n = power_of_two(chunks);

	return n < RING_MIN ? RING_MIN : n > RING_MAX ? RING_MAX : n;
}

/*
 * Room for each context's frames, of all rails: the processes take them out into memory of their
 * own.
 */
static uint32_t inbox_for(const struct ethd *d)
{
	uint32_t frame = d->chunk_bytes * d->chunks_per_packet;
	uint32_t n = power_of_two((uint64_t)INBOX_FRAMES * frame);

	return n < INBOX_MIN ? INBOX_MIN : n > INBOX_MAX ? INBOX_MAX : n;
}

/* The kernel's own of packet memory, made when that is registered. */
static uint64_t kernel_bytes(const struct eth_granted *l)
{
	return l->memory_bytes / l->chunk_bytes * KERNEL_CHUNK_BYTES;
}

uint64_t ethd_layout_bytes(const struct eth_granted *l, uint32_t n_sockets)
{
	uint64_t rings = (uint64_t)(l->rx_entries + 2 * l->tx_entries) * DESCRIPTOR_BYTES;
	uint64_t owner = rings +
			 (uint64_t)(l->fill_entries + l->completion_entries) * ADDRESS_BYTES +
			 kernel_bytes(l);
	size_t share =
		eth_share_bytes(n_sockets, l->n_slots,
				power_of_two((uint64_t)l->tx_packets * l->chunks_per_packet));

	return l->memory_bytes + n_sockets * owner + share +
	       (uint64_t)l->n_slots * (l->inbox_bytes + n_sockets * rings);
}

int ethd_layout_check(const struct eth_granted *l, int memory, char *why, size_t why_size)
{
	if (!ethd_memory_is_filled(memory, l->memory_bytes)) {
		snprintf(why, why_size,
			 "the process has not filled its packet memory of %llu MiB; allow its "
			 "group more memory, or ask for less with channel.send_buffers",
			 (unsigned long long)l->memory_bytes >> 20);
		return -ENOMEM;
	}
	if (!ethd_charges_fit_own(kernel_bytes(l))) {
		snprintf(why, why_size,
			 "pm-ethernetd has no memory left for it; end other programs, or raise its "
			 "limit (MemoryMax=)");
		return -ENOMEM;
	}
	return 0;
}

int ethd_layout(struct ethd *d, const struct eth_request *r, uid_t uid, uint32_t n_slots,
		uint32_t n_sockets, struct eth_granted *ret, char *why, size_t why_size)
{
	uint64_t per_packet = d->chunks_per_packet, all = ETHD_JOB_BYTES / d->chunk_bytes;
	uint64_t tx = (uint64_t)n_slots * r->tx_packets * per_packet;
	uint64_t rx = RX_CHUNKS_MIN + (uint64_t)n_slots * r->rx_packets * per_packet, bytes;
	int err;

	if (tx + RX_CHUNKS_MIN * n_sockets > all) {
		snprintf(why, why_size,
			 "transmit pools of %u contexts with %u packets each exceed %u MiB of "
			 "packet memory; "
			 "ask for fewer with channel.send_buffers",
			 n_slots, r->tx_packets, ETHD_JOB_BYTES >> 20);
		return -E2BIG;
	}
	if (rx > (all - tx) / n_sockets)
		rx = (all - tx) / n_sockets;
	ret->inbox_bytes = d->mode == ETHD_MODE_TC ? inbox_for(d) : 0;
	if (ret->inbox_bytes)
		rx = RX_CHUNKS_UNUSED;
	ret->chunk_bytes = d->chunk_bytes;
	ret->chunks_per_packet = d->chunks_per_packet;
	ret->tx_packets = r->tx_packets;
	ret->rx_chunks = (uint32_t)rx;
	ret->fill_entries = power_of_two(rx);
	ret->completion_entries = ring_for(tx);
	ret->rx_entries = ring_for(rx);
	ret->tx_entries = ring_for(tx);
	ret->n_slots = n_slots;
	ret->memory_bytes = (tx + rx * n_sockets) * d->chunk_bytes;
	ret->is_frags = d->is_frags;
	ret->is_native = d->mode == ETHD_MODE_NATIVE;
	bytes = ethd_layout_bytes(ret, n_sockets);
	err = ethd_charges_allow(d, uid, bytes, why, why_size);
	if (err)
		return err;
	return ethd_charges_allow_own(d, uid, bytes - ret->memory_bytes, why, why_size);
}

struct ethd_job *ethd_job_find(const struct ethd *d, uint64_t key, uid_t uid)
{
	for (struct ethd_job *job = d->jobs; job; job = job->next)
		if (job->key == key && job->uid == uid && !job->is_void)
			return job;
	return NULL;
}

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;
	int err = pthread_mutexattr_init(&kind);

	if (err)
		return -err;
	err = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	if (!err)
		err = pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	if (!err)
		err = pthread_mutex_init(lock, &kind);
	pthread_mutexattr_destroy(&kind);
	return -err;
}

static int make_share(struct ethd_job *job)
{
	uint32_t entries =
		power_of_two((uint64_t)job->layout.tx_packets * job->layout.chunks_per_packet);
	size_t bytes = eth_share_bytes(job->n_rails, job->n_slots, entries);
	struct eth_share *share;
	int err = 0;

	job->charge->share = ethd_memory_make("pm-ethernet-share", bytes);
	if (job->charge->share < 0)
		return job->charge->share;
	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED, job->charge->share,
		     0);
	if (share == MAP_FAILED)
		return -errno;
	share->magic = ETH_SHARE_MAGIC;
	share->n_slots = job->n_slots;
	share->n_rails = job->n_rails;
	share->mailbox_entries = entries;
	for (uint32_t r = 0; r < job->n_rails && !err; r++)
		err = init_lock(&share->rails[r].lock);
	munmap(share, sizeof(*share));
	return err;
}

/* Its pages come when the first process fills them. */
static int make_memory(struct ethd *d, struct ethd_job *job)
{
	uint64_t bytes = job->layout.memory_bytes;

	job->charge = ethd_charge_begin(d, job->uid, ethd_layout_bytes(&job->layout, job->n_rails));
	if (!job->charge)
		return -ENOMEM;
	job->charge->own_bytes = job->charge->bytes - bytes;
	job->charge->memory = ethd_memory_make("pm-ethernet-packets", bytes);
	return job->charge->memory < 0 ? job->charge->memory : make_share(job);
}

/* Owners of the rings, each with its receive chunks in the fill ring. */
static int make_owners(const struct ethd *d, struct ethd_job *job)
{
	const struct eth_granted *l = &job->layout;
	uint64_t first = (uint64_t)l->n_slots * l->tx_packets * l->chunks_per_packet;
	struct eth_granted small = *l;
	int err = 0;

	/* nobody reads or writes the packets of an owner itself */
	small.rx_entries = small.tx_entries = 64;
	for (uint32_t r = 0; r < job->n_rails && !err; r++) {
		job->base[r] = xsk_plain(&small, true);
		if (job->base[r] < 0)
			return job->base[r];
		err = xsk_tie(job->base[r], d->rails[job->rails[r]].ifindex);
		if (err)
			return err;
		err = xsk_fill(job->base[r], l,
			       (first + (uint64_t)r * l->rx_chunks) * l->chunk_bytes, l->rx_chunks);
	}
	return err;
}

static struct ethd_job *add(struct ethd *d, uint64_t key, uid_t uid)
{
	struct ethd_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->key = key;
	job->uid = uid;
	for (uint32_t r = 0; r < ETH_RAILS; r++)
		job->base[r] = -1;
	job->next = d->jobs;
	d->jobs = job;
	return job;
}

struct ethd_job *ethd_job_adopt(struct ethd *d, uint64_t key, uid_t uid)
{
	struct ethd_job *job = ethd_job_find(d, key, uid);

	if (!job)
		job = add(d, key, uid);
	if (job) {
		job->is_adopted = true;
		job->n_contexts++;
	}
	return job;
}

int ethd_job_create(struct ethd *d, const struct eth_request *r, uid_t uid, const uint8_t *rails,
		    uint32_t n_rails, struct ethd_job **ret, char *why, size_t why_size)
{
	struct ethd_job *job = add(d, r->key, uid);
	int err;

	if (!job)
		return -ENOMEM;
	job->n_slots = r->local < 1 ? 1 : r->local > ETH_SLOTS_MAX ? ETH_SLOTS_MAX : r->local;
	if (d->is_one_slot)
		job->n_slots = 1;
	job->n_rails = n_rails;
	memcpy(job->rails, rails, n_rails);
	job->is_zero_copy = d->mode == ETHD_MODE_NATIVE && !d->is_frags && !d->is_copy_only;
	err = ethd_layout(d, r, uid, job->n_slots, n_rails, &job->layout, why, why_size);
	if (!err) {
		snprintf(why, why_size, "packet memory of %llu bytes can't be made",
			 (unsigned long long)job->layout.memory_bytes);
		err = make_memory(d, job);
	}
	if (!err)
		err = make_owners(d, job);
	if (err) {
		ethd_job_destroy(d, job);
		return err;
	}
	*ret = job;
	return 0;
}

static int bind_owner(struct ethd *d, struct ethd_job *job, uint32_t r)
{
	struct ethd_rail *rail = &d->rails[job->rails[r]];
	int err;

	if (!rail->ifindex)
		return -ENODEV;
	if (r)
		return xsk_bind_shared(job->base[r], rail->ifindex, job->base[0]);
	err = xsk_bind_owner(job->base[0], rail->ifindex, job->is_zero_copy, d->is_frags);
	if (err && err != -EBUSY && job->is_zero_copy) {
		job->is_zero_copy = false;
		err = xsk_bind_owner(job->base[0], rail->ifindex, false, d->is_frags);
	}
	return err;
}

/* Once, when the first process has mapped and filled it. */
static int register_memory(struct ethd_job *job, char *why, size_t why_size)
{
	int err = job->is_registered
			  ? 0
			  : ethd_layout_check(&job->layout, job->charge->memory, why, why_size);

	if (err || job->is_registered)
		return err;
	job->charge->is_freed_late = true;
	err = xsk_register(job->base[0], job->charge->memory, &job->layout);
	job->is_registered = !err;
	if (err)
		snprintf(why, why_size, "packet memory of %llu bytes can't be registered: %s",
			 (unsigned long long)job->layout.memory_bytes, strerror(-err));
	return err;
}

static int bind_owners(struct ethd *d, struct ethd_job *job)
{
	while (job->n_bound < job->n_rails) {
		int err = bind_owner(d, job, job->n_bound);

		if (err)
			return err;
		d->rails[job->rails[job->n_bound]].copy = job->is_zero_copy ? ETHD_COPY_ZERO
									    : ETHD_COPY_COPY;
		job->n_bound++;
	}
	return 0;
}

/* Lets go of the owners, of which those that are bound come first. */
static void close_owners(struct ethd *d, struct ethd_job *job)
{
	for (uint32_t r = 0; r < ETH_RAILS; r++)
		if (job->base[r] >= 0)
			ethd_charge_watch(d, job->charge, job->base[r]);
	if (job->n_bound && job->base[0] >= 0)
		ethd_closer_take(d, job->charge, job->base, job->n_bound);
	for (uint32_t r = 0; r < ETH_RAILS; r++) {
		if (r >= job->n_bound && job->base[r] >= 0)
			close(job->base[r]);
		job->base[r] = -1;
	}
}

int ethd_job_bind(struct ethd *d, struct ethd_job *job, const int *sockets, bool is_last_try,
		  char *why, size_t why_size)
{
	int err = job->is_void ? -ESTALE : register_memory(job, why, why_size);

	if (err && !job->is_void)
		return err;
	if (!err)
		err = bind_owners(d, job);
	if (err) {
		snprintf(why, why_size, "queue 0 of %s can't be had: %s",
			 d->rails[job->rails[job->n_bound]].name, strerror(-err));
		if (err == -EBUSY && !is_last_try)
			return err;
		/*
		 * its queues are free again as soon as the processes that mapped the rings have
		 * heard of it
		 */
		job->is_void = true;
		close_owners(d, job);
		if (!job->is_zero_copy || err == -ESTALE || is_last_try)
			return err;
		/* One NIC can do without copies and another can't: then none does. */
		d->is_copy_only = true;
		return -ESTALE;
	}
	for (uint32_t r = 0; r < job->n_rails && !err; r++) {
		err = xsk_bind_shared(sockets[r], d->rails[job->rails[r]].ifindex, job->base[r]);
		if (err)
			snprintf(why, why_size, "no socket on queue 0 of %s: %s",
				 d->rails[job->rails[r]].name, strerror(-err));
	}
	/* nothing that passes by itself: the owners are bound */
	return err == -EBUSY ? -EADDRINUSE : err;
}

int ethd_job_join(struct ethd *d, struct ethd_job *job, int ret_sockets[ETH_RAILS],
		  uint32_t *ret_slot)
{
	int sockets[ETH_RAILS], err = 0;
	uint32_t r;

	if (job->next_slot >= job->n_slots)
		return -ENOSPC;
	for (r = 0; r < job->n_rails; r++) {
		sockets[r] = xsk_plain(&job->layout, false);
		if (sockets[r] < 0) {
			err = sockets[r];
			break;
		}
		err = xsk_tie(sockets[r], d->rails[job->rails[r]].ifindex);
		if (err) {
			close(sockets[r]);
			break;
		}
	}
	if (err) {
		while (r--)
			close(sockets[r]);
		return err;
	}
	memcpy(ret_sockets, sockets, job->n_rails * sizeof(sockets[0]));
	*ret_slot = job->next_slot++;
	job->n_contexts++;
	return 0;
}

void ethd_job_leave(struct ethd *d, struct ethd_job *job)
{
	if (!--job->n_contexts)
		ethd_job_destroy(d, job);
}

void ethd_job_destroy(struct ethd *d, struct ethd_job *job)
{
	struct ethd_job **at = &d->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (job->charge) {
		close_owners(d, job);
		ethd_charge_end(d, job->charge, -1);
	}
	free(job);
}
