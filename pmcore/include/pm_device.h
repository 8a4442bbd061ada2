/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_device.h - what a backend fulfils. There are two contracts:
 *
 *   link    a reliable, ordered transport of datagrams with one-sided reads and writes: self, shmem,
 *           verbs, and the channel engine itself when it sits on a packet device (api/chanlink.c);
 *   packet  an unreliable device of one or more rails that takes and gives bursts of packets. Such
 *           are udp, ethernet, verbs-datagram, the lane that stacks on ethernet, and the
 *           interposers fault and tracer that stack on any of them.
 *
 * A composite context (device/composite.c) owns a list of links and sends each node's traffic to
 * the first link that reaches it, and by another one when that has lost its way. Everything here is
 * called from the thread that uses the context. All functions return 0 (or a count) or -errno;
 * -EAGAIN means "not now" and is never an error. A table starts with its ABI number and size;
 * registry.c refuses others. Operations left NULL are filled from device/stubs.c, so callers never
 * test for NULL.
 */
#ifndef PM_DEVICE_H
#define PM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#define PM_DEVICE_ABI 2
#define PM_RAILS_MAX 8
#define PM_CARRY_SHORT 48 /* bytes that carry() of every link takes */

struct conf;
struct region_table;
struct stats_link;
struct stats_rail;

/* The environment that every device gets at open; pointers stay valid until close. */
struct pm_device_env {
	const struct conf *conf;
	struct region_table *regions;
	struct stats_link *stats; /* counters of this link, zeroed; the link itself counts */
	struct stats_rail *rails; /* PM_RAILS_MAX entries, used by packet devices and the channel */
	uint64_t job_key;         /* secret of the job */
	uint32_t self;            /* our node number */
	uint32_t nodes, local;    /* expected in the job and on this host, 0 = unknown */
	char *why; /* room for the sentence that explains a failed open or a dead peer */
	size_t why_size;
	/* room for what an open that succeeds goes on without, empty; used during open only */
	char *note;
	size_t note_size;
	/*
	 * The part of @node's address that belongs to link @name (a node that is heard before it
	 * was spoken to). 0, -EAGAIN (not known yet), -EHOSTUNREACH (no such part) or another
	 * error. Valid until the next call.
	 */
	int (*address_of)(void *arg, uint32_t node, const char *name, const void **ret_addr,
			  size_t *ret_len);
	void *address_arg;
	/*
	 * The composite can go on by another link where this one loses its way to a node: see
	 * pm_leave_ops.
	 */
	bool can_leave;
};

/* ---- link ---- */

struct pm_link;      /* a device of a context: each backend embeds this as its first member */
struct pm_link_peer; /* a link's state for one node: backend-private */

/*
 * Datagrams to be sent in a row: each is a head and a part of the data, the last one what is left.
 * The first one has a head of its own, which may be that of the others. Without @data gather brings
 * the next @n bytes of them with each call, and is called only for what is taken.
 */
struct pm_row_head {
	const void *data;
	uint32_t len;  /* bytes */
	uint32_t part; /* bytes of the data that follow it, at least 1 */
};
struct pm_row {
	struct pm_row_head first, others;
	const uint8_t *data;
	uint64_t len; /* bytes, at least 1 */
	void (*gather)(void *arg, void *to, size_t n);
	void *arg;
};
/*
 * The head of the datagram with which the row goes on at @at bytes of its data; how many bytes of
 * the data it has.
 */
static inline const struct pm_row_head *pm_row_head(const struct pm_row *row, uint64_t at)
{
	return at ? &row->others : &row->first;
}
static inline uint32_t pm_row_part(const struct pm_row *row, uint64_t at)
{
	uint32_t part = pm_row_head(row, at)->part;

	return row->len - at < part ? (uint32_t)(row->len - at) : part;
}

/* Both parts of a short datagram of pm_link_ops.carry, to @to. */
static inline void pm_carry_fill(void *to, const void *head, uint32_t head_len, const void *data,
				 uint32_t len)
{
	memcpy(to, head, head_len);
	if (len)
		memcpy((uint8_t *)to + head_len, data, len);
}

/* An arrived datagram, lent until pm_link_ops.release. */
struct pm_inbound {
	void *buf;
	uint32_t len;
	uint32_t src;    /* node */
	uint64_t cookie; /* the link's name for the buffer */
};

