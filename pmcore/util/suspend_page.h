/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * suspend_page - a file in memory, one for the ranks of a job on each host. By it they are told to
 * give their devices back and to open others (pmSuspend), and by it they say how far they are.
 *
 * The starter of the ranks makes it, names it to each of them by $PM_SUSPEND, and writes orders.
 * All ranks of the job carry out one step before any of them is told to take the next one. A rank
 * looks at the order word in each round of progress, so it comes when it next waits for MPI. No
 * signal is taken from the program.
 *
 * Both sides write it, under one user, and neither believes the other's numbers: whoever maps it
 * calls suspend_page_check, and cuts lengths at the room they describe.
 */
#ifndef PM_UTIL_SUSPEND_PAGE_H
#define PM_UTIL_SUSPEND_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUSPEND_PAGE_MAGIC 0x31444e5053554d50ull /* "PMUSPND1" */
#define SUSPEND_PAGE_RANKS_MAX (1u << 16)
#define SUSPEND_PAGE_NODES_MAX (1u << 20)
#define SUSPEND_ADDRESS_MAX 1024u /* PM_ADDRESS_MAX */
/*
 * Environment variable "SLOT:NAMESPACE.RANK:PATH": the rank's slot, its names in PMIx and the file.
 * A job that a rank starts inherits the variable, and finds that it is not meant by it.
 */
#define SUSPEND_PAGE_VARIABLE "PM_SUSPEND"

/* In this order; from each of the first four the job may go on at once by SUSPEND_RUN. */
enum suspend_step {
	SUSPEND_RUN,     /* the program goes on */
	SUSPEND_DRAIN,   /* it stands still; one-sided operations end */
	SUSPEND_HOLD,    /* pmHold: what was accepted is sent */
	SUSPEND_QUIESCE, /* pmQuiesce */
	SUSPEND_AWAY,    /* pmSuspend: there is no device any more */
	SUSPEND_REVIVE,  /* pmRevive, by config and job_key: each has a new address */
	SUSPEND_MEET,    /* the addresses of all are here: are the others reachable? */
	SUSPEND_STEPS,
};

/* An order is a number that is never used twice in a row, and a step. */
#define SUSPEND_STEP_BITS 3

static inline enum suspend_step suspend_order_step(uint32_t order)
{
	return (enum suspend_step)(order & ((1u << SUSPEND_STEP_BITS) - 1));
}

static inline uint32_t suspend_order_next(uint32_t order, enum suspend_step step)
{
	return ((order >> SUSPEND_STEP_BITS) + 1) << SUSPEND_STEP_BITS | step;
}

struct suspend_page {
	uint64_t magic;
	uint32_t n_slots; /* of ranks on this host */
	uint32_t n_nodes; /* room for addresses of nodes of the job */
	uint32_t order;   /* atomic, and a futex. 0: none was given yet */
	uint32_t n_known; /* addresses that are here, by ascending node: for SUSPEND_MEET */
	uint64_t job_key; /* for SUSPEND_REVIVE: one that the job has not had */
	char config[480]; /* the same, as in pmOptions; ends with 0 */
};

enum suspend_presence {
	SUSPEND_ABSENT,  /* it has not opened PM yet */
	SUSPEND_PRESENT, /* it looks at orders */
	SUSPEND_GONE,    /* it has closed PM */
};

/* A rank writes its slot, before it sets done or failed. */
struct suspend_slot {
	uint32_t presence; /* atomic: enum suspend_presence */
	uint32_t done;     /* atomic: the last order that was carried out */
	uint32_t failed;   /* atomic: ... that could not be, for why */
	uint32_t node;
	uint32_t address_length; /* after SUSPEND_REVIVE */
	char why[236];           /* ends with 0 */
	char address[SUSPEND_ADDRESS_MAX];
};

struct suspend_address {
	uint32_t node;
	uint32_t length;
	char bytes[SUSPEND_ADDRESS_MAX];
};

/* Bytes of the whole file. */
static inline size_t suspend_page_size(uint32_t n_slots, uint32_t n_nodes)
{
	return sizeof(struct suspend_page) + n_slots * sizeof(struct suspend_slot) +
	       n_nodes * sizeof(struct suspend_address);
}

static inline struct suspend_slot *suspend_page_slot(struct suspend_page *page, uint32_t i)
{
	return (struct suspend_slot *)(page + 1) + i;
}

static inline struct suspend_address *suspend_page_address(struct suspend_page *page, uint32_t i)
{
	return (struct suspend_address *)suspend_page_slot(page, page->n_slots) + i;
}

/* Whether @size mapped bytes are such a file. */
static inline bool suspend_page_check(const void *mapped, size_t size)
{
	const struct suspend_page *page = mapped;

	return size >= sizeof(*page) && page->magic == SUSPEND_PAGE_MAGIC && page->n_slots &&
	       page->n_slots <= SUSPEND_PAGE_RANKS_MAX && page->n_nodes <= SUSPEND_PAGE_NODES_MAX &&
	       suspend_page_size(page->n_slots, page->n_nodes) == size;
}

#endif
