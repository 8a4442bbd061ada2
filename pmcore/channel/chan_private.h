/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chan_private - the engine's structures. The functions of each part are declared in its own
 * header. A peer has a small permanent part (struct chan_peer: numbers that must survive) and,
 * while it is active, a flow (struct chan_flow: windows, queues, timers) lent from a pool. Every
 * module owns a part of the flow, named in the comments; only that module writes it, and peer.c
 * clears it before the flow is lent again.
 *
 * Two numberings run beside each other. seq counts DATA packets: acks, window and loss are about
 * it. mseq counts message packets (those with datagrams): order of delivery and credit are about
 * it, and it stands in the op field of a packet's first datagram. So a datagram never waits for
 * lost one-sided data that was sent before it, and control messages act on arrival.
 */
#ifndef PM_CHANNEL_PRIVATE_H
#define PM_CHANNEL_PRIVATE_H

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pmcore/channel/channel.h"
#include "pmcore/channel/copier.h"
#include "pmcore/channel/dlist.h"
#include "pmcore/channel/road.h"
#include "pm_device.h"
#include "pmcore/util/nodemap.h"
#include "pmcore/wire/codec.h"

#define CHAN_NEVER UINT64_MAX
#define CHAN_NIL UINT16_MAX /* no slot */
/*
 * One-sided packets to one peer per chan_poll: so many, or so many bursts of a device that has
 * them.
 */
#define CHAN_BURST 64
#define CHAN_BURSTS 3
#define CHAN_POLL_POSTS 512   /* packets per chan_poll */
#define CHAN_CORK_PACKETS 16  /* held packets that are worth a system call */
#define CHAN_SPARES 8         /* transmit buffers kept for acks and probes */
#define CHAN_RESERVE 8        /* and for control messages and one-sided data */
#define CHAN_OPS_USER 1024    /* operations a user may have open */
#define CHAN_OPS_MAX 32768    /* operations in all, writes pulled for others included */
#define CHAN_SERVES_MAX 65536 /* answers owed to all peers */
#define CHAN_CAUTION_MIN 32   /* smaller limits are used in full while packets get lost */
#define CHAN_TRIES 6 /* losses of one packet after which its repetition waits for the timer */
#define RX_CHUNK 64  /* receive records allocated together */
#define OP_CHUNK 64  /* operations allocated together */
#define CHAN_IDLE_NS 50000000 /* quiet for so long: the flow goes back to the pool */
#define CHAN_IDLE_FLOWS 64    /* more flows than that: quiet ones go back at once */
#define CHAN_STRANGERS 64     /* unknown nodes remembered; questions in vain per CHAN_STRANGER_NS */
#define CHAN_STRANGER_NS 10000000 /* between two questions about one of them */
#define CHAN_PLACE_LEN (WIRE_OVERHEAD + sizeof(struct wire_place))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Distance of two sequence numbers: > 0 when @a is later. */
static inline int32_t seq_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