/* A one-sided operation that its link can't finish. */
struct pm_unfinished {
	uint32_t op; /* the link's name of it */
	bool is_write;
	uint64_t rkey, roffset;
	void *local;
	uint64_t len;
};

/* A message that its link may not have brought to the other end. */
struct pm_unsent {
	uint64_t number;
	const void *data;
	uint32_t len;    /* bytes */
	bool is_carried; /* by carry() */
};

/*
 * Functions of a link that can lose its way to a node which may live: receive() returns
 * -ENETUNREACH, and the composite takes node and messages to another link (device/takeover.c). Both
 * ends number the messages between them alike, from 0 in the order of sending; numbers may be left
 * out. The peer stays until peer_del.
 */
struct pm_leave_ops {
	/*
	 * Nothing is sent to the peer by this link any more, and nothing taken from it but what has
	 * arrived. 0 when receive() has given all of that: *ret_next is the number after the last
	 * that arrived. -EAGAIN: poll on. -EPIPE: it can't be known, the peer is dead.
	 */
	int (*leave)(struct pm_link *link, struct pm_link_peer *peer, uint64_t *ret_next);
	/*
	 * After leave(): gives each message that may not have arrived, in order, then drops them.
	 * *ret_next: the number after them. An error of @give ends it, and is returned.
	 */
	int (*unsent)(struct pm_link *link, struct pm_link_peer *peer,
		      int (*give)(void *arg, const struct pm_unsent *message), void *arg,
		      uint64_t *ret_next);
	/* Where the buffer is that get_send lent. Cookies of such a link are even. */
	void *(*lent)(struct pm_link *link, uint64_t cookie);
	/*
	 * After leave(): the operations with the peer that are not over; writes up to @room,
	 * returns the number.
	 */
	int (*unfinished)(struct pm_link *link, struct pm_link_peer *peer,
			  struct pm_unfinished *ops, int room);
	/* Such an operation is over: rma_done gives @result. */
	void (*finish)(struct pm_link *link, uint32_t op, int result);
	/* No other link takes the node: it is dead, as if receive() had said -EPIPE. */
	void (*forsake)(struct pm_link *link, struct pm_link_peer *peer);
	/*
	 * The process of a node about which receive() has said -ETIMEDOUT has given a sign of life
	 * by another link, since the time before. If it stays silent by this one for a while
	 * longer, the way is broken, and receive() says -ENETUNREACH.
	 */
	void (*lives)(struct pm_link *link, struct pm_link_peer *peer);
};

struct pm_link_ops {
	uint32_t abi;
	uint32_t size;
	const char *name;

	int (*open)(const struct pm_device_env *env, struct pm_link **ret_link);
	void (*close)(struct pm_link *link);
	/* Appends the link's part of the context address; returns bytes written, 0..room. */
	int (*address)(struct pm_link *link, void *buf, size_t room);
	/*
	 * A node in reach? @addr is what its address() wrote. -EHOSTUNREACH: not by this link (try
	 * the next one), -EINVAL: damaged address. Allocates the peer state.
	 */
	int (*peer_add)(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			struct pm_link_peer **ret_peer);
	/* Discards the peer and everything queued to it. Also called for dead peers. */
	void (*peer_del)(struct pm_link *link, struct pm_link_peer *peer);
	/*
	 * The node is dead or not one of the job any more, whether it was a peer of this link or
	 * not.
	 */
	void (*forget)(struct pm_link *link, uint32_t node);
	/* Largest datagram to the peer (NULL: smallest of all) in bytes. */
	uint32_t (*mtu)(struct pm_link *link, struct pm_link_peer *peer);

