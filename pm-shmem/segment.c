// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "pm-shmem/board.h"
#include "pm-shmem/liveness.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/filesize.h"
#include "pmcore/util/forked.h"
#include "pmcore/util/pidns.h"

#define HEAD_BYTES PMS_BOARDS_OFFSET

static uint64_t random_word(void)
{
	uint64_t word;

	/*
	 * never fails for 8 bytes once the kernel's generator is seeded, which it is before user
	 * programs
	 */
	while (getrandom(&word, sizeof(word), 0) != sizeof(word))
		;
	return word;
}

/* Allocates pages now: a write to a page that a full tmpfs can't give is a SIGBUS. */
static int allocate(int fd, uint64_t offset, uint64_t len)
{
	while (fallocate(fd, 0, (off_t)offset, (off_t)len))
		if (errno != EINTR)
			return errno == EOPNOTSUPP ? 0 : -errno;
	return 0;
}

static int map(const struct pms_segment *seg, uint64_t offset, size_t len, int flags,
	       void **ret_memory)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | flags, seg->dir.file,
			    (off_t)offset);

	if (memory == MAP_FAILED)
		return -errno;
	/* a mapping in a child would hold our locks as its descriptor would */
	if (madvise(memory, len, MADV_DONTFORK)) {
		munmap(memory, len);
		return -ENOMEM;
	}
	*ret_memory = memory;
	return 0;
}

static int map_head(struct pms_segment *seg)
{
	void *head, *boards;
	int err = map(seg, 0, HEAD_BYTES, MAP_POPULATE, &head);

	if (err)
		return err;
	err = map(seg, PMS_BOARDS_OFFSET, PMS_BOARDS_BYTES, 0, &boards);
	if (err) {
		munmap(head, HEAD_BYTES);
		return err;
	}
	seg->header = head;
	seg->slots = (struct pms_slot *)((uint8_t *)head + PMS_SLOTS_OFFSET);
	seg->boards = boards;
	return 0;
}

static void unmap_head(struct pms_segment *seg)
{
	munmap(seg->header, HEAD_BYTES);
	munmap(seg->boards, PMS_BOARDS_BYTES);
}

/* The ring size asked for, halved until all processes expected here can talk to each other in half
 * of the free space. A job of many ranks must not fail for want of room in a small /dev/shm. */
static uint32_t fitting_ring(const struct pms_segment *seg, const struct pm_device_env *env)
{
	uint64_t pairs = env->local > 1 ? (uint64_t)env->local * (env->local - 1) : 0;
	uint32_t ring = env->conf->shmem_ring;
	struct statvfs fs;

	if (fstatvfs(seg->dir.file, &fs) || !fs.f_bavail)
		return ring;
	while (ring > PMS_RING_MIN && pairs * pms_ring_bytes(ring) > fs.f_bavail * fs.f_frsize / 2)
		ring /= 2;
	return ring;
}

/* Makes the segment from nothing, or from what killed processes left: nobody uses it. */
static int make(struct pms_segment *seg, const struct pm_device_env *env)
{
	uint32_t ring = fitting_ring(seg, env), mtu = env->conf->shmem_mtu;
	uint64_t size = pms_area_offset(ring, PMS_SLOTS, 0);
	int fd = seg->dir.file, err = filesize_check(size);

	if (err)
		return err;
	pms_directory_clean(&seg->dir);
	if (ftruncate(fd, 0) || ftruncate(fd, (off_t)size))
		return -errno;
	err = allocate(fd, 0, HEAD_BYTES);
	if (!err)
		err = map_head(seg);
	if (err)
		return err;
	seg->header->id = random_word();
	seg->header->key_check = pms_job_hash(env->job_key, 1);
	seg->header->ring = ring;
	/* a message needs up to twice its length, as it never wraps */
	seg->header->mtu = mtu < ring / 2 ? mtu : ring / 2;
	atomic_store_explicit(&seg->header->magic, PMS_MAGIC, memory_order_release);
	return 0;
}

