/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - the state of an open shmem link, shared by the files of this directory:
 *
 *   device.c  operations table, open and close     peer.c  contact, death, parting
 *   send.c    lending and sending                  receive.c  polling, releasing, housekeeping
 *   sleep.c   arming                               state.c  quiesce, save, restore, dump
 *   bulk.c    one-sided operations, asking side    serve.c  the same, answering side
 *   direct.c  reads by ourselves                   pair.c  the bulk rings of a pair
 */
#ifndef PM_SHMEM_DEVICE_H
#define PM_SHMEM_DEVICE_H

#include "pm-shmem/ring.h"
#include "pm-shmem/segment.h"
#include "pm-shmem/shmem.h"
#include "pm-shmem/wakeup.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"

#define PMS_SMALL_BUFFERS 256 /* of PMS_SHORT bytes, that may be lent or queued at once */
#define PMS_LARGE_BUFFERS 256 /* of mtu bytes, allocated when first needed */

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct pms_bulk; /* bulk.h */

/* A buffer that is not in a ring: lent to the user, or queued because the ring was full. */
struct pms_buffer {
	struct pms_buffer *next; /* in a free list or the queue */
	uint32_t len;            /* queued: bytes */
	uint16_t kind;           /* queued: enum pms_kind */
	uint16_t is_large;
	void *data; /* PMS_SHORT bytes or mtu, behind the struct */
};

/* Why a peer takes no more from us. */
enum pms_peer_state {
	PMS_PEER_ALIVE,
	PMS_PEER_LEFT, /* closed its context: what it sent still arrives */
	PMS_PEER_DEAD, /* killed, or writes nonsense */
};

struct pm_link_peer {
	struct pms_ring_rx rx; /* valid when is_inbound */
	struct pms_ring_tx tx; /* valid when tx_memory is set */
	struct pms_waker waker;
	uint32_t index; /* slot */
	uint32_t node;
	enum pms_peer_state state;
	uint32_t starved;     /* length refused for want of ring room, 0 = none */
	uint64_t held_ns;     /* when its slot was last seen held, 0 = never (direct.c) */
	bool is_starved_post; /* ... of a post, which cells may hold */
	bool is_open;         /* alive, announced, nothing queued: small messages go straight out */
	bool has_lost;        /* queued messages were dropped when it left or was given up */
	bool is_added;        /* the composite has it; tx is valid */
	bool is_inbound;      /* its ring to us is mapped */
	bool is_announced;    /* it polls that ring */
	bool is_reported;     /* receive() told of its death */
	bool is_blocked;      /* the flag in the ring to it is up */
	struct pms_buffer *queue; /* sent, waiting for ring room, oldest first */
	struct pms_buffer **queue_tail;
	struct pms_buffer *spare;    /* set aside for a reservation that must be queued, or NULL */
	uint32_t n_large;            /* large buffers lent towards the peer or queued */
	struct pms_buffer in_place;  /* stands in the queue for the reservation in the ring */
	struct pms_bulk *bulk;       /* one-sided state, NULL until first used */
	void *tx_memory, *rx_memory; /* mapped ring parts */
	char why[128];               /* how it died */
};

/* A message of a restored state, ahead of everything in the rings. */
struct pms_saved {
	struct pms_saved *next;
	uint32_t id; /* its cookie while lent */
	uint32_t src;
	uint32_t len;
	alignas(8) uint8_t data[];
};

struct pms_link {
	struct pm_link base;
	struct pm_link_peer *hot; /* brought the last message; NULL: take the slow way */
	struct stats_link *stats;
	uint32_t burst;           /* messages taken from hot in a row */
	uint32_t idle;            /* empty polls */
	uint32_t idle_before;     /* what that was when a row began last */
	bool is_stopped;          /* quiesced */
	uint32_t n_queued;        /* peers with a queue */
	uint32_t n_bulk;          /* one-sided operations and answers under way */
	struct pms_buffer *small; /* free */
	struct pms_buffer *large; /* free */
	uint32_t n_small;         /* allocated */
	uint32_t n_large;
	struct pm_link_peer *inbound[PMS_SLOTS]; /* those with rx, dense */
	uint32_t n_inbound;
	uint32_t next_inbound;                      /* where the search for messages goes on */
	struct pm_link_peer *peers[PMS_SLOTS];      /* by slot */
	struct pm_link_peer *bulk_peers[PMS_SLOTS]; /* those with bulk state, dense */
	uint32_t n_bulk_peers;
	uint64_t contacts[PMS_WORDS];          /* what of the slot's contacts we acted on */
	uint64_t checked_ns;                   /* when the liveness of peers was tested last */
	uint32_t n_dying;                      /* dead peers not reported yet */
	struct pms_saved *saved, **saved_tail; /* restored messages not received yet */
	struct pms_saved *saved_lent;          /* restored messages lent */
	uint32_t next_saved;                   /* id of the next restored message */
	struct pms_segment seg;
	struct pm_device_env env;
	int fifo;
	uint32_t sleeps; /* count of arms, the value of our sleeping flag */
	bool is_armed;
	struct pms_rma *rma; /* table of our one-sided operations, NULL until the first */
};

