/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - the state of one open udp device, shared by the files of pm-udp and by nobody else.
 *
 * Sockets: one receives for all rails, so an idle poll is one system call however many rails there
 * are; the rail of a packet is the local address it was sent to. Each rail has a socket of its own
 * to send by, bound to the rail's address: a full send buffer then tells which rail takes no more.
 */
#ifndef PM_UDP_DEVICE_H
#define PM_UDP_DEVICE_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "pm-udp/addr.h"
#include "pm_device.h"
#include "pmcore/util/packetblock.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* older C libraries do not have it */
#endif

/* Packets a rail takes between two kicks; power of two. */
#define PMU_RING 256u
/* Messages per sendmmsg, the iovecs they share, and those of a packet: its two parts and a pad. */
#define PMU_TX_MSGS 32
#define PMU_TX_IOVS 1024
#define PMU_IOVS_EACH 3
/*
 * Segments the kernel takes per UDP_SEGMENT message (64 before Linux 6.9), and bytes: those of a
 * datagram. Wherever they begin, they lie in no more than 17 pages, which is what one packet of the
 * kernel can refer to.
 */
#define PMU_GSO_SEGMENTS 64
#define PMU_GSO_BYTES 65507u
/* Landing buffers of 64 KiB: the most one receive call fills, and the most lent out as slices. */
#define PMU_RX_BATCH 8
#define PMU_LANDINGS 32
#define PMU_LANDINGS_LENT 16
#define PMU_LANDING_BYTES 65536u
/* Nodes found gone and not asked for yet. */
#define PMU_GONE_MAX 16

/* Addresses of one node. */
struct pmu_peer {
	uint32_t node;
	uint32_t index;         /* in pmu_dev.peers */
	uint32_t payload;       /* largest packet, bytes */
	uint32_t refused_since; /* time of the first of the refusals counted, ms */
	uint16_t port;          /* host byte order */
	uint8_t refusals;       /* "port unreachable" reports since then */
	bool is_gone;           /* reported by peer_event or waiting there */
	uint32_t rails;         /* bit r: local rail r leads to address[r] */
	uint32_t address[];     /* host byte order, one per local rail */
};

/* One packet waiting to be sent. */
struct pmu_item {
	struct pm_packet *packet;
	struct pmu_peer *peer;
};

/* A rail: its interface and its sending side. */
struct pmu_rail {
	struct pmu_iface iface; /* index 0: not found at resume, the rail is down */
	int fd;                 /* socket to send by, -1 = closed */
	int send_buffer;        /* bytes the kernel granted */
	/* messages to it need no address; NULL: the socket has no peer */
	struct pmu_peer *connected;
	struct pmu_peer *recent; /* got the last message of those sent with an address */
	uint32_t streak;         /* messages in a row that it got */
	uint32_t segment; /* UDP_SEGMENT of the socket, bytes; 0: each message says its own */
	bool is_up;
	bool has_gso;        /* UDP_SEGMENT works here */
	bool is_blocked;     /* the send buffer was full: no posts until the ring is empty */
	bool is_watched;     /* a sleep waits for room */
	uint64_t retry_at;   /* blocked: not before that, monotonic ns */
	uint32_t head, tail; /* free-running; items[head..tail) wait */
	struct pmu_item items[PMU_RING];
	uint64_t lost;   /* packets the kernel refused to send */
	uint64_t calls;  /* send system calls */
	uint64_t shown;  /* packets sent without a copy */
	uint64_t errors; /* reports read from the error queue */
};