static bool is_sound(const struct pms_header *h, uint64_t size, uint64_t key_check)
{
	return atomic_load_explicit(&h->magic, memory_order_acquire) == PMS_MAGIC &&
	       h->key_check == key_check && h->ring >= PMS_RING_MIN && h->ring <= PMS_RING_MAX &&
	       !(h->ring & (h->ring - 1)) && h->mtu > PMS_SHORT && h->mtu <= h->ring / 2 &&
	       size >= pms_area_offset(h->ring, PMS_SLOTS, 0);
}

/* Maps the segment that live processes use. */
static int join(struct pms_segment *seg, const struct pm_device_env *env)
{
	struct stat st;
	int err;

	if (fstat(seg->dir.file, &st))
		return -errno;
	if ((uint64_t)st.st_size < HEAD_BYTES)
		return -EPROTO;
	err = map_head(seg);
	if (err)
		return err;
	return is_sound(seg->header, (uint64_t)st.st_size, pms_job_hash(env->job_key, 1)) ? 0
											  : -EPROTO;
}

/* ---- slots ---- */

static bool has_bit(const _Atomic uint64_t *words, uint32_t i)
{
	return atomic_load_explicit(&words[i / 64], memory_order_relaxed) >> (i & 63) & 1;
}

/*
 * Whether a slot that nobody holds may get a new owner: no live process can still touch its areas.
 */
static bool is_reusable(const struct pms_segment *seg, uint32_t index, const bool *is_live)
{
	if (atomic_load_explicit(&seg->slots[index].state, memory_order_relaxed) == PMS_SLOT_FREE)
		return true;
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (is_live[i] && (has_bit(seg->slots[i].refers, index) ||
				   has_bit(seg->slots[i].contacts, index)))
			return false;
	return true;
}

/* Punches out what former users of the slot left in its areas. */
static int wipe(const struct pms_segment *seg, uint32_t index)
{
	uint64_t area = pms_area_bytes(seg->ring);

	for (uint32_t i = 0; i <= PMS_SLOTS; i++) {
		/* first the row of areas it sends in, in one piece; then each it receives from */
		uint32_t from = i == PMS_SLOTS ? index : i, to = i == PMS_SLOTS ? 0 : index;
		uint64_t offset = pms_area_offset(seg->ring, from, to);

		if (fallocate(seg->dir.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)offset, (off_t)(i == PMS_SLOTS ? area * PMS_SLOTS : area)))
			return -errno;
	}
	return 0;
}

/* Allocates the page of the board, and empties it. */
static int claim_board(struct pms_segment *seg, uint32_t index)
{
	int err = allocate(seg->dir.file, PMS_BOARDS_OFFSET + index * sizeof(struct pms_board),
			   sizeof(struct pms_board));

	if (!err)
		pms_board_clear(&seg->boards[index]);
	return err;
}

static int claim(struct pms_segment *seg, uint32_t index, uint32_t node)
{
	struct pms_slot *slot = &seg->slots[index];
	int err = pms_slot_lock(seg->dir.file, index);

	if (err)
		return err;
	/* from here to LIVE a kill leaves a slot that is free but wiped again by its next owner */
	atomic_store_explicit(&slot->state, PMS_SLOT_FREE, memory_order_relaxed);
	if (slot->uses) {
		err = wipe(seg, index);
		if (err)
			return err;
	}
	err = claim_board(seg, index);
	if (err)
		return err;
	slot->uses++;
	slot->node = node;
	slot->pid = (uint32_t)getpid();
	slot->pid_ns = pidns_self();
	slot->instance = random_word();
	atomic_store_explicit(&slot->sleeping, 0, memory_order_relaxed);
	for (int i = 0; i < PMS_WORDS; i++) {
		atomic_store_explicit(&slot->contacts[i], 0, memory_order_relaxed);
		atomic_store_explicit(&slot->refers[i], 0, memory_order_relaxed);
	}
	seg->index = index;
	atomic_store_explicit(&slot->state, PMS_SLOT_LIVE, memory_order_release);
	return 0;
}

