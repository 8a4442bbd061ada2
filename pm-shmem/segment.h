/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment - the shared file of a job on this host: its making, the slots of its processes, and the
 * mapping of the areas of pairs. Everything that changes its structure happens under the segment
 * lock, in an order that leaves it sound when the process is killed in between. Knows rings only by
 * their size.
 */
#ifndef PM_SHMEM_SEGMENT_H
#define PM_SHMEM_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "pm-shmem/directory.h"
#include "pm-shmem/layout.h"
#include "pm_device.h"

struct pms_segment {
	struct pms_directory dir;
	struct pms_header *header; /* mapped: header page and slots */
	struct pms_slot *slots;    /* PMS_SLOTS of them */
	/* the same; of processes that are no more, pages may be missing */
	struct pms_board *boards;
	uint32_t index; /* of our slot */
	uint32_t ring;  /* geometry, from the header */
	uint32_t mtu;
	uint64_t mapped; /* bytes of areas that are mapped now */
};

/* The address by which other processes find this one: the link's part of the context address. */
struct pms_address {
	uint64_t segment;  /* pms_header.id */
	uint64_t instance; /* pms_slot.instance */
	uint32_t index;    /* slot */
	uint32_t node;
};

/*
 * Opens or makes the job's segment and claims a slot: -EEXIST (the node is already here), -ENOSPC
 * (all slots are taken), others; the sentence is in env->why. @ret_large: measure() is asked for
 * once per segment when it is not yet known.
 */
int pms_segment_open(const struct pm_device_env *env, enum pms_large (*measure)(void),
		     struct pms_segment *seg);
/* Gives the slot back; the last process removes the files. */
void pms_segment_close(struct pms_segment *seg);

/*
 * The process that @addr speaks of, referred to from now on so that its slot is not given to
 * another. -EHOSTUNREACH: not in this segment; -EINVAL; -EPIPE: it is no more.
 */
int pms_segment_find(struct pms_segment *seg, const void *addr, size_t len, uint32_t *ret_index);
/* Ends that, and the contact of that process with us. */
void pms_segment_forget(struct pms_segment *seg, uint32_t index);
/* Notes in the slot of @index that we send to it. */
void pms_segment_announce(struct pms_segment *seg, uint32_t index);

/* Parts of an area: which bytes to map. */
enum pms_part { PMS_PART_RING, PMS_PART_BULK };
/*
 * Maps part of the area @from -> @to, with its pages allocated so that touching them can't fail; of
 * the bulk part the first page only. -ENOMEM, -ENOSPC.
 */
int pms_segment_map(struct pms_segment *seg, uint32_t from, uint32_t to, enum pms_part part,
		    void **ret_memory);
/* Allocates of a bulk part what it can't do without: its head and a page of each chunk. -ENOSPC. */
int pms_segment_reserve(const struct pms_segment *seg, uint32_t from, uint32_t to);
/* Allocates the rest, before it is written to. -ENOSPC. */
int pms_segment_fill(const struct pms_segment *seg, uint32_t from, uint32_t to);
void pms_segment_unmap(struct pms_segment *seg, enum pms_part part, void *memory);

#endif
