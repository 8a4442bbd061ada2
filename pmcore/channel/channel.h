/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel - the reliability engine: turns an unreliable device of several rails into reliable,
 * ordered datagrams and one-sided transfers per peer. It knows no socket, clock, thread or file:
 * packets leave through chan_ops, arrive through chan_input, and time is an argument, in
 * nanoseconds of job time (which stands still while the job is frozen). Same inputs, same outputs,
 * byte for byte.
 *
 * Use:
 *   send     chan_reserve -> fill -> chan_submit (or chan_discard)
 *   receive  chan_input for the packets of a poll, chan_next until 0, chan_release when done with a
 *   message
 *   drive    chan_poll(now) after a batch of the above: emits acks, queued data, retransmissions
 *   time     chan_deadline gives the next moment chan_poll has to be called at even if nothing arrives
 *
 * Reliability: per peer a window of sequence numbers held in arrays indexed by sequence number (as
 * PM/Ethernet-HXB did). Cumulative and selective acks ride on data. A packet is known lost as soon
 * as the other side has seen a later packet of the same rail. One-sided data goes through the same
 * window but is placed in user memory on arrival, in any order, and takes no receive buffer.
 */
#ifndef PM_CHANNEL_H
#define PM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"
#include "pmcore/wire/pm_wire.h"

struct chan;      /* one engine: one context on one packet device */
struct pm_row;    /* datagrams to be sent in a row, see pm_device.h */
struct chan_peer; /* state for one node; at most 256 bytes while idle */
struct iovec;     /* a place in memory, see pm_device.h */
struct pm_packet; /* transmit buffer, see pm_device.h: data room len busy next */
struct pm_rx;     /* a packet that has come, see pm_device.h */

/* The functions that the engine needs from outside; @arg is that of chan_create. */
struct chan_ops {
	/* A transmit buffer or NULL; given back by tx_free (also while busy). */
	struct pm_packet *(*tx_alloc)(void *arg);
	/* The same for one that most likely leaves by a bulk rail; NULL: as tx_alloc. */
	struct pm_packet *(*tx_alloc_bulk)(void *arg);
	void (*tx_free)(void *arg, struct pm_packet *packet);
	/* The same for runs. NULL: one by one. */
	uint32_t (*tx_alloc_run)(void *arg, bool is_bulk, uint32_t n,
				 struct pm_packet **ret_packets);
	void (*tx_free_run)(void *arg, struct pm_packet *const *packets, uint32_t n);
	/* Puts a packet on a rail. 0, or -EAGAIN: the rail takes no more now. */
	int (*tx_post)(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet);
	/*
	 * The same for @n packets in a row: how many of them the rail has taken. NULL: by tx_post.
	 */
	uint32_t (*tx_post_run)(void *arg, uint32_t rail, void *dev_peer,
				struct pm_packet *const *packets, uint32_t n);
	/* The packet buffer @token is no longer used. */
	void (*rx_return)(void *arg, uint64_t token);
	/*
	 * A packet came from a node without state: chan_peer_add it and return it, or NULL; the
	 * same node is then not asked about again for some milliseconds.
	 */
	struct chan_peer *(*unknown_peer)(void *arg, uint32_t node);
	/*
	 * The peer is dead; called once, from chan_poll (ETIMEDOUT: silence) or chan_peer_dead
	 * (as its caller has said).
	 */
	void (*peer_dead)(void *arg, struct chan_peer *peer, int error);
	/*
	 * Time as exact as can be had, ns, for measuring copies (copier.h) and nothing else. NULL:
	 * nothing is measured.
	 */
	uint64_t (*clock_ns)(void *arg);
};

struct chan_config {
	uint32_t self;       /* our node */
	uint64_t key;        /* job key */
	uint32_t window;     /* packets in flight per peer: power of two, 8..WIRE_WINDOW_MAX */
	uint32_t credit;     /* message packets a new peer may send before it is told more: the same
					on all nodes of the job */
	uint32_t rx_buffers; /* packets the device lets us hold */
	uint32_t tx_buffers; /* packets of the device's transmit pool; messages leave an eighth of
					them to the engine. 0 = unknown: no limit */
	uint32_t burst;      /* packets that the device sends best in one go, 0 = any number */
	uint32_t n_rails;    /* 1..WIRE_RAILS */
	/* bit r: rail r is for long data, see pm_dev.bulk_rails; not all of them */
	uint8_t bulk_rails;
	bool is_bulk_forced; /* long data takes them even where they are slower */
	bool crc;            /* seal every packet and require it */
	/*
	 * the device takes packets with bytes in pm_packet.more; on bulk rails, where there are
	 * some
	 */
	bool can_gather;
	/* the device sends long packets without such bytes uncopied, see pm_dev.can_show */
	bool can_show;
	/*
	 * one-sided bytes asked for and not arrived, all peers together, at most; those of silent
	 * peers do not count; less where packets get lost because of it. 0 = default (1 MiB)
	 */
	uint64_t pull_bytes;
	uint64_t rto_min_ns; /* retransmission timer bounds; 0 = defaults (2 ms, 1 s) */
	uint64_t rto_max_ns;
	uint64_t ack_delay_ns; /* longest an ack waits for data to ride on; 0 = default (200 us) */
	uint32_t ack_every;    /* bare ack after that many packets; 0 = default (16) */
	/*
	 * a rail with unanswered packets is taken out after that, while others answer; 0 = default
	 * (adaptive, at least 5 ms)
	 */
	uint64_t rail_silence_ns;
	uint64_t probe_ns;        /* how often a rail that is out is probed; 0 = default (20 ms) */
	uint64_t peer_timeout_ns; /* silence until a peer is dead, 0 = never */
	struct region_table *regions;
	struct stats_link *stats; /* may be NULL */
	struct stats_rail *rails; /* n_rails entries, may be NULL */
};