	/* Lends @len bytes towards the peer. -EAGAIN, -EPIPE (peer dead). */
	int (*get_send)(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			void **ret_buf, uint64_t *ret_cookie);
	/* Sends the lent buffer with its final length (<= reserved); len 0 discards it. */
	int (*send)(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie, uint32_t len);
	/* Sends a copy: get_send, copy and send in one. -EAGAIN, -EPIPE as get_send. */
	int (*post)(struct pm_link *link, struct pm_link_peer *peer, const void *data,
		    uint32_t len);
	/*
	 * Sends copies: as many datagrams as there is room for. *ret_done: bytes of data taken. 0
	 * all, else as get_send.
	 */
	int (*post_row)(struct pm_link *link, struct pm_link_peer *peer, const struct pm_row *row,
			uint64_t *ret_done);
	/*
	 * Asks the network whether the peer's process is still there; a link that learns of deaths
	 * by itself leaves it out. Sends nothing reliable and waits for no answer: silence proves
	 * nothing. If the network knows, receive() says so later. -EAGAIN, -EPIPE.
	 */
	int (*probe)(struct pm_link *link, struct pm_link_peer *peer);
	/*
	 * Asks the peer's process for a sign of life: 0 when one has come since it was asked,
	 * -EAGAIN: it is asked now, if that can be; ask again after a while. -EPIPE. Never kills. A
	 * link that can't leaves it out.
	 */
	int (*ask)(struct pm_link *link, struct pm_link_peer *peer);
	/*
	 * On: of bursts, messages may wait for the next receive(). Off: nothing waits, also what
	 * did.
	 */
	void (*cork)(struct pm_link *link, bool is_on);
	/*
	 * 0 nothing sent to the peer waits here to leave for it, -EAGAIN some does. Left out:
	 * nothing ever waits.
	 */
	int (*send_out)(struct pm_link *link, struct pm_link_peer *peer);
	/* 0 all reached the peer's library, -EAGAIN not yet, -EPIPE. peer NULL: all peers. */
	int (*send_done)(struct pm_link *link, struct pm_link_peer *peer);

	/*
	 * Sends @head_len bytes and @len more, copied, as one datagram that is not the user's, in
	 * order with those of his. -EAGAIN, -EPIPE as get_send. Together up to PM_CARRY_SHORT; with
	 * can_carry up to the mtu. Left out: -EOPNOTSUPP.
	 */
	int (*carry)(struct pm_link *link, struct pm_link_peer *peer, const void *head,
		     uint32_t head_len, const void *data, uint32_t len);

	/*
	 * On: something of carry() to the peer wants an answer. A link that can't see deaths by
	 * itself asks the peer then, as it does for one-sided operations. Off: no answer is awaited
	 * any more. Left out: deaths are seen.
	 */
	void (*await)(struct pm_link *link, struct pm_link_peer *peer, bool is_on);
	/*
	 * The peer has closed its context, or is dead: nothing more comes from it, also nothing of
	 * what it has sent before. Left out: deaths alone end a peer, and receive() tells them.
	 */
	bool (*is_gone)(struct pm_link *link, struct pm_link_peer *peer);

	/*
	 * Makes progress and gives the next datagram. 1 and *ret; 2 and *ret if it was sent by
	 * carry(); or 0. Or, once per peer, an error with ret->src: -EPIPE, the node was newly
	 * found dead, or -ENETUNREACH, this link does not reach it any more (only with
	 * env.can_leave). env.why then holds the sentence. -ETIMEDOUT, also only with
	 * env.can_leave, and again and again: the node is silent, as it computes or the way to it
	 * is broken. Or it lives, for the other link to hear of it as long as it may be asked.
	 */
	int (*receive)(struct pm_link *link, struct pm_inbound *ret);
	/*
	 * Gives datagrams from the same node that are here and come next after the lent one, up to
	 * @room; their number, 0 at any time. They are lent until that one is released. Makes no
	 * progress. Left out: it never gives any.
	 */
	uint32_t (*receive_more)(struct pm_link *link, uint64_t cookie, struct iovec *ret_parts,
				 uint32_t room);
	/* Of a datagram that receive() gave. */
	void (*release)(struct pm_link *link, uint64_t cookie);

	/* One-sided; *ret_op names the operation until rma_done returned other than -EAGAIN.
	 * The peer side is found by rkey in its region table. -EAGAIN: no room now. */
	int (*read)(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		    uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op);
	int (*write)(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		     uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op);
	/* 0 done, -EAGAIN, -EPIPE, -EACCES (refused by the peer), -ENOENT (no such operation). */
	int (*rma_done)(struct pm_link *link, uint32_t op);
	/* Is a connection open by which @node reads from here? Left out: reads need none. */
	bool (*is_read_by)(struct pm_link *link, uint32_t node);
	/*
	 * The region [addr, addr+len) is in the table: peers may be told its key from the return
	 * on. Left out: a device that looks keys up when they come.
	 */
	void (*exported)(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len);
	/* The region [addr, addr+len) is about to go: nothing may touch it from the return on. */
	void (*unexport)(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len);