static inline struct pms_link *pms_of(struct pm_link *link)
{
	return (struct pms_link *)link;
}

static inline void pms_wake_peer(struct pms_link *link, struct pm_link_peer *peer)
{
	if (pms_wake(&peer->waker, link->seg.dir.fd, peer->index))
		link->stats->wakes++;
}

/* peer.c */
int pms_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer);
void pms_peer_del(struct pm_link *base, struct pm_link_peer *peer);
/* Acts on new bits of our slot's contacts. */
void pms_peer_meet(struct pms_link *link);

/* Has a peer written to us for the first time? Reads one line that rarely changes. */
static inline bool pms_has_contact(const struct pms_link *link)
{
	const struct pms_slot *self = &link->seg.slots[link->seg.index];
	uint64_t news = 0;

	for (int i = 0; i < PMS_WORDS; i++)
		news |= atomic_load_explicit(&self->contacts[i], memory_order_relaxed) &
			~link->contacts[i];
	return news != 0;
}

/* Tests whether a peer is alive now and notes its state. */
void pms_peer_check(struct pms_link *link, struct pm_link_peer *peer);
/* Declares a peer dead. */
void pms_peer_kill(struct pms_link *link, struct pm_link_peer *peer, const char *why);
/* The same for one that writes nonsense: what else it wrote is not read. */
void pms_peer_condemn(struct pms_link *link, struct pm_link_peer *peer, const char *why);
/* Tests all, and lets go of those that left or died and have nothing more for us. */
void pms_peer_check_all(struct pms_link *link);
/* Next dead peer to be reported, drained: its node and sentence. */
bool pms_peer_report(struct pms_link *link, uint32_t *ret_node);
bool pms_is_gone(struct pm_link *base, struct pm_link_peer *peer);
void pms_peer_free(struct pms_link *link, struct pm_link_peer *peer);

/* send.c */
int pms_get_send(struct pm_link *base, struct pm_link_peer *peer, uint32_t len, void **ret_buf,
		 uint64_t *ret_cookie);
int pms_send(struct pm_link *base, struct pm_link_peer *peer, uint64_t cookie, uint32_t len);
int pms_post(struct pm_link *base, struct pm_link_peer *peer, const void *data, uint32_t len);
int pms_post_row(struct pm_link *base, struct pm_link_peer *peer, const struct pm_row *row,
		 uint64_t *ret_done);
int pms_carry(struct pm_link *base, struct pm_link_peer *peer, const void *head, uint32_t head_len,
	      const void *data, uint32_t len);
int pms_send_done(struct pm_link *base, struct pm_link_peer *peer);
/* Sends a message that is no datagram. -EAGAIN, -EPIPE, -ENOMEM. */
int pms_send_control(struct pms_link *link, struct pm_link_peer *peer, uint32_t kind,
		     const void *data, uint32_t len);
/* Moves queued messages into their rings as far as there is room. */
void pms_send_queued(struct pms_link *link);
/* Forgets what is queued, and the reservation; pms_bulk_unsent comes first. */
void pms_queue_drop(struct pms_link *link, struct pm_link_peer *peer);
int pms_buffers_init(struct pms_link *link);
void pms_buffers_fini(struct pms_link *link);

/* receive.c */
int pms_receive(struct pm_link *base, struct pm_inbound *ret);
/* Of the messages behind the last one, short ones that have come: released with it. */
uint32_t pms_receive_more(struct pm_link *base, uint64_t cookie, struct iovec *ret_parts,
			  uint32_t room);
void pms_release(struct pm_link *base, uint64_t cookie);
/* Publishes all that has been released. */
void pms_publish_all(struct pms_link *link);
/* Tells the producer of an inbound ring how far we are. */
void pms_publish(struct pms_link *link, struct pm_link_peer *peer);

/* sleep.c */
int pms_poll_fds(struct pm_link *base, int *fds, int room);
int pms_arm(struct pm_link *base, uint64_t *timeout_ns);
void pms_disarm(struct pm_link *base);

/* state.c */
int pms_quiesce(struct pm_link *base);
void pms_resume(struct pm_link *base);
/* The next restored message, and its release. */
int pms_saved_take(struct pms_link *link, struct pm_inbound *ret);
void pms_saved_release(struct pms_link *link, uint32_t id);
void pms_saved_fini(struct pms_link *link);
int pms_save(struct pm_link *base, void *buf, size_t room);
int pms_restore(struct pm_link *base, const void *buf, size_t len,
		int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		void *arg);
int pms_dump(struct pm_link *base, char *buf, size_t room);
uint64_t pms_memory(struct pm_link *base);

#endif
