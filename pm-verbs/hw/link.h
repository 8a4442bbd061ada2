/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - the state of an open link. Each field has one file that writes it, named before the
 * fields; others read them. The files of hw/ know ports, queue pairs, completions and memory. They
 * know no peer: it is a pointer to them, and what has to be told goes up by callbacks. So do conn/
 * and data/ with what lies above them:
 *
 *   hw/ <-- conn/ <-- data/ <-- device.c, progress.c, state.c
 *
 * An arrow leads from who calls to who is called.
 */
#ifndef PM_VERBS_HW_LINK_H
#define PM_VERBS_HW_LINK_H

#include "pm-verbs/hw/address.h"
#include "pm-verbs/hw/library.h"
#include "pm-verbs/hw/pinned.h"
#include "pm-verbs/verbs.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/nodemap.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

#define PMV_RESERVE 8        /* credits that only control messages use */
#define PMV_PIECES 16        /* parts of one-sided operations posted to a queue pair at once */
#define PMV_CHUNK_SLOTS 64   /* buffers that are registered together */
#define PMV_GREETINGS_IN 64  /* receives of greetings posted per rail */
#define PMV_GREETINGS_OUT 32 /* greetings on their way out per rail */

struct pmv_link;
struct pmv_control; /* conn/wire.h */
struct pmv_op;      /* data/rma.c */
struct pmv_export;  /* data/export.c */

enum pmv_work_kind {
	PMV_WORK_SEND,         /* struct pmv_slot */
	PMV_WORK_RECEIVE,      /* struct pmv_slot */
	PMV_WORK_SHARED,       /* struct pmv_slot */
	PMV_WORK_PIECE,        /* struct pmv_piece */
	PMV_WORK_PROBE,        /* struct pmv_qp */
	PMV_WORK_GREETING_OUT, /* struct pmv_datagram */
	PMV_WORK_GREETING_IN,
};

/* The work that a completion is about: the first member of the struct that its wr_id points to. */
struct pmv_work {
	enum pmv_work_kind kind;
	struct pmv_qp *qp; /* it was posted to; NULL for greetings and shared receives */
};

/* Buffers registered together, for all rails. */
struct pmv_chunk {
	struct pmv_chunk *next;
	void *memory;
	struct ibv_mr *mr[PM_RAILS_MAX];
	struct pmv_slot *slots;
	bool is_plain; /* not registered: for messages that wait to be read */
};

/* A buffer for one message: free, lent, queued, posted or arrived. */
struct pmv_slot {
	struct pmv_work work; /* first */
	struct pmv_slot *next;
	struct pm_link_peer *peer; /* it goes to or came from */
	struct pmv_chunk *chunk;
	struct pmv_rail *rail; /* whose shared receives it belongs to, NULL = none */
	uint64_t number;       /* of its posting there */
	uint8_t *data;         /* header and message */
	uint32_t len;          /* bytes of both */
	uint8_t kind;          /* enum pmv_kind */
};

struct pmv_list {
	struct pmv_slot *head, **tail;
	uint32_t n;
};

/* A buffer for one greeting. */
struct pmv_datagram {
	struct pmv_work work;      /* first */
	struct pmv_datagram *next; /* free list of those that go out */
	struct pmv_rail *rail;
	/* PMV_DATAGRAM bytes; what comes in stands behind 40 bytes of routing header */
	uint8_t *data;
};
#define PMV_GRH 40
#define PMV_DATAGRAM 128

/* An RC queue pair. It outlives its connection until all that was posted has come back. */
struct pmv_qp {
	struct pmv_work
		probe; /* first: the zero-length write that asks whether the other end lives */
	struct pmv_qp *next, *next_ending;
	struct ibv_qp *qp;
	struct pmv_rail *rail;
	struct pm_link_peer *peer; /* NULL: given up */
	uint32_t n_sends;          /* posted, of all kinds */
	uint32_t n_receives;
	uint32_t n_pieces;    /* of n_sends */
	uint64_t n_bytes;     /* of those pieces */
	uint32_t completions; /* reserved in the rail's queue */
	uint8_t lane;         /* 0 = the connection's own, else 1 + its pair of rails */
	bool is_connected;    /* may receive */
	bool is_failed;       /* in error: waits for what was posted */
	bool is_stuck;        /* it could not be put into error */
	bool is_probing;
	bool is_shared; /* receives by the rail's shared ones; and for its end: */
	bool is_last;   /* the device said that it takes no more of them */
	bool is_quiet;  /* so it is: what is in the completion queue by now is all */
	/* the time when that is not waited for any longer, 0 = it is not ending */
	uint64_t silent_ns;
	/* since its port failed: stall.c */
	uint32_t n_watched; /* sends posted before that have not come back */
	uint32_t n_seen;    /* ... at the latest look */
	uint64_t stall_ns;  /* the time of the next one, 0 = it is not watched */
};