	/*
	 * Descriptors to sleep on: writes up to @room, returns the number. Constant after open, but
	 * for restore.
	 */
	int (*poll_fds)(struct pm_link *link, int *fds, int room);
	/*
	 * About to sleep: 1 = do not, there is work; 0 = armed, the descriptors will become
	 * readable; *timeout_ns is lowered to the link's next deadline from now (UINT64_MAX on
	 * entry = none).
	 */
	int (*arm)(struct pm_link *link, uint64_t *timeout_ns);
	void (*disarm)(struct pm_link *link);

	/*
	 * Stop transmitting; 0 when quiet (all acked, nothing in the network), -EAGAIN not yet:
	 * call again after receive(). resume undoes.
	 */
	int (*quiesce)(struct pm_link *link);
	void (*resume)(struct pm_link *link);
	/* State of the quiet link; returns the bytes needed, writes them if @room suffices. */
	int (*save)(struct pm_link *link, void *buf, size_t room);
	/* Into a fresh link; peers are named by node and were not added yet: @resolve adds them. */
	int (*restore)(struct pm_link *link, const void *buf, size_t len,
		       int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		       void *arg);

	/* Appends readable state to buf like snprintf; returns the length wanted. */
	int (*dump)(struct pm_link *link, char *buf, size_t room);
	uint64_t (*memory)(struct pm_link *link); /* bytes held now */
	const struct pm_leave_ops *leaving;       /* left out: see can_leave */
};

struct pm_link {
	const struct pm_link_ops *ops;
	/*
	 * Set by the backend at open: polling it costs a system call, so the composite polls it
	 * less often while it is idle and other links are busy.
	 */
	bool is_expensive;
	/*
	 * receive() is known to find nothing, so it need not be called; links that can't know leave
	 * it.
	 */
	bool is_empty;
	/* it has pm_leave_ops: a node may get out of its reach. Set at open, as the next */
	bool can_leave;
	bool can_carry; /* long ones, too: nodes can be taken over by it */
};

/* ---- packet ---- */

struct pm_dev;      /* a packet device: each backend embeds this as its first member */
struct pm_dev_peer; /* addresses of one node, backend-private */

/*
 * A transmit buffer. The device allocates and frees it; the channel fills it and keeps it until
 * acked. Bytes sent: data[0..len), then more[0..more_len).
 */
struct pm_packet {
	uint8_t *data; /* 8-byte aligned start, constant; the device keeps its headroom before it */
	uint32_t room; /* bytes usable from data */
	uint32_t len;  /* bytes used */
	uint32_t more_len;
	/*
	 * Memory of the program that is sent from where it lies; only to a device that can_gather.
	 * The channel may copy it to data[len..) and set more_len to 0 at any time, also while the
	 * device holds the packet.
	 */
	const uint8_t *more;
	/*
	 * times the device still holds it: device-owned; while not 0 the bytes must not change,
	 * except that tx_free is allowed
	 */
	uint32_t busy;
	/*
	 * The channel's: the packet is on its way, and its bytes stay as they are until the peer
	 * has acked it. Then it is cleared. A packet that is freed with it may still be on its way.
	 */
	bool is_kept;
	/* the channel's: its bytes are in memory, and not in the caches of the core that sends */
	bool is_past_caches;
	/*
	 * The device's: as long as is_kept is set, the network may read the bytes where they lie,
	 * although the device does not hold the packet any more. The channel repeats such a packet
	 * from a copy.
	 */
	bool is_shown;
	bool is_freed; /* the device's: tx_free came while it was busy */
	bool is_bulk;  /* the device's: it is of tx_alloc_bulk */
	/* free list of the device while free, a queue of the channel else */
	struct pm_packet *next;
};

static inline uint32_t pm_packet_bytes(const struct pm_packet *packet)
{
	return packet->len + packet->more_len;
}

/*
 * Tokens of received packets are smaller than 2 to this power: the layers above tell theirs apart
 * by the rest.
 */
#define PM_TOKEN_BITS 62

/* A received packet, lent until rx_return. */
struct pm_rx {
	uint8_t *data; /* 8-byte aligned */
	uint32_t len;
	uint32_t rail;  /* local rail it came in by */
	uint64_t token; /* the device's name for the buffer */
};

/* State of one rail, as far as the device knows. */
enum pm_rail_state { PM_RAIL_UP, PM_RAIL_DOWN };

struct pm_packet_ops {
	uint32_t abi;
	uint32_t size;
	const char *name;

