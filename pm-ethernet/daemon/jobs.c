// SPDX-License-Identifier: BSD-3-Clause
/*
 * The owner of a rail's rings is a socket of our own that no frame is ever steered to; each context has
 * sockets beside it. So a context can die without taking the rings with it.
 */
#include "pm-ethernet/daemon/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "pm-ethernet/daemon/closer.h"
#include "pm-ethernet/daemon/sockets.h"

#define RING_MIN 1024u
#define RING_MAX 2048u
#define RX_CHUNKS_MIN 1024u /* in the fill ring beyond what processes may hold */
#define RX_CHUNKS_UNUSED 2u /* where frames come by inboxes: a page, so that areas begin on pages */
#define INBOX_FRAMES 1024u  /* of the largest size, that wait in an inbox */
#define INBOX_MIN (1u << 20)
#define INBOX_MAX (1u << 23)

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

/* The kernel can't swap packet memory out, so what one user may hold of it has a limit. */
static int check_quota(const struct ethd *d, uid_t uid, uint64_t more, char *why, size_t why_size)
{
	uint64_t has = 0, limit = ETHD_UID_BYTES;
	struct sysinfo machine;

	if (!uid)
		return 0;
	if (!sysinfo(&machine) && (uint64_t)machine.totalram * machine.mem_unit / 4 < limit)
		limit = (uint64_t)machine.totalram * machine.mem_unit / 4;
	for (uint32_t c = 1; c < ETH_CONTEXTS; c++)
		if (d->contexts[c].key && d->contexts[c].uid == uid)
			has += d->contexts[c].memory_bytes;
	for (const struct ethd_job *job = d->jobs; job; job = job->next)
		if (job->uid == uid && job->n_contexts)
			has += job->layout.memory_bytes;
	if (has + more <= limit)
		return 0;
	snprintf(why, why_size,
		 "user %u holds %llu MiB of packet memory on this host and may hold %llu MiB; "
		 "end other programs, or ask for less with channel.send_buffers",
		 uid, (unsigned long long)has >> 20, (unsigned long long)limit >> 20);
	return -EDQUOT;
}

/* Room for each context's frames, of all rails: the processes take them out into memory of their own. */
static uint32_t inbox_for(const struct ethd *d)
{
	uint32_t frame = d->chunk_bytes * d->chunks_per_packet;
	uint32_t n = power_of_two((uint64_t)INBOX_FRAMES * frame);

	return n < INBOX_MIN ? INBOX_MIN : n > INBOX_MAX ? INBOX_MAX : n;
}

int ethd_layout(const struct ethd *d, const struct eth_request *r, uid_t uid, uint32_t n_slots,
		uint32_t n_sockets, struct eth_granted *ret, char *why, size_t why_size)
{
	uint64_t per_packet = d->chunks_per_packet, all = ETHD_JOB_BYTES / d->chunk_bytes;
	uint64_t tx = (uint64_t)n_slots * r->tx_packets * per_packet;
	uint64_t rx = RX_CHUNKS_MIN + (uint64_t)n_slots * r->rx_packets * per_packet;

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
	return check_quota(d, uid, ret->memory_bytes + (uint64_t)n_slots * ret->inbox_bytes, why,
			   why_size);
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

	job->share = xsk_memory("pm-ethernet-share", bytes);
	if (job->share < 0)
		return job->share;
	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED, job->share, 0);
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
		job->base[r] = r ? xsk_plain(&small, true) : xsk_owner(job->memory, &small);
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
	job->memory = job->share = -1;
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
		job->memory = xsk_memory("pm-ethernet-packets", job->layout.memory_bytes);
		err = job->memory < 0 ? job->memory : make_share(job);
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

/* Its queues are free again as soon as the processes that mapped the rings have heard of it. */
static void make_void(struct ethd_job *job)
{
	job->is_void = true;
	for (uint32_t r = 0; r < ETH_RAILS; r++) {
		if (job->base[r] >= 0)
			close(job->base[r]);
		job->base[r] = -1;
	}
}

int ethd_job_bind(struct ethd *d, struct ethd_job *job, const int *sockets, bool is_last_try,
		  char *why, size_t why_size)
{
	int err = job->is_void ? -ESTALE : bind_owners(d, job);

	if (err) {
		snprintf(why, why_size, "queue 0 of %s can't be had: %s",
			 d->rails[job->rails[job->n_bound]].name, strerror(-err));
		if (err == -EBUSY && !is_last_try)
			return err;
		make_void(job);
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
	/* those that are bound come first */
	ethd_closer_take(d, job->uid, job->base, job->is_void ? 0 : job->n_bound, -1);
	for (uint32_t r = job->is_void ? 0 : job->n_bound; r < ETH_RAILS; r++)
		if (job->base[r] >= 0)
			close(job->base[r]);
	if (job->memory >= 0)
		close(job->memory);
	if (job->share >= 0)
		close(job->share);
	free(job);
}