/* Where a message behind @len bytes of a packet begins. */
static inline uint32_t wire_align(uint32_t len)
{
	return (len + WIRE_ALIGN - 1) & ~(uint32_t)(WIRE_ALIGN - 1);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* tx_slot.flags */
enum { SLOT_RETX = 1, SLOT_MSG = 2, SLOT_LOST = 4, SLOT_ASK = 8, SLOT_BULK = 16 };

/* A packet sent and not acked; index = seq & (window - 1). Owner: sendwin.c */
struct tx_slot {
	struct pm_packet *packet; /* NULL: free, or acked */
	uint64_t sent_ns;         /* last transmission */
	uint32_t rail_seq;        /* of the last transmission */
	uint32_t bytes;
	uint32_t load;       /* bytes in flight on the rail when it was sent, own included */
	uint16_t prev, next; /* on the list of its rail, or of the lost ones; CHAN_NIL ends */
	uint8_t rail;        /* of the last transmission */
	uint8_t flags;       /* RETX sent more than once, MSG message packet, LOST on the lost list,
				     ASK wants an ack when sent again, BULK part of long data */
	uint8_t tries;       /* times an ack showed it lost */
};

/* A node that sent a packet and is none of the job. Owner: input.c */
struct stranger {
	uint64_t ask_ns; /* not asked about before */
	uint32_t node;   /* whose last question had no answer */
};

struct slot_list {
	uint16_t head, tail; /* CHAN_NIL when empty */
};

/* The state of one rail towards one peer. Owner: stripe.c */
struct rail_state {
	struct slot_list sent; /* in flight, in order of rail_seq */
	uint32_t bytes;        /* in flight */
	uint32_t asked;     /* rail sequence number behind the last packet that wants an answer */
	uint64_t asked_ns;  /* since when an answer is outstanding, 0 = none is */
	uint64_t answer_ns; /* when it last moved on */
	uint64_t probe_ns;  /* out: when to probe next; outage.c */
	uint32_t cost;      /* picoseconds per byte in flight until it is acked; 0 = unknown */
};

struct rx_packet;

/* The report in a header. Owner: report.c */
struct ack_report {
	uint32_t ack, sack, rail_ack;
	uint16_t credit;
	uint8_t echo; /* flags that name the rail; other bits before anything was heard */
};

struct packet_queue {
	struct pm_packet *head, *tail;
	uint32_t count;
};

/* The part of a peer that exists only while it is active. */
struct chan_flow {
	struct dlist link;      /* on chan.flows */
	struct chan_peer *peer; /* NULL in the pool */
	struct chan_flow *pool; /* next in the pool */
	uint64_t used_ns;       /* last activity */
	uint64_t heard_ns;      /* last packet from the peer, or when we began to wait for one */

	/* sendwin.c */
	struct packet_queue ctrl; /* control packets to send */
	struct packet_queue msgs; /* message packets to send; mseq is given */
	struct slot_list lost;    /* to be sent again, oldest finding first */
	uint32_t in_flight;       /* slots with a packet */
	uint32_t n_lost;          /* of these on the lost list */
	uint32_t msgs_in_flight;
	uint32_t reserved;   /* packets lent by chan_reserve */
	uint32_t n_lent;     /* packets in flight whose data lies in memory of the program */
	uint64_t pause_ns;   /* repetitions wait until then */
	uint64_t sample_ns;  /* latest first transmission among the packets just acked */
	uint64_t n_acked;    /* packets acked, ever; tells whether an ack brought anything */
	uint32_t bulk_burst; /* chan.n_bursts when messages last left as long data */

	/* limit.c */
	uint32_t range;        /* of the sequence numbers from the oldest not acked on */
	uint32_t calm;         /* up to that limit it grows fast */
	uint32_t limit_before; /* the limit before timeouts in a row; 0: there were none */
	uint32_t calm_before;  /* and calm */
	uint32_t round_acked;  /* packets since the last judgement */
	uint32_t round_lost;
	uint32_t caution; /* acks to come until loss is forgotten */

	/* rtt.c */
	uint64_t timer_ns; /* retransmission timer, 0 = off */
	uint32_t backoff;  /* timeouts since the last progress */

	/* stripe.c */
	struct rail_state rail[WIRE_RAILS];
	struct road road; /* road.c */

	/* arrivals.c */
	uint32_t early; /* bits set in the bitmap */

	/* recvwin.c */
	uint32_t held; /* message packets that wait for an earlier one */

	/* ack.c */
	uint64_t ack_ns;      /* the ack owed leaves then at the latest, 0 = none is owed */
	uint32_t unacked;     /* packets received since we last told */
	uint32_t bare_acks;   /* sent */
	uint16_t credit_told; /* low bits of the credit last sent */
	uint8_t news;         /* rails that moved since we last told */
	uint8_t echo;         /* rail told of last */
	bool is_ack_now;      /* a full ack has to leave at the next poll */
	bool is_unheard;      /* the peer sent again what we have, since the last bare ack */

	/* emit.c */
	uint8_t ack_rail; /* rail of the last bare ack */

	/* report.c */
	struct ack_report heard; /* the last one in a header */

	/* pull.c */
	struct dlist
		pulls; /* operations with the peer that have something to ask for, oldest first */
	struct dlist pulling; /* on chan.pulling while there are some and the owner is not silent */
	uint64_t owed;        /* bytes asked for and not arrived */
	bool is_silent;       /* the owner is not heard: they count in chan.silent */
	uint32_t ops;         /* operations open with the peer */

	/* serve.c */
	struct dlist serves; /* answers owed to the peer, in order */

	uint64_t *bitmap;        /* arrivals.c: received beyond rx_next, by seq & (window - 1) */
	struct rx_packet **hold; /* recvwin.c: early message packets by mseq & (window - 1) */
	struct tx_slot slots[];  /* sendwin.c: window entries */
};

struct chan_peer {
	struct dlist ready;     /* on chan.ready or chan.stalled when there is something to send */
	struct chan_flow *flow; /* NULL while idle */
	void *dev;              /* handed to tx_post */
	uint32_t node;
	uint32_t mtu;      /* largest packet, bytes */
	uint8_t rails;     /* rails that lead there */
	uint8_t out_rails; /* of these: found silent */
	bool is_dead : 1;
	bool is_asked : 1;       /* for a sign of life: chan_ask */
	bool is_silent : 1;      /* ... and nothing has come since */
	bool is_awaited : 1;     /* an answer of it: chan_await */
	bool prefers_single : 1; /* long data has been faster there by single rails; road.c */
	uint16_t limit;          /* packets in flight it may have, 0 = not known yet; limit.c */
	uint32_t tx_una;         /* oldest seq not acked */
	uint32_t tx_next;        /* next seq to send */
	uint32_t tx_mseq;        /* next mseq to send */
	uint32_t tx_credit;      /* mseq we must not reach */
	uint32_t rx_next;        /* oldest seq not received */
	uint32_t rx_mseq;        /* next mseq to deliver */
	uint32_t rx_done;        /* message packets delivered and released */
	uint32_t rx_credit;      /* mseq the peer must not reach */
	uint32_t srtt_ns;        /* 0 = no sample yet */
	uint32_t rttvar_ns;
	uint32_t rail_tx[WIRE_RAILS];    /* next to send */
	uint32_t rail_acked[WIRE_RAILS]; /* next the peer expects, as far as it told */
	uint32_t rail_rx[WIRE_RAILS];    /* next we expect */
};

_Static_assert(sizeof(struct chan_peer) <= 256, "an idle peer costs at most 256 bytes");

/* A received message packet that waits for its order, for the user, or for release. */
struct rx_packet {
	uint8_t *data;          /* header first */
	uint64_t token;         /* the device's name of the buffer */
	struct chan_peer *peer; /* NULL: deleted meanwhile */
	struct rx_packet *next; /* in the queue of delivered ones, or free */
	struct rx_packet *row;  /* given out with it, and released with it */
	uint32_t src;           /* node */
	uint32_t cursor;        /* next message in the body */
	uint32_t refs;          /* messages given out and not released */
	uint16_t length;        /* of the body */
	bool is_copy;           /* data is our own memory (restored), no buffer of the device */
	bool has_credit;        /* its release gives the peer credit */
	bool is_used;           /* not on the free list */
};

enum op_kind { OP_FREE, OP_READ, OP_WRITE, OP_PULL };

/*
 * One-sided operation. READ, WRITE: the user's. PULL: a write of a peer, carried out here by
 * reading.
 */
struct chan_op {
	struct dlist link; /* on the flow's pulls while there is something to ask for */
	struct chan_peer *peer;
	uint8_t *local;
	uint64_t len;
	uint64_t rkey; /* read from; WRITE: the temporary region of our memory, to be removed */
	uint64_t roffset;
	uint64_t target; /* PULL: region written to */
	uint64_t asked;  /* bytes asked for, always a prefix */
	uint64_t arrived;
	struct chan_serve *verdict; /* PULL: the answer to be, so that it can't fail later */
	uint32_t id;                /* on the wire: index | generation << 16 */
	uint32_t next_free;         /* index, UINT32_MAX ends */
	uint32_t initiator;         /* PULL: number the peer gave the operation */
	int status;                 /* -EAGAIN while running */
	uint8_t kind;               /* enum op_kind */
};

/* How much may be on the way to us. Owner: grant.c */
struct chan_grant {
	uint64_t budget;        /* bytes */
	uint64_t bytes;         /* arrived in the present window of judgement */
	uint64_t look_at;       /* so many of them */
	uint64_t arrived;       /* packets of any kind before this window */
	uint64_t lost;          /* and of those lost */
	uint64_t trial_arrived; /* packets of any kind before the expectation is on trial */
	uint64_t trial_lost;    /* and of those lost */
	uint32_t expected;      /* part of the packets lost whatever we do, of 2^16 */
	uint32_t calm;          /* windows in a row without too much loss */
	bool is_used_up;        /* more was wanted in this window */
	bool is_starting;       /* grows fast */
	bool is_settling;       /* a smaller budget does not show yet */
	bool is_tight; /* was too much once and is not at its bound again: holds for messages too */
};

struct chunk; /* memory of a pool, chained for chan_destroy */

struct chan {
	struct chan_config config;
	struct chan_ops ops;
	void *arg;
	uint32_t mask;                 /* window - 1 */
	uint32_t serve_burst;          /* one-sided packets to one peer per poll */
	uint32_t ack_every, fill_most; /* packets: to a bare ack; filled in one go */
	uint8_t up;                    /* rails with carrier */
	uint8_t full;                  /* rails that took no more since the last poll */
	bool is_stopped;               /* quiesced */
	bool is_fed;                   /* packets have come since the last poll */
	bool has_heard_all;            /* the device was asked since then, and had no more */
	uint32_t cork_after; /* message packets in flight to a peer from which on more are held */
	uint32_t n_bursts;   /* times it was corked, and long rows that came without */
	uint32_t n_links;    /* rails without the bulk ones, which use the same wires */
	bool is_striping;    /* there is a choice between rails of a kind */
	uint64_t deadline;   /* no timer fires before */
	uint64_t now;        /* of the call being served */
	uint64_t memory;     /* bytes held */

	struct nodemap peers;
	struct chan_peer *last; /* of the last packet received; saves the lookup */

	/* input.c */
	struct wire_words run;      /* a header of run_peer whose report is the last one heard */
	struct chan_peer *run_peer; /* it is active; NULL: there is none */
	bool is_run_of_datagrams;   /* that packet was one datagram, as those behind it may be */
	struct stranger strangers[CHAN_STRANGERS]; /* by a hash of the node */
	uint64_t strangers_ns;                     /* the count below starts again then */
	uint32_t n_strangers;                      /* asked about in vain since it last did */

	struct dlist flows; /* active */
	uint32_t n_flows;
	struct chan_flow *flow_pool;
	struct dlist ready;   /* peers with something to send */
	struct dlist stalled; /* peers that found the rails or the buffers exhausted */
	uint64_t unacked;     /* messages packets queued or in flight, all peers */

	/* inbox.c */
	struct rx_packet *rx_free;
	struct rx_packet *rx_head, *rx_tail; /* delivered, in order; receive.c takes from it */
	struct chunk *rx_chunks;
	uint32_t rx_used; /* packets of the device that we hold; recvwin.c adds them */

	/* share.c */
	uint32_t share;  /* message packets a peer may have on the way to its release */
	uint32_t on_way; /* and on the way to us, while the budget is tight */

	/* pull.c */
	struct dlist pulling;       /* flows whose operations have something to ask for */
	struct chan_op **op_chunks; /* arrays of 64 */
	uint32_t n_op_chunks;
	uint32_t op_free;     /* index of the first free one, UINT32_MAX = none */
	uint32_t ops_user;    /* open */
	uint64_t outstanding; /* bytes asked for and not arrived */
	uint64_t silent;      /* ... owed by silent owners */
	uint64_t silence_at;  /* owners may become silent then */

	struct chan_grant grant;
	struct copier copier;
	/* serve.c */
	struct dlist serve_free;
	struct chunk *serve_chunks;
	uint32_t n_serves;

	/* sendwin.c */
	uint64_t user_packets; /* transmit buffers that hold messages or are lent */

	/* submit.c */
	uint32_t queue_max; /* packets that may wait for a peer's window or credit */
	uint32_t user_max;  /* transmit buffers that messages may take */

	/* emit.c */
	struct pm_packet *spare[CHAN_SPARES]; /* filled from the front */
	struct pm_packet *reserve[CHAN_RESERVE];
	uint32_t n_reserve;

	struct stats_link *stats; /* never NULL */
	struct stats_rail *rails; /* never NULL */
	struct stats_link no_stats;
	struct stats_rail no_rails[WIRE_RAILS];
};

/* The flow's memory as one allocation of this size. */
static inline uint32_t chan_bitmap_words(const struct chan *chan)
{
	return chan->config.window < 64 ? 1 : chan->config.window / 64;
}

/* Something happens at @at: the next poll comes no later. */
static inline void chan_wake_at(struct chan *chan, uint64_t at)
{
	if (at < chan->deadline)
		chan->deadline = at;
}

/* The peer has something to send. */
static inline void chan_ready(struct chan *chan, struct chan_peer *peer)
{
	if (dlist_is_empty(&peer->ready))
		dlist_add_tail(&chan->ready, &peer->ready);
}

static inline uint32_t chan_payload_max(const struct chan_peer *peer)
{
	uint32_t len = peer->mtu - (uint32_t)WIRE_OVERHEAD;

	return len < UINT16_MAX - sizeof(struct wire_msg)
		       ? len
		       : UINT16_MAX - (uint32_t)sizeof(struct wire_msg);
}

#endif
