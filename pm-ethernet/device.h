/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - the state of one open ethernet device, shared by its files and by nobody else.
 *
 * Rail and socket: in direct attachment socket r sends and receives on rail r; a port has one
 * socket for all rails, the programs of the kernel obey the rail in the frame. In a hypercrossbar
 * frames of a rail leave by another socket when their way is closed (ways.c). Transmit area and
 * receive areas are parts of the packet memory, which the kernel names by offset ("address").
 */
#ifndef PM_ETHERNET_DEVICE_H
#define PM_ETHERNET_DEVICE_H

#include <stdbool.h>

#include "pm-ethernet/attach.h"
#include "pm-ethernet/board.h"
#include "pm-ethernet/inbox.h"
#include "pm-ethernet/rings.h"
#include "pm-ethernet/share.h"
#include "pm_device.h"
#include "pmcore/util/packetpool.h"
#include "pmcore/util/stats.h"

/* Receive chunks gathered before they go back to the fill ring. */
#define ETH_FILL_BATCH 16u

/* A transmit buffer of the pool. */
struct eth_packet {
	struct pm_packet pub;
	uint8_t last; /* its last chunk in use: whose completion ends a post */
};

/* The place in eth_dev.sockets of a socket that is never open. */
#define ETH_NOWHERE ETH_RAILS

/* A node: the head of the frames to it, one per own rail. */
struct eth_peer {
	uint32_t node, index; /* index in eth_dev.peers */
	uint32_t payload;     /* largest packet, bytes */
	uint32_t rails;       /* bit r: heads[r] is valid */
	bool is_gone;         /* its context is no more */
	bool is_told;         /* ... and peer_event said so */
	/* By rail, what its frames leave by; ETH_NOWHERE: to be found, see ways.c. */
	uint8_t sockets[ETH_RAILS];
	struct eth_frame heads[];
};

/* The receive chunks of one attachment; kept beyond suspend while some are lent. */
struct eth_area {
	uint8_t *bytes;
	size_t size;
	uint64_t base;  /* address of the first byte */
	uint32_t lent;  /* chunks the channel holds */
	uint32_t epoch; /* part of the tokens */
	bool is_stale;  /* of sockets that were closed: its chunks go back nowhere */
	struct eth_area *next;
};

struct eth_socket {
	int fd; /* -1: closed */
	struct eth_rings rings;
	bool is_zero_copy;
	bool is_blocked;      /* the kernel took no more: no posts until retry_at */
	bool is_unbound;      /* the interface it was bound to is gone, for good */
	uint64_t retry_at;    /* monotonic ns */
	uint32_t shown;       /* index up to which the transmit ring was submitted */
	uint32_t outstanding; /* posts not completed */
	uint32_t lent;        /* receive chunks the channel holds */
	uint32_t watched;     /* events epoll waits for */
	uint32_t *back,
		n_back; /* addresses of chunks to go back to the fill ring, as many as it has */
	uint32_t loose; /* chunks that came back since the fill ring was last looked at */
	/* send calls, packets given up, addresses from the kernel that are none of ours */
	uint64_t calls, lost, strange;
};

struct eth_dev {
	struct pm_dev dev;
	struct pm_device_env env;
	int lease; /* connection to the daemon, -1: none */
	struct eth_granted granted;
	uint32_t n_sockets;
	struct eth_socket sockets[ETH_RAILS + 1]; /* and ETH_NOWHERE */
	uint32_t rail_of[ETH_RAILS]; /* own rail of a host rail, PM_RAILS_MAX: not ours */
	uint32_t payload;            /* room of the packets, bytes */
	const struct eth_board *board;
	struct eth_share *share; /* NULL: nobody shares rings with us */
	size_t share_bytes;

	/* hypercrossbar */
	struct eth_grid grid;  /* of the board; n_dims 0: there is none */
	bool is_steering;      /* the first link of a way is ours to choose: direct attachment */
	uint32_t ways_version; /* of the board's grid when the ways of peers were last forgotten */
	uint64_t n_astray;     /* packets that found no way */

