// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_watch - looks now and then whom this process waits for, and has PM ask the network whether
 * they are still there. A peer that owes us a message, and to which we send nothing, could die
 * unnoticed.
 *
 * A wait is known by a number made of all that is awaited from the peer, so that no path of a
 * message has to note anything. While it stays the same the peer is asked in rounds ever further
 * apart, because a peer that computes reads nothing and its socket must not fill up. Receives from
 * any source name nobody to ask. How a death is dealt with is the business of mtl_pm_death.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"

#include <errno.h>

/* Between two looks, and so the least time between two questions. */
#define LOOK_NS 500000000u
/* Questions of a round, one a look: PM believes a refusal that is repeated. */
#define ROUND 3
/* The longest pause after a round; each pause is twice the one before. */
#define PAUSE_MAX_NS 60000000000u

/* Operations the peer knows by number: see end_numbered. */
static void note_numbered(void)
{
	for (uint32_t i = 0; i < mtl_pm.ids.size; i++) {
		const struct ids_slot *slot = &mtl_pm.ids.slots[i];
		const struct mtl_pm_request *req = slot->object;
		struct mtl_pm_peer *peer;

		if (!req)
			continue;
		peer = req->is_receive ? req->receive.peer : req->send.peer;
		if (peer)
			peer->awaited += (uint64_t)slot->generation << 32 | (i + 1);
	}
}

/* The receive posted longest ago stands for all of its source. */
static void note_posted_of(const struct mtl_pm_comm *c, int32_t rank, const struct match_bin *bin)
{
	const struct match_entry *e;
	struct mtl_pm_peer *peer;
	pmNode node;

	if (bin->posted.next == &bin->posted || ompi_comm_peer_invalid(c->comm, rank) ||
	    !mtl_pm_node_of_rank(c->comm, rank, &node))
		return;
	peer = table_get(&mtl_pm.peers, node);
	if (!peer)
		return;
	e = (const struct match_entry *)((const char *)bin->posted.next -
					 offsetof(struct match_entry, in_bin));
	peer->awaited += ((uint64_t)c->matching->id << 32) + e->posted_at + 1;
}

static void note_posted(void)
{
	const struct mtl_pm_comm *c;

	TAILQ_FOREACH(c, &mtl_pm.comms, link) {
		const struct table *bins = &c->matching->bins;

		for (uint32_t i = 0; bins->slots && i <= bins->mask; i++) {
			if (bins->slots[i].value)
				note_posted_of(c, (int32_t)bins->slots[i].key,
					       bins->slots[i].value);
		}
	}
}

void mtl_pm_watch_rank(struct ompi_communicator_t *comm, int rank)
{
	struct mtl_pm_peer *peer;
	pmNode node;

	if (rank == MATCH_ANY_SOURCE || !mtl_pm_node_of_rank(comm, rank, &node))
		return;
	peer = table_get(&mtl_pm.peers, node);
	if (peer)
		peer->is_probed = true;
}

/* Counts messages that have begun to arrive, and those that the program probes for. */
static void note_begun(struct mtl_pm_peer *peer)
{
	const struct mtl_pm_receive *r;

	peer->awaited += peer->is_probed;
	peer->is_probed = false;

	TAILQ_FOREACH(r, &peer->reads, link) {
		peer->awaited += r->read;
	}
	if (mtl_pm.staged && mtl_pm.staged->peer == peer)
		peer->awaited += 1 + mtl_pm.staged->got;
	if (peer->filling)
		peer->awaited += 1 + peer->filling_left;
	else if (peer->open && peer->open->claimed)
		peer->awaited += 1 + peer->open->size - peer->open->got;
}

static void ask(struct mtl_pm_peer *peer, uint64_t now_ns)
{
	int rc = pmProbeNode(mtl_pm.ctx, peer->node);
	uint64_t pause;

	/* Not now; or dead already, which the next receive says. */
	if (rc == ENOBUFS || rc == EPIPE)
		return;
	if (rc)
		mtl_pm_fatal("PM failed while asking for a peer: %s", pmLastError());
	pause = LOOK_NS;
	if (++peer->asked % ROUND == 0)
		pause <<= peer->asked / ROUND < 8 ? peer->asked / ROUND : 8;
	peer->ask_ns = now_ns + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
}

/*
 * A peer that is awaited only since the last look is not asked yet: nearly all waits end before the
 * next one.
 */
static void look_at(struct mtl_pm_peer *peer, uint64_t now_ns)
{
	if (peer->awaited != peer->awaited_before) {
		peer->awaited_before = peer->awaited;
		peer->asked = 0;
		peer->ask_ns = now_ns;
	} else if (peer->awaited && !peer->is_dead && now_ns >= peer->ask_ns) {
		ask(peer, now_ns);
	}
	peer->awaited = 0;
}

static void look(uint64_t now_ns)
{
	const struct table *peers = &mtl_pm.peers;

	note_numbered();
	note_posted();
	for (uint32_t i = 0; peers->slots && i <= peers->mask; i++) {
		struct mtl_pm_peer *peer = peers->slots[i].value;

		if (!peer)
			continue;
		note_begun(peer);
		look_at(peer, now_ns);
	}
}

void mtl_pm_watch(uint64_t now_ns)
{
	if (OPAL_LIKELY(now_ns < __atomic_load_n(&mtl_pm.watch_ns, __ATOMIC_RELAXED)))
		return;
	mtl_pm_enter();
	/* Another thread may have looked meanwhile. */
	if (now_ns >= mtl_pm.watch_ns && mtl_pm.ctx != PM_CONTEXT_NONE) {
		__atomic_store_n(&mtl_pm.watch_ns, now_ns + LOOK_NS, __ATOMIC_RELAXED);
		look(now_ns);
	}
	mtl_pm_leave();
}