/* -EINVAL, -ENOMEM. */
int chan_create(const struct chan_config *config, const struct chan_ops *ops, void *arg,
		struct chan **ret_chan);
/* Gives all buffers back through the ops. NULL is fine. */
void chan_destroy(struct chan *chan);

/*
 * @dev_peer is handed to tx_post; bit r of @rails: local rail r leads there; @mtu: largest packet
 * in bytes. -EEXIST, -ENOMEM, -EINVAL.
 */
int chan_peer_add(struct chan *chan, uint32_t node, void *dev_peer, uint32_t rails, uint32_t mtu,
		  struct chan_peer **ret_peer);
/*
 * Discards everything about the peer; open reservations to it must be discarded before. Delivered
 * messages that are still held stay valid. Operations with it end with -EPIPE.
 */
void chan_peer_del(struct chan *chan, struct chan_peer *peer);
/* The outside knows that the peer is gone: as if the timeout had run out. */
void chan_peer_dead(struct chan *chan, struct chan_peer *peer, int error);
/*
 * Corked: of a burst to one peer, messages beyond the first packets in flight wait for the next
 * poll, or until many have gathered, and share frames meanwhile. Off (as at the start): nothing
 * waits; what was held is sent by the next poll. chan_deadline is 0 while something is held.
 */
void chan_cork(struct chan *chan, bool is_on);
/*
 * Sends something on each rail in use that asks for nothing, so that a network that knows the peer
 * is gone gets to say so (then chan_peer_dead is for the caller). An answer is not waited for:
 * silence never kills. 0, -EAGAIN: nothing can leave now. -EPIPE dead.
 */
int chan_probe(struct chan *chan, struct chan_peer *peer, uint64_t now);
/*
 * Asks the peer's process for a sign of life, which it gives when it looks: 0 once something of it
 * has come since it was asked, -EAGAIN: it is asked now. Ask again after a while: packets get lost,
 * and silence means nothing. -EPIPE dead.
 */
int chan_ask(struct chan *chan, struct chan_peer *peer, uint64_t now);
/*
 * On: an answer of the peer's is awaited, so its silence is watched as that of a peer with a
 * one-sided operation under way. Off: none is.
 */
void chan_await(struct chan *chan, struct chan_peer *peer, bool is_on, uint64_t now);
struct chan_peer *chan_peer_find(const struct chan *chan, uint32_t node);
uint32_t chan_peer_node(const struct chan_peer *peer);
void *chan_peer_dev(const struct chan_peer *peer);
bool chan_peer_is_dead(const struct chan_peer *peer);
/* Largest datagram to the peer. */
uint32_t chan_peer_mtu(const struct chan_peer *peer);

/*
 * Reserves room for a datagram of @len bytes: a packet whose payload starts at *ret_payload.
 * -EAGAIN: no buffer, or too much is queued to this peer already. -EPIPE dead, -EINVAL bad length.
 */
int chan_reserve(struct chan *chan, struct chan_peer *peer, uint32_t len,
		 struct pm_packet **ret_packet, void **ret_payload);
/*
 * Sends the datagram with its final length (<= reserved): posted within this call if the peer's
 * window, its credit and a rail allow, else queued. If the last queued packet has room, the bytes
 * move into it: one frame then carries several messages. Never fails.
 */
void chan_submit(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet, uint32_t len,
		 uint64_t now);
/* The same for one that chan_next shall give as carried. */
void chan_submit_carried(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet,
			 uint32_t len, uint64_t now);
void chan_discard(struct chan *chan, struct chan_peer *peer, struct pm_packet *packet);
/*
 * The next message to the peer will be held, so it may be submitted with the time of an earlier
 * call.
 */