	/* transmitting */
	uint8_t *tx_area;
	size_t tx_area_bytes;
	uint64_t tx_base;      /* address of its first byte */
	uint32_t packet_bytes; /* chunks of a packet together */
	struct eth_packet *packets;
	struct packetpool pool;
	uint32_t tx_limit;   /* descriptors that may wait in the ring of a socket */
	uint32_t open_limit; /* packets of a socket that may be on their way */
	uint32_t tx_waiting; /* bit per socket with posts the kernel has not taken */
	uint32_t idle;       /* kicks that had nothing to do */

	/* receiving */
	struct eth_inbox inbox; /* has a descriptor: all frames come by it, none by sockets */
	struct eth_area *areas; /* the newest first */
	uint32_t chunk_limit;   /* chunks of a socket that may be lent */
	uint32_t fill_batch;    /* chunks gathered before they go back */
	uint32_t next_socket;   /* where the next burst begins */
	uint8_t *slots;         /* room for copies, of frames in the inbox for all */
	uint32_t slot_bytes, n_slots;
	uint32_t *free_slots, n_free_slots; /* a stack */
	uint64_t copies;

	struct eth_peer **peers;
	uint32_t n_peers, room_peers;
	uint32_t n_gone; /* peers that are gone and not told */
	int epoll_fd;
};

static inline struct eth_dev *eth_of(struct pm_dev *dev)
{
	return (struct eth_dev *)dev;
}

static inline bool eth_is_port(const struct eth_dev *d)
{
	return d->granted.attachment == ETH_PORT;
}

/* Frames come by the inbox and not by the sockets. */
static inline bool eth_has_inbox(const struct eth_dev *d)
{
	return d->granted.inbox_bytes != 0;
}

/* The socket of a rail. */
static inline uint32_t eth_socket_of(const struct eth_dev *d, uint32_t rail)
{
	return eth_is_port(d) ? 0 : rail;
}

/* Chunks are a power of two: shifts in place of divisions. */
static inline uint32_t eth_chunk_shift(const struct eth_dev *d)
{
	return (uint32_t)__builtin_ctz(d->granted.chunk_bytes);
}

/* Largest packet that fits an interface, bytes. */
static inline uint32_t eth_payload(uint32_t mtu)
{
	return (mtu - ETH_MTU_OVERHEAD) & ~7u;
}

/* rail.c. The interface of an own rail was deleted, now or since our socket was bound to it. */
bool eth_rail_is_gone(const struct eth_dev *d, uint32_t rail);
/* It has carrier, and our socket is open. */
bool eth_rail_is_up(const struct eth_dev *d, uint32_t rail);

/*
 * lease.c. Talks to the daemon. Its grant is in d->granted, the sockets are in d->sockets, and the
 * memory is mapped: the transmit area at d->tx_area if that is set. After an error env.why has a
 * sentence for people.
 */
int eth_lease_open(struct eth_dev *d);
/* Lays the sockets down, keeps number and key; what is mapped stays. */
int eth_lease_suspend(struct eth_dev *d);
int eth_lease_resume(struct eth_dev *d);
/* Gives everything back. */
void eth_lease_close(struct eth_dev *d);

/* memory.c. Maps the packet memory as granted; on resume at the same place, with what was in it. */
int eth_memory_map(struct eth_dev *d, int memory_fd);
void eth_memory_unmap(struct eth_dev *d);
/* A lent chunk of a stale area came back: the last one lets the area go. */
void eth_memory_returned(struct eth_dev *d, struct eth_area *area);
/* The sockets are gone: the receive area lives on for its lent chunks only. */
void eth_memory_stale(struct eth_dev *d);

/* tx.c */
int eth_tx_init(struct eth_dev *d, uint32_t n_packets);
void eth_tx_fini(struct eth_dev *d);
struct pm_packet *eth_tx_alloc(struct pm_dev *dev);
void eth_tx_free(struct pm_dev *dev, struct pm_packet *packet);
int eth_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		struct pm_packet *packet);
/* Sends what waits at all sockets. */
void eth_tx_kick(struct pm_dev *dev);
/* Sends what waits at a socket as far as the kernel takes it; true when nothing is left. */
bool eth_tx_flush(struct eth_dev *d, uint32_t socket);
/* Takes back what the kernel has not taken from the ring of a rail that is down. */
void eth_tx_withdraw(struct eth_dev *d, uint32_t socket);
/* The sockets are gone, with all they held. */
void eth_tx_forget(struct eth_dev *d);