/* Receives that the connections of a rail share. */
struct pmv_shared {
	struct ibv_srq *srq; /* NULL = there are none */
	struct nodemap qps;  /* struct pmv_qp by the device's number */
	uint32_t n_qps;
	uint32_t most;     /* receives that there may be, 0 = each connection has its own */
	uint32_t room;     /* ... those that got lost included */
	uint32_t want;     /* ... that the connections need now */
	uint32_t posted;   /* ... that have not come back */
	uint32_t missing;  /* of them, those that got lost with a queue pair */
	uint32_t reserved; /* completions of the rail's queue */
	uint64_t next;     /* number of the next posting */
	uint64_t last;     /* ... of the latest that came back */
	uint64_t counted;  /* those with smaller numbers are counted as missing */
	struct ibv_recv_wr request; /* what is posted again and again, with another buffer */
	struct ibv_sge piece;
	bool is_failed; /* from now on each connection has its own */
	bool is_worn;   /* too many are missing: to be made anew */
	bool is_silent; /* the device does not say when a queue pair takes no more */
};

/* The way to one end of a peer, for greetings. */
struct pmv_path {
	struct pmv_path *next; /* of those that are not asked for any more */
	struct ibv_ah *ah;
};

enum pmv_greeter_state {
	PMV_GREETER_RUNS,
	PMV_GREETER_STOPS,  /* in error: waits for its datagrams, then starts again */
	PMV_GREETER_BROKEN, /* does not start again */
};

/* A port in use, and all that is open on it. */
struct pmv_rail {
	uint8_t index;
	struct pmv_port port;
	int gid;             /* entry of port.gids */
	uint32_t max_inline; /* bytes that a send may carry along; UINT32_MAX = not tried yet */
	uint32_t max_reads;  /* RDMA reads that may be under way */
	uint32_t max_qp, max_cqe; /* of the device */
	const struct verbs *v;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct pinned *pinned; /* memory of the program; NULL while the link is opened */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	uint32_t cq_used; /* completions that may come at once */
	uint32_t backlog; /* of them, that may have come before somebody left */
	bool is_emptied;  /* by the latest look into it */
	struct pmv_shared shared;
	struct ibv_qp *greeter;
	uint8_t *greetings; /* memory of the datagrams */
	struct ibv_mr *greetings_mr;
	struct pmv_datagram *datagrams;
	struct pmv_datagram *free_datagrams; /* to go out */
	uint32_t n_in, n_out;                /* greetings that may come in, that go out */
	struct pmv_path *old_paths;          /* of peers that are no more: kept while n_out */
	enum pmv_greeter_state greeter_state;
	uint32_t greeter_starts; /* times that it started again */
	char greeter_why[128];   /* why it is broken */
	bool is_down;            /* its port says so */
	uint64_t failed_ns;      /* when it failed or came back last, 0 = never */
	uint64_t silent_ns;      /* when somebody's acknowledgements were missed last, 0 = never */
	uint8_t silent_gid[16];  /* ... of this host */
};

/* Queue pairs and ports tell this to the connections above them. */
struct pmv_hw_callbacks {
	/* Nothing of @qp can come any more: its owner destroys it. */
	void (*qp_ended)(struct pmv_link *link, struct pmv_qp *qp);
	/* @qp, which has a peer, can't be used any more, and @why; it is to be put into error. */
	void (*qp_lost)(struct pmv_link *link, struct pmv_qp *qp, const char *why);
	/* The port of @rail has failed or come back. */
	void (*port_changed)(struct pmv_link *link, struct pmv_rail *rail);
	/* A datagram for the wire-up has come; it is good during the call. */
	void (*greeted)(struct pmv_link *link, const uint8_t *bytes, size_t len);
};

/* Connections and peers tell this to the messages and the operations that go over them. */
struct pmv_conn_callbacks {
	/*
	 * The other side has received @received messages of ours and takes @credits more: the
	 * others are sent again.
	 */
	void (*settle)(struct pmv_link *link, struct pm_link_peer *peer, uint64_t received,
		       uint32_t credits);
	/* The connection is there: what waits may go. */
	void (*ready)(struct pmv_link *link, struct pm_link_peer *peer);
	/* A lane takes parts of operations from now on. */
	void (*lane_ready)(struct pmv_link *link, struct pm_link_peer *peer);
	/* The connection is closing: its CLOSE is to be sent. */
	void (*closing)(struct pmv_link *link, struct pm_link_peer *peer);
	/* The connection is over and nothing of it is under way: its credits and keys are void. */
	void (*drained)(struct pmv_link *link, struct pm_link_peer *peer);
	/* A new record of the peer counts from nothing: what was sent to the old one is lost. */
	void (*renewed)(struct pmv_link *link, struct pm_link_peer *peer);
	/* Nothing is sent to the peer or awaited of it any more. */
	void (*given_up)(struct pmv_link *link, struct pm_link_peer *peer);
	/* The peer is deleted: what it sent is not handed out any more. */
	void (*deleted)(struct pmv_link *link, struct pm_link_peer *peer);
	/*
	 * Sends a control message as soon as there is a credit. False: no memory, the peer is lost.
	 */
	bool (*send_control)(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
			     const struct pmv_control *control);
};

