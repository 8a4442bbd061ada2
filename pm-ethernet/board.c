// SPDX-License-Identifier: BSD-3-Clause
/*
 * board - the table of hosts: open addressing by a hash of the id, never a deletion, one version
 * per place (odd while it is written). Knows nothing of sockets, frames or how the board came to be
 * shared.
 */
#include "pm-ethernet/board.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#define HOSTS_MAX (ETH_HOSTS / 4 * 3)
#define HASH_SHIFT 19 /* 32 - log2(ETH_HOSTS) */
#define TRIES_SPIN 64
#define TRIES_MAX 4096 /* a writer that died half-way must not hold the readers */
#define HEARD_WORDS (ETH_RAILS * sizeof(struct eth_heard) / sizeof(word))

/*
 * The unit in which data is copied while another process may access it. Each access orders itself
 * (free on x86), because the thread sanitizer knows no fences.
 */
typedef uint32_t __attribute__((may_alias)) word;

_Static_assert(ETH_HOSTS == 1u << (32 - HASH_SHIFT), "hash yields a place");
_Static_assert(sizeof(struct eth_heard) == 16, "no padding in a host's rails");

static uint32_t place_of(uint32_t id)
{
	return (id * 2654435769u) >> HASH_SHIFT;
}

static void copy_out(const struct eth_heard *from, struct eth_heard *to)
{
	const word *src = (const word *)from;
	word *dst = (word *)to;
	size_t i;

	for (i = 0; i < HEARD_WORDS; i++)
		dst[i] = __atomic_load_n(&src[i], __ATOMIC_ACQUIRE);
}

static void copy_in(const struct eth_heard *from, struct eth_heard *to)
{
	const word *src = (const word *)from;
	word *dst = (word *)to;
	size_t i;

	for (i = 0; i < sizeof(*from) / sizeof(word); i++)
		__atomic_store_n(&dst[i], src[i], __ATOMIC_RELEASE);
}

/* One look at a place. 0, -EAGAIN while it is written, -ENOENT when it was never used. */
static int look(const struct eth_board_host *host, uint32_t *ret_id,
		struct eth_heard ret[ETH_RAILS])
{
	uint32_t version = atomic_load_explicit(&host->version, memory_order_acquire);

	if (version == 0)
		return -ENOENT;
	if (version & 1)
		return -EAGAIN;
	*ret_id = __atomic_load_n(&host->id, __ATOMIC_ACQUIRE);
	copy_out(host->heard, ret);
	if (atomic_load_explicit(&host->version, memory_order_relaxed) != version)
		return -EAGAIN;
	return 0;
}

bool eth_board_find(const struct eth_board *board, uint32_t id, struct eth_heard ret[ETH_RAILS])
{
	struct eth_heard heard[ETH_RAILS];
	uint32_t place = place_of(id), steps, tries = 0, found = 0;
	int r;

	for (steps = 0; steps < ETH_HOSTS;) {
		r = look(&board->hosts[place], &found, heard);
		if (r == -ENOENT)
			return false;
		if (r == -EAGAIN && ++tries < TRIES_MAX) {
			if (tries > TRIES_SPIN)
				sched_yield();
			continue;
		}
		if (r == 0 && found == id) {
			memcpy(ret, heard, sizeof(heard));
			return true;
		}
		place = (place + 1) % ETH_HOSTS;
		steps++;
		tries = 0;
	}
	return false;
}

/* The place of @id, an unused one if it has none yet, NULL when it may have none. */
static struct eth_board_host *place_for(struct eth_board *board, uint32_t id)
{
	uint32_t place = place_of(id);

	for (;; place = (place + 1) % ETH_HOSTS) {
		struct eth_board_host *host = &board->hosts[place];

		if (atomic_load_explicit(&host->version, memory_order_relaxed) == 0)
			break;
		if (host->id == id)
			return host;
	}
	if (atomic_load_explicit(&board->n_hosts, memory_order_relaxed) >= HOSTS_MAX)
		return NULL;
	return &board->hosts[place];
}

int eth_board_note(struct eth_board *board, uint32_t id, uint32_t rail,
		   const struct eth_heard *heard)
{
	struct eth_board_host *host = place_for(board, id);
	uint32_t version;

	if (!host)
		return -ENOSPC;
	version = atomic_load_explicit(&host->version, memory_order_relaxed);
	if (version == 0)
		atomic_fetch_add_explicit(&board->n_hosts, 1, memory_order_relaxed);
	/* A predecessor may have died while it wrote: then the version is odd already. */
	version |= 1;
	atomic_store_explicit(&host->version, version, memory_order_relaxed);
	__atomic_store_n(&host->id, id, __ATOMIC_RELEASE);
	copy_in(heard, &host->heard[rail]);
	version++;
	atomic_store_explicit(&host->version, version ? version : 2, memory_order_release);
	return 0;
}

_Static_assert(sizeof(struct eth_neighbour) == sizeof(uint64_t), "a neighbour is read at once");

struct eth_neighbour eth_board_neighbour(const struct eth_board *board, uint32_t rail,
					 uint32_t coordinate)
{
	struct eth_neighbour neighbour = {0};
	uint64_t bytes;

	if (rail >= ETH_RAILS || coordinate >= ETH_LINE_MAX)
		return neighbour;
	bytes = atomic_load_explicit(&board->grid.neighbours[rail * ETH_LINE_MAX + coordinate],
				     memory_order_acquire);
	memcpy(&neighbour, &bytes, sizeof(neighbour));
	return neighbour;
}

void eth_board_set_neighbour(struct eth_board *board, uint32_t rail, uint32_t coordinate,
			     const struct eth_neighbour *neighbour)
{
	uint64_t bytes;

	memcpy(&bytes, neighbour, sizeof(bytes));
	atomic_store_explicit(&board->grid.neighbours[rail * ETH_LINE_MAX + coordinate], bytes,
			      memory_order_release);
	atomic_fetch_add_explicit(&board->grid.version, 1, memory_order_release);
}