static int claim_any(struct pms_segment *seg, const struct pm_device_env *env)
{
	bool is_live[PMS_SLOTS];

	for (uint32_t i = 0; i < PMS_SLOTS; i++) {
		is_live[i] = pms_slot_is_held(seg->dir.file, i);
		if (is_live[i] && seg->slots[i].node == env->self &&
		    atomic_load(&seg->slots[i].state) == PMS_SLOT_LIVE) {
			snprintf(env->why, env->why_size,
				 "node %u is already here as process %u: give each process of the "
				 "job a "
				 "number of its own, or each job a key of its own",
				 env->self, seg->slots[i].pid);
			return -EEXIST;
		}
	}
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (!is_live[i] && is_reusable(seg, i, is_live))
			return claim(seg, i, env->self);
	snprintf(env->why, env->why_size,
		 "more than %d processes of the job on this host: start fewer here, or leave shmem "
		 "out "
		 "of devices",
		 PMS_SLOTS);
	return -ENOSPC;
}

int pms_segment_open(const struct pm_device_env *env, enum pms_large (*measure)(void),
		     struct pms_segment *seg)
{
	int err;

	memset(seg, 0, sizeof(*seg));
	err = pms_directory_open(env->conf->shmem_dir, env->job_key, &seg->dir, env->why,
				 env->why_size);
	if (err)
		return err;
	pms_directory_sweep(&seg->dir);
	err = pms_any_slot_is_held(seg->dir.file) ? join(seg, env) : make(seg, env);
	if (err) {
		snprintf(env->why, env->why_size, "%s/%s/segment: %s: %s", env->conf->shmem_dir,
			 seg->dir.name, strerror(-err),
			 err == -EPROTO
				 ? "made by another version of the library; end its processes"
			 : err == -EFBIG ? "sparse but long, which ulimit -f forbids: raise it, or "
					   "leave shmem out "
					   "of devices"
					 : "check the space and the limits of shmem.dir");
	} else {
		seg->ring = seg->header->ring;
		seg->mtu = seg->header->mtu;
		err = claim_any(seg, env);
	}
	if (!err)
		err = forked_close(seg->dir.file);
	if (!err && seg->header->large == PMS_LARGE_UNKNOWN &&
	    env->conf->shmem_large == CONF_LARGE_AUTO)
		seg->header->large = measure();
	if (err) {
		if (!pms_any_slot_is_held(seg->dir.file))
			pms_directory_remove(&seg->dir);
		if (seg->header)
			unmap_head(seg);
		pms_directory_close(&seg->dir);
		return err;
	}
	pms_unlock(seg->dir.file);
	return 0;
}

void pms_segment_close(struct pms_segment *seg)
{
	bool is_locked = !pms_lock(seg->dir.file);

	pms_board_clear(&seg->boards[seg->index]);
	atomic_store_explicit(&seg->slots[seg->index].state, PMS_SLOT_LEFT, memory_order_release);
	/* another descriptor's view: our own slot's lock does not count */
	if (is_locked && !pms_any_slot_is_held(seg->dir.file))
		pms_directory_remove(&seg->dir);
	unmap_head(seg);
	forked_keep(seg->dir.file);
	pms_directory_close(&seg->dir);
}

/* ---- peers ---- */