/* Arrays of one sendmmsg, too large for the stack. */
struct pmu_batch {
	struct mmsghdr msgs[PMU_TX_MSGS];
	struct sockaddr_in to[PMU_TX_MSGS];
	uint32_t packets[PMU_TX_MSGS]; /* in each message */
	struct iovec iovs[PMU_TX_IOVS];
	union {
		char room[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control[PMU_TX_MSGS];
};

/* 64 KiB that one receive call fills with one datagram, or with a run of equal ones (UDP_GRO). */
struct pmu_landing {
	uint8_t *bytes;
	uint32_t len;     /* received */
	uint32_t segment; /* bytes of each datagram but the last */
	uint32_t offset;  /* of the next datagram to hand out */
	uint32_t lent;    /* datagrams handed out in place and not returned */
	uint8_t rail;
	bool is_pending; /* offset < len, or about to be freed */
	bool is_copied;  /* hand out copies: too many landings are lent already */
};

/* The receiving side. */
struct pmu_rx {
	int fd;
	int receive_buffer; /* bytes the kernel granted */
	bool has_gro, has_pktinfo;
	uint32_t streak; /* calls in a row that brought something */
	uint8_t *arena;  /* landings, then slots */
	size_t arena_bytes;
	struct pmu_landing landings[PMU_LANDINGS];
	uint32_t free_landings[PMU_LANDINGS]; /* a stack: the warmest on top */
	uint32_t n_free_landings;
	uint32_t n_lent; /* landings with lent > 0 */
	uint32_t pending[PMU_RX_BATCH], n_pending, next_pending;
	uint8_t *slots; /* room for copies: n_slots times slot_bytes */
	uint32_t slot_bytes, n_slots;
	uint32_t *free_slots, n_free_slots; /* a stack */
	uint64_t calls, copies;             /* receive system calls; datagrams copied to slots */
	struct mmsghdr msgs[PMU_RX_BATCH];
	struct iovec iovs[PMU_RX_BATCH];
	union {
		char room[CMSG_SPACE(sizeof(struct in_pktinfo)) + CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control[PMU_RX_BATCH];
};

/* The transmit buffers. */
struct pmu_arena {
	int fd; /* of the file that they lie in; -1: in private memory, none can be shown */
	uint32_t n_packets;
	uint8_t *bytes;
	size_t size;   /* bytes */
	size_t stride; /* from one block to the next, bytes */
	struct pm_packet *packets;
	struct packetblocks pool;
};

struct pmu_dev {
	struct pm_dev dev;
	struct pm_device_env env;
	uint64_t host;    /* see pmu_address */
	uint16_t port;    /* bound, host byte order */
	uint32_t payload; /* largest packet of any rail at open: room of the buffers, bytes */
	struct pmu_rail rails[PM_RAILS_MAX];
	struct pmu_rx rx;
	struct pmu_batch batch;

	uint32_t tx_waiting; /* bit per rail whose ring is not empty */
	struct pmu_arena arena;

	struct pmu_peer **peers;
	uint32_t n_peers, room_peers;
	uint32_t gone[PMU_GONE_MAX], n_gone; /* nodes for peer_event */