bool chan_will_hold(const struct chan *chan, const struct chan_peer *peer);
/* Reserves, copies and submits in one: as chan_reserve. */
int chan_post(struct chan *chan, struct chan_peer *peer, const void *data, uint32_t len,
	      uint64_t now);
/*
 * The datagrams of a row: as chan_reserve. *ret_done: bytes of its data that were taken, all of
 * them if 0 is returned.
 */
int chan_post_row(struct chan *chan, struct chan_peer *peer, const struct pm_row *row, uint64_t now,
		  uint64_t *ret_done);
/*
 * No submitted message waits to leave for the peer, be it corked or for want of room. Dead peers
 * take none.
 */
bool chan_is_out(const struct chan_peer *peer);
/* All that was submitted to the peer (NULL: to all) is acked? A dead peer counts as done. */
bool chan_is_acked(const struct chan *chan, const struct chan_peer *peer);

/*
 * Takes the @n packets that the device has, in the order of their arrival; 0: it was asked, and had
 * none. The engine calls rx_return(token) when it needs one no more: at once, or after the last
 * message in it has been released. Bad packets are counted and dropped. Datagrams that follow each
 * other in a row cost little.
 */
void chan_input(struct chan *chan, const struct pm_rx *rx, uint32_t n, uint64_t now);

/* A delivered message, in place. */
struct chan_msg {
	struct chan_peer *peer;
	uint32_t src; /* node */
	void *data;
	uint32_t len;
	bool is_carried; /* by chan_submit_carried: not the user's */
	uint64_t cookie; /* for chan_release */
};
/* Next message in order of arrival per peer: 1 and *ret, or 0. */
int chan_next(struct chan *chan, struct chan_msg *ret);
/*
 * The messages that come next after that of @cookie from the same peer, each alone in its packet,
 * up to @room: their number. They are released with it.
 */
uint32_t chan_next_row(struct chan *chan, uint64_t cookie, struct iovec *ret_parts, uint32_t room);
/* Would chan_next give one? */
bool chan_has_messages(const struct chan *chan);
void chan_release(struct chan *chan, uint64_t cookie);

/*
 * One-sided. @local must stay valid until chan_op_done gives other than -EAGAIN. *ret_op is never
 * 0. -EAGAIN: too many operations open. chan_op_done: 0, -EAGAIN, -EPIPE, -EACCES (refused),
 * -ENOENT.
 */
int chan_read(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
	      void *local, uint64_t len, uint64_t now, uint32_t *ret_op);
int chan_write(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
	       const void *local, uint64_t len, uint64_t now, uint32_t *ret_op);
int chan_op_done(struct chan *chan, uint32_t op);
/*
 * Region @rkey, which was [addr, addr+len), goes away: what is left of reads served from it and of
 * writes into it is refused. Call after it has left the table.
 */
void chan_unexport(struct chan *chan, uint64_t rkey, const void *addr, uint64_t len);

/* A rail of the device went down or came up (carrier). Silence is found by the engine itself. */
void chan_rail(struct chan *chan, uint32_t rail, bool is_up, uint64_t now);

/* Emits what may go now: acks, data, retransmissions, grants. Returns the packets posted. */
int chan_poll(struct chan *chan, uint64_t now);
/* When chan_poll has to run next if nothing happens; UINT64_MAX = never; <= now = at once. */
uint64_t chan_deadline(const struct chan *chan);

/*
 * Sends no new data from now on (retransmits and acks go on); chan_is_quiet: everything sent is
 * acked, every ack owed is out, no operation of ours is half way.
 */
void chan_quiesce(struct chan *chan, bool is_stopped);
bool chan_is_quiet(const struct chan *chan);
/*
 * Serialises a quiet engine: sequence numbers, queued unsent and received unread messages. Returns
 * the bytes needed (written if @room suffices) or -EBUSY (not quiet, or messages are held).
 * chan_thaw fills a new engine; @resolve gives the peer (from chan_peer_add) of a node. -EINVAL:
 * damaged, or of another node; nothing was changed then. Other errors (-ENOMEM, that of @resolve)
 * leave it half filled: to be destroyed.
 */
int chan_freeze(struct chan *chan, void *buf, size_t room);
int chan_thaw(struct chan *chan, const void *buf, size_t len,
	      int (*resolve)(void *arg, uint32_t node, struct chan_peer **ret_peer), void *arg);

/* Readable state, like snprintf. */
int chan_dump(const struct chan *chan, char *buf, size_t room);
/* Bytes of memory held now, peers included; bytes of one idle peer. */
uint64_t chan_memory(const struct chan *chan);
size_t chan_idle_peer_bytes(void);
/* Asserts the engine's invariants (conservation of packets, credits, queue links); for tests. */
void chan_check(const struct chan *chan);

#endif