int pms_segment_find(struct pms_segment *seg, const void *addr, size_t len, uint32_t *ret_index)
{
	struct pms_address a;
	_Atomic uint64_t *refers;
	const struct pms_slot *slot;
	bool is_there;
	int err;

	if (len != sizeof(a))
		return -EINVAL;
	memcpy(&a, addr, sizeof(a));
	if (a.segment != seg->header->id)
		return -EHOSTUNREACH;
	if (a.index >= PMS_SLOTS || a.index == seg->index)
		return -EINVAL;
	slot = &seg->slots[a.index];
	refers = &seg->slots[seg->index].refers[a.index / 64];
	err = pms_lock(seg->dir.file);
	if (err)
		return err;
	is_there = slot->instance == a.instance && slot->node == a.node &&
		   (atomic_load(&slot->state) == PMS_SLOT_LIVE || has_bit(refers, a.index & 63));
	if (is_there)
		atomic_fetch_or(refers, 1ull << (a.index & 63));
	pms_unlock(seg->dir.file);
	if (!is_there)
		return -EPIPE;
	*ret_index = a.index;
	return 0;
}

void pms_segment_forget(struct pms_segment *seg, uint32_t index)
{
	struct pms_slot *self = &seg->slots[seg->index];

	atomic_fetch_and(&self->contacts[index / 64], ~(1ull << (index & 63)));
	atomic_fetch_and(&self->refers[index / 64], ~(1ull << (index & 63)));
}

void pms_segment_announce(struct pms_segment *seg, uint32_t index)
{
	atomic_fetch_or(&seg->slots[index].contacts[seg->index / 64], 1ull << (seg->index & 63));
}

static uint64_t part_bytes(const struct pms_segment *seg, enum pms_part part)
{
	return part == PMS_PART_RING ? pms_ring_bytes(seg->ring) : PMS_BULK_BYTES;
}

int pms_segment_map(struct pms_segment *seg, uint32_t from, uint32_t to, enum pms_part part,
		    void **ret_memory)
{
	uint64_t offset = pms_area_offset(seg->ring, from, to), len = part_bytes(seg, part);
	bool is_ring = part == PMS_PART_RING;
	void *memory;
	int err;

	if (!is_ring)
		offset += pms_ring_bytes(seg->ring);
	err = allocate(seg->dir.file, offset, is_ring ? len : PMS_PAGE);
	if (err)
		return err;
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | (is_ring ? MAP_POPULATE : 0),
		      seg->dir.file, (off_t)offset);
	if (memory == MAP_FAILED)
		return -errno;
	if (madvise(memory, len, MADV_DONTFORK)) {
		munmap(memory, len);
		return -ENOMEM;
	}
	madvise(memory, len, MADV_DONTDUMP);
	seg->mapped += len;
	*ret_memory = memory;
	return 0;
}

static uint64_t bulk_offset(const struct pms_segment *seg, uint32_t from, uint32_t to)
{
	return pms_area_offset(seg->ring, from, to) + pms_ring_bytes(seg->ring);
}

int pms_segment_reserve(const struct pms_segment *seg, uint32_t from, uint32_t to)
{
	uint64_t at = bulk_offset(seg, from, to);
	int err = allocate(seg->dir.file, at, PMS_PAGE);

	at += PMS_PAGE;
	for (int i = 0; i < PMS_CHUNKS && !err; i++, at += PMS_CHUNK_BYTES)
		err = allocate(seg->dir.file, at, PMS_PAGE);
	return err;
}

int pms_segment_fill(const struct pms_segment *seg, uint32_t from, uint32_t to)
{
	uint64_t at = bulk_offset(seg, from, to) + PMS_PAGE;
	int err = 0;

	/*
	 * never over pages reserved: a tmpfs that fails takes back what is unused in the whole
	 * range
	 */
	for (int i = 0; i < PMS_CHUNKS && !err; i++, at += PMS_CHUNK_BYTES)
		err = allocate(seg->dir.file, at + PMS_PAGE, PMS_CHUNK_BYTES - PMS_PAGE);
	return err;
}

void pms_segment_unmap(struct pms_segment *seg, enum pms_part part, void *memory)
{
	munmap(memory, part_bytes(seg, part));
	seg->mapped -= part_bytes(seg, part);
}