/* completion.c */
void eth_completion_reap(struct eth_dev *d, uint32_t socket);
void eth_completion_reap_all(struct eth_dev *d);
/* One post of the packet is over. */
void eth_completion_done(struct eth_dev *d, struct eth_socket *s, struct eth_packet *packet);
/* Enters the lock around a socket's fill and completion ring. False: not now, or broken. */
bool eth_lock(struct eth_dev *d, uint32_t socket);
void eth_unlock(struct eth_dev *d, uint32_t socket);
/* A process died inside the lock: nobody of the job may use the rings any more. */
bool eth_is_broken(const struct eth_dev *d);

/* rx.c */
int eth_rx_init(struct eth_dev *d, uint32_t n_slots);
/* Gets ready for the receive chunks of a new attachment. */
int eth_rx_attach(struct eth_dev *d);
void eth_rx_fini(struct eth_dev *d);
int eth_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n);
void eth_rx_return(struct pm_dev *dev, uint64_t token);
/* Gives gathered chunks back to the kernel. */
void eth_rx_refill(struct eth_dev *d, uint32_t socket);
/* Wakes drivers that wait for chunks; to be called now and then. */
void eth_rx_look_after(struct eth_dev *d);
/* Can a frame be taken now? Do frames wait? */
bool eth_rx_has_room(const struct eth_dev *d);
bool eth_rx_is_pending(struct eth_dev *d);

/*
 * check.c. The fault of a received frame of @len bytes for the context granted; DROP_NONE: it has
 * none.
 */
enum drop_reason eth_frame_check(const void *bytes, uint32_t len, const struct eth_granted *g);

/* peer.c */
int eth_peer_address(struct pm_dev *dev, void *buf, size_t room);
int eth_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		 struct pm_dev_peer **ret_peer, uint32_t *ret_rails);
void eth_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer);
uint32_t eth_peer_mtu(struct pm_dev *dev, struct pm_dev_peer *peer);
/* The kernel of a host (number and context as in a frame) says that there is no such context. */
void eth_peer_gone(struct eth_dev *d, uint32_t host, uint16_t context);
int eth_peer_event(struct pm_dev *dev, uint32_t *ret_node);

/*
 * ways.c. Takes the grid of the board, if there is one. -EINVAL (rails left out or of different
 * MTU) or -EPROTO, with a sentence.
 */
int eth_ways_init(struct eth_dev *d);
/* Rails that share the traffic to a peer, at most. */
uint32_t eth_ways_lanes(const struct eth_dev *d);
/*
 * The rails to a peer on another @host of the grid: those of the first dimension to be corrected.
 * -ENETUNREACH with a sentence: it is not in the grid, or no way is open now.
 */
int eth_ways_add(struct eth_dev *d, struct eth_peer *peer, uint32_t host);
/* Its ways are to be found anew. */
void eth_ways_forget(struct eth_dev *d, struct eth_peer *peer);
/* All ways are, if the neighbours have changed. */
void eth_ways_refresh(struct eth_dev *d);
/* As eth_tx_post, for a rail whose way is to be found; without one the packet is lost. */
int eth_ways_post(struct eth_dev *d, uint32_t rail, struct eth_peer *peer,
		  struct pm_packet *packet);
/* Frames of a rail that is down go another way, and no other rail of its peers is up. */
bool eth_ways_lead_around(const struct eth_dev *d, uint32_t rail);

/* sleep.c */
int eth_sleep_open(struct eth_dev *d);
int eth_sleep_fds(struct pm_dev *dev, int *fds, int room);
int eth_sleep_arm(struct pm_dev *dev);
void eth_sleep_disarm(struct pm_dev *dev);

#endif