struct pmv_link {
	struct pm_link base;
	/* device.c, when it is opened */
	const struct pmv_hw_callbacks *from_hw;
	const struct pmv_conn_callbacks *from_conn;
	const struct verbs *v;
	struct pm_device_env env;
	struct stats_link *stats;
	struct pmv_rail rails[PM_RAILS_MAX]; /* their fields: see there */
	uint32_t n_rails;
	struct pmv_address address; /* what we tell others */
	uint32_t buffer_bytes;
	uint32_t n_credits; /* receives per connection, the reserve included */

	/* hw/pool.c */
	struct pmv_chunk *chunks;
	struct pmv_slot *free, *free_plain;
	uint32_t n_slots, n_free, n_plain;
	uint32_t poor; /* times that no more memory is asked for to receive into */
	/* hw/qp.c */
	struct pmv_qp *qps;
	uint32_t n_qps;
	/* hw/shared.c */
	struct pmv_qp *ending; /* all that was sent has come back, and messages may still come */
	bool is_ending;        /* some are, or shared receives are given up */
	bool has_fallen;       /* a queue pair failed, by the device's word */
	/* hw/watch.c */
	uint32_t n_stalling; /* queue pairs that are watched */
	/* hw/local.c */
	uint64_t local_share; /* bytes that a rail may have registered for operations */
	char local_why[160];  /* why nothing is kept, "" = it is */
	/* hw/link.c */
	uint64_t rng;
	uint32_t n_refusals; /* calls that devices must not refuse, and did */
	char refusal[160];   /* the last one */

	/* conn/peer.c */
	struct nodemap nodes; /* struct pm_link_peer that are not deleted */
	struct pm_link_peer *peers;
	uint64_t last_life; /* of the newest record */
	/* conn/life.c; conn/silence.c counts doubts in n_dying */
	uint32_t n_dying;   /* dead, lost and silent peers to be reported */
	uint32_t n_leaving; /* peers that said goodbye, or came back, and have not left yet */
	/* conn/connection.c; conn/closing.c counts those that begin to close */
	uint32_t n_greeting; /* peers in GREETING */
	uint32_t n_closing;  /* peers in CLOSING */
	/*
	 * conn/places.c; hw/qp.c sets is_crowded when a place becomes free, and conn/evict.c clears
	 * it
	 */
	uint32_t n_most;              /* queue pairs at most */
	struct pm_link_peer *waiting; /* for a place, first come first */
	struct pm_link_peer **waiting_tail;
	uint32_t n_waiting;
	uint32_t n_calling; /* peers with is_calling */
	bool is_crowded;    /* there is something to do about places */

	/* data/rx.c; state.c adds what it restores */
	struct pmv_list arrived; /* messages for the user */
	/* data/rma.c */
	struct pmv_op *ops; /* PMV_OPS, NULL until the first */
	uint32_t n_ops;     /* open */
	uint32_t next_op;
	uint32_t n_holding; /* operations that have memory registered */
	bool is_short;      /* one waits for memory that others have registered */
	bool is_given_back; /* ... and some of it has been given back */
	/* data/export.c */
	struct pmv_export *exports;

	/* progress.c */
	uint64_t turn; /* rounds of polling, the age of connections; from 1 */
	uint32_t idle; /* polls, for what need not be done in each */
	struct job_clock clock;
	uint64_t asleep_ns; /* time that the next reading of the clock may find gone */
	bool is_armed;
	/* state.c */
	bool is_stopped; /* quiesced */
};

static inline struct pmv_link *pmv_of(struct pm_link *link)
{
	return (struct pmv_link *)link;
}

static inline uint64_t pmv_now(struct pmv_link *link)
{
	uint64_t now = job_clock_read(&link->clock, link->asleep_ns);

	link->asleep_ns = 0;
	return now;
}

uint64_t pmv_random(struct pmv_link *link);
/*
 * A device, or its library, refused a call that it must not refuse: told in the dump. @err: an
 * errno, of either sign.
 */
void pmv_note_refusal(struct pmv_link *link, const char *what, int err);

#endif
