// SPDX-License-Identifier: BSD-3-Clause
/* Several slots on one pair of rings: mailboxes, and the lock whose owner dies. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/pm-ethernet/rig.h"

#define ENTRIES 64

/* The shared memory that the daemon prepares for the slots of a job. */
static struct eth_share *share_make(uint32_t n_rails, uint32_t n_slots)
{
	struct eth_share *s = mmap(NULL, eth_share_bytes(n_rails, n_slots, ENTRIES),
				   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	s->magic = ETH_SHARE_MAGIC;
	s->n_slots = n_slots;
	s->n_rails = n_rails;
	s->mailbox_entries = ENTRIES;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (uint32_t i = 0; i < n_rails; i++)
		pthread_mutex_init(&s->rails[i].lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return s;
}

/* Two slots of one job: the second uses the fill and completion rings of the first. */
struct job {
	struct eth_share *share;
	struct rig *slots[2];
};

static void job_open(struct job *j)
{
	struct rig_options w = RIG_DIRECT;

	w.n_rails = 1;
	w.n_slots = 2;
	w.share = j->share = share_make(1, 2);
	j->slots[0] = rig_open(w);
	w.slot = 1;
	w.memory = j->slots[0]->memory;
	j->slots[1] = rig_open(w);
	j->slots[1]->d.sockets[0].rings.fill = j->slots[0]->d.sockets[0].rings.fill;
	j->slots[1]->d.sockets[0].rings.done = j->slots[0]->d.sockets[0].rings.done;
}

static void job_close(struct job *j)
{
	rig_close(j->slots[1], false);
	rig_close(j->slots[0], true);
	munmap(j->share, eth_share_bytes(1, 2, ENTRIES));
}

/* Posts a packet of a slot and gives the address the kernel took. */
static uint64_t post(struct rig *r, struct pm_dev_peer *peer)
{
	struct pm_packet *p = eth_tx_alloc(&r->d.dev);
	struct xdp_desc desc = {0};

	p->len = 80;
	is_int(eth_tx_post(&r->d.dev, 0, peer, p), 0);
	eth_tx_free(&r->d.dev, p);
	pm_ethernet_ops.tx_kick(&r->d.dev);
	ok(rig_take(r, 0, &desc));
	return desc.addr;
}

TAP_TEST(completion_reap__chunks_of_others_go_to_their_mailbox)
{
	struct job j;
	struct rig *a, *b;
	uint64_t first, second;

	job_open(&j);
	a = j.slots[0];
	b = j.slots[1];
	first = post(a, rig_peer(a, 1));
	second = post(b, rig_peer(b, 1));
	ok(first < a->d.tx_area_bytes);
	ok(second >= b->d.tx_base);
	rig_done(a, 0, second);
	rig_done(a, 0, first);
	eth_completion_reap(&a->d, 0);
	is_int(a->d.pool.n_free, RIG_TX_PACKETS);
	is_int(b->d.pool.n_free, RIG_TX_PACKETS - 1);
	eth_completion_reap(&b->d, 0);
	is_int(b->d.pool.n_free, RIG_TX_PACKETS);
	is_int(a->d.sockets[0].strange + b->d.sockets[0].strange, 0);
	job_close(&j);
}

TAP_TEST(completion_reap__mailbox_needs_no_lock)
{
	struct job j;
	struct rig *a, *b;

	job_open(&j);
	a = j.slots[0];
	b = j.slots[1];
	rig_done(a, 0, post(b, rig_peer(b, 1)));
	eth_completion_reap(&a->d, 0);
	is_int(pthread_mutex_lock(&j.share->rails[0].lock), 0);
	eth_completion_reap(&b->d, 0);
	is_int(b->d.pool.n_free, RIG_TX_PACKETS);
	/* but the ring does: nobody waits for it */
	rig_done(a, 0, post(b, (struct pm_dev_peer *)b->d.peers[0]));
	eth_completion_reap(&b->d, 0);
	is_int(b->d.pool.n_free, RIG_TX_PACKETS - 1);
	pthread_mutex_unlock(&j.share->rails[0].lock);
	eth_completion_reap(&b->d, 0);
	is_int(b->d.pool.n_free, RIG_TX_PACKETS);
	job_close(&j);
}

TAP_TEST(rx_refill__both_slots_in_turn)
{
	struct job j;
	struct rig_ring *fill;
	struct rig *a, *b;
	uint64_t chunk[2];

	job_open(&j);
	a = j.slots[0];
	b = j.slots[1];
	fill = &a->sockets[0].fill;
	for (int i = 0; i < 100; i++) {
		struct rig *r = i % 2 ? b : a;
		struct pm_rx rx;

		chunk[0] = rig_chunk(a, 0);
		must(chunk[0] != 0);
		rig_receive_desc(r, 0, chunk[0] + 256, ETH_HEAD + 100, 0);
		memcpy(r->memory + chunk[0] + 256, &(struct eth_frame){0}, ETH_HEAD);
		*(struct eth_frame *)(r->memory + chunk[0] + 256) = rig_head(r, 1);
		must(eth_rx_burst(&r->d.dev, &rx, 1) == 1);
		eth_rx_return(&r->d.dev, rx.token);
	}
	is_int(fill->producer - fill->consumer + a->d.sockets[0].n_back + b->d.sockets[0].n_back,
	       RIG_RX_CHUNKS);
	job_close(&j);
}

/*
 * A process is killed inside the lock: the others stop and say that their peers are out of reach.
 */
TAP_TEST(completion__owner_dies)
{
	struct job j;
	struct rig *a, *b;
	struct pm_packet *p;
	uint32_t node = 0;
	pid_t pid;

	job_open(&j);
	a = j.slots[0];
	b = j.slots[1];
	rig_peer(b, 4);
	rig_peer(b, 5);
	is_int(eth_peer_event(&b->d.dev, &node), 0);
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(&j.share->rails[0].lock);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	rig_done(a, 0, 0);
	eth_completion_reap(&b->d, 0);
	is_int(j.share->broken, 2); /* slot 1 found it */
	is_int(eth_peer_event(&b->d.dev, &node), 1);
	is_int(node, 4);
	ok(strstr(b->why, "killed") != NULL);
	is_int(eth_peer_event(&b->d.dev, &node), 1);
	is_int(node, 5);
	is_int(eth_peer_event(&b->d.dev, &node), 0);
	p = eth_tx_alloc(&b->d.dev);
	is_int(eth_tx_post(&b->d.dev, 0, (struct pm_dev_peer *)b->d.peers[0], p), -EAGAIN);
	/* the other slot does not wait for the lock either */
	eth_completion_reap(&a->d, 0);
	ok(eth_is_broken(&a->d));
	job_close(&j);
}

TAP_TEST(completion_reap__nonsense_from_the_ring)
{
	struct rig *r = rig_open(RIG_DIRECT);

	rig_done(r, 0, UINT64_MAX);
	rig_done(r, 0, 0); /* a packet that was never posted */
	rig_done(r, 0, r->d.tx_area_bytes);
	eth_completion_reap(&r->d, 0);
	is_int(r->d.sockets[0].strange, 3);
	is_int(r->d.pool.n_free, RIG_TX_PACKETS);
	rig_close(r, true);
}