	/* @lower: the device to stack on (lane, fault, tracer), NULL for real ones. */
	int (*open)(const struct pm_device_env *env, struct pm_dev *lower, struct pm_dev **ret_dev);
	void (*close)(struct pm_dev *dev);
	int (*address)(struct pm_dev *dev, void *buf, size_t room);
	/* -EHOSTUNREACH, -EINVAL as for links. *ret_rails: bit r set = local rail r leads there. */
	int (*peer_add)(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			struct pm_dev_peer **ret_peer, uint32_t *ret_rails);
	void (*peer_del)(struct pm_dev *dev, struct pm_dev_peer *peer);
	/* Largest packet to the peer in bytes. */
	uint32_t (*mtu)(struct pm_dev *dev, struct pm_dev_peer *peer);

	/* A buffer of the pool or NULL; len 0. */
	struct pm_packet *(*tx_alloc)(struct pm_dev *dev);
	/*
	 * The same for a packet that most likely leaves by a bulk rail. Left out: there is one kind
	 * of buffers.
	 */
	struct pm_packet *(*tx_alloc_bulk)(struct pm_dev *dev);
	/* Up to @n of one kind in a row; their number. Left out: one by one. */
	uint32_t (*tx_alloc_run)(struct pm_dev *dev, bool is_bulk, uint32_t n,
				 struct pm_packet **ret_packets);
	/* Gives it back; if busy the device keeps it until it is not. */
	void (*tx_free)(struct pm_dev *dev, struct pm_packet *packet);
	/* The same for @n packets. Left out: one by one. */
	void (*tx_free_run)(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n);
	/*
	 * Queues a packet on a rail: 0, or -EAGAIN when the rail is full (then it becomes free by
	 * itself). A rail transmits in the order of posts.
	 */
	int (*tx_post)(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		       struct pm_packet *packet);
	/* The same for @n packets in a row: how many of them were queued. Left out: one by one. */
	uint32_t (*tx_post_run)(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
				struct pm_packet *const *packets, uint32_t n);
	/* Starts transmission of all that was posted, as far as the rails take it now. */
	void (*tx_kick)(struct pm_dev *dev);

	/* Up to @n received packets; returns the number. */
	int (*rx_burst)(struct pm_dev *dev, struct pm_rx *rx, int n);
	void (*rx_return)(struct pm_dev *dev, uint64_t token);
	/*
	 * Next event about a peer that the network itself reports (port unreachable): 1 and the
	 * node with a sentence in env.why, or 0.
	 */
	int (*peer_event)(struct pm_dev *dev, uint32_t *ret_node);
	enum pm_rail_state (*rail_state)(struct pm_dev *dev, uint32_t rail);

	int (*poll_fds)(struct pm_dev *dev, int *fds, int room);
	/*
	 * Readable descriptors will wake for received packets and, when packets wait, for rail
	 * room. 1 = work is waiting, do not sleep.
	 */
	int (*arm)(struct pm_dev *dev);
	void (*disarm)(struct pm_dev *dev);

	/*
	 * Closes sockets and queues, keeping buffers and peers; resume opens them again. Addresses
	 * may have changed after resume.
	 */
	int (*suspend)(struct pm_dev *dev);
	int (*resume)(struct pm_dev *dev);

	int (*dump)(struct pm_dev *dev, char *buf, size_t room);
	uint64_t (*memory)(struct pm_dev *dev);
};

struct pm_dev {
	const struct pm_packet_ops *ops;
	uint32_t n_rails;    /* constant after open, 1..PM_RAILS_MAX */
	uint32_t rx_buffers; /* packets that may be held unreturned */
	uint32_t tx_buffers; /* packets of the pool */
	/* packets that one kick sends best, so more don't wait for others; 0 = any number */
	uint32_t burst;
	bool is_cheap;   /* an idle rx_burst costs no system call */
	bool can_gather; /* packets may have bytes in pm_packet.more */
	/* runs of long packets without such bytes leave uncopied: see pm_packet.is_shown */
	bool can_show;
	bool takes_lane; /* long data to neighbours may go by datagrams beside it: device/lane.c */
	/*
	 * Bit r: rail r carries long data cheaply and single packets dearly; the other rails do
	 * not.
	 */
	uint32_t bulk_rails;
	/*
	 * The device of the packets that are posted here without being of our own pool, which have
	 * is_bulk; NULL: there are none. One that was freed while busy goes back to its tx_free,
	 * with is_freed cleared.
	 */
	struct pm_dev *lender;
};

#endif