	int epoll_fd;        /* what poll_fds gives */
	bool is_watched;     /* the sockets are in its set, */
	uint64_t unwatch_at; /* until the receive call of that number */
	int link_fd;         /* netlink: interface changes; -1 = ask for the flags instead */
	uint64_t link_check; /* when to look at it again, monotonic ns */
	bool is_receive_off; /* armed without a free buffer: arrivals do not wake */
	char trouble[160];   /* last refusal of the kernel, for dump; "" = none */
	/* host or net unreachable, path MTU: reports that blame no process */
	uint32_t route_troubles;
};

static inline struct pmu_dev *pmu_of(struct pm_dev *dev)
{
	return (struct pmu_dev *)dev;
}

/* socket.c. Opens the sockets of all rails; on failure closes what it opened and tells env.why. */
int pmu_sockets_open(struct pmu_dev *d);
void pmu_sockets_close(struct pmu_dev *d);

/* tx.c */
int pmu_tx_init(struct pmu_dev *d, uint32_t n_packets);
void pmu_tx_fini(struct pmu_dev *d);
struct pm_packet *pmu_tx_alloc(struct pm_dev *dev);
void pmu_tx_free(struct pm_dev *dev, struct pm_packet *packet);
int pmu_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		struct pm_packet *packet);
uint32_t pmu_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
			  struct pm_packet **ret_packets);
void pmu_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n);
uint32_t pmu_tx_post_run(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			 struct pm_packet *const *packets, uint32_t n);
void pmu_tx_kick(struct pm_dev *dev);
/* Sends what waits on a rail as far as its socket takes it; true when nothing is left. */
bool pmu_tx_flush(struct pmu_dev *d, uint32_t rail);
/* Drops what waits for a peer. */
void pmu_tx_forget(struct pmu_dev *d, const struct pmu_peer *peer);

/*
 * arena.c. At least @n_packets of @payload bytes, in a file if that is wanted and can be had; 0 or
 * -ENOMEM, the caller closes.
 */
int pmu_arena_open(struct pmu_arena *arena, uint32_t n_packets, uint32_t payload, bool wants_file);
void pmu_arena_close(struct pmu_arena *arena);

/* show.c. Does this kernel send datagrams of pages without a copy? */
bool pmu_show_is_possible(void);
/*
 * Bytes of the @n waiting packets from @at on, a run to one peer of such segments, if they can
 * leave uncopied; else 0.
 */
uint32_t pmu_show_bytes(const struct pmu_dev *d, const struct pmu_rail *rail, uint32_t at,
			uint32_t n, uint32_t segment);
/* Sends the first @n like that: their number, or -errno. */
int pmu_show_send(struct pmu_dev *d, struct pmu_rail *rail, uint32_t n, uint32_t bytes);

/* connect.c. Where the peer's end of a rail is. */
struct sockaddr_in pmu_address_of(const struct pmu_peer *peer, uint32_t rail);
/*
 * A message is about to go to the peer by this rail, whose number is @r: true when it needs no
 * address.
 */
bool pmu_connect_look(struct pmu_rail *rail, struct pmu_peer *peer, uint32_t r);
/* The peer goes, or (NULL) the socket is a new one. */
void pmu_connect_forget(struct pmu_rail *rail, const struct pmu_peer *peer);
/* The kernel can't cut messages into segments any more. */
void pmu_connect_whole(struct pmu_rail *rail);

/* rx.c */
int pmu_rx_init(struct pmu_dev *d, uint32_t n_slots);
void pmu_rx_fini(struct pmu_dev *d);
int pmu_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n);
void pmu_rx_return(struct pm_dev *dev, uint64_t token);
/* Can a datagram be taken now? Are received ones waiting to be handed out? */
bool pmu_rx_has_room(const struct pmu_dev *d);
bool pmu_rx_is_pending(const struct pmu_dev *d);

/* sleep.c: poll_fds, arm and disarm of the device. */
int pmu_sleep_fds(struct pm_dev *dev, int *fds, int room);
int pmu_sleep_arm(struct pm_dev *dev);
void pmu_sleep_disarm(struct pm_dev *dev);
/* Takes the sockets out of the epoll set; the next sleep puts them back. */
void pmu_sleep_unwatch(struct pmu_dev *d);
/* News of the interfaces end a sleep; 0 or -errno. */
int pmu_sleep_watch_link(struct pmu_dev *d, int fd);

/* error.c. Reads the error queue of a rail; the number of reports. */
int pmu_error_drain(struct pmu_dev *d, uint32_t rail);
/* Remembers why the kernel refused a packet. */
void pmu_error_note(struct pmu_dev *d, uint32_t rail, const struct pmu_peer *peer, int error);
int pmu_error_event(struct pm_dev *dev, uint32_t *ret_node);

/* link.c. The netlink socket, and the state of the rails' interfaces. */
void pmu_link_open(struct pmu_dev *d);
void pmu_link_close(struct pmu_dev *d);
/* Looks for changes now. */
void pmu_link_update(struct pmu_dev *d);
enum pm_rail_state pmu_link_state(struct pm_dev *dev, uint32_t rail);

#endif
