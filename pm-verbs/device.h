/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - the state of an open verbs link, shared by the files of this directory:
 *
 *   device.c  operations table, open and close      rail.c  what is opened of a port
 *   discover.c  which ports there are               pool.c  registered buffers
 *   peer.c  contact, death, parting                 connection.c  the life of a connection
 *   qp.c  queue pairs                               link.c  what all of these use
 *   wireup.c  greetings                             greeter.c  the queue pair they go by
 *   roster.c  the bound of connections              closing.c  their end in agreement
 *   tx.c  lending, sending, credits                 rx.c  messages that arrived
 *   completion.c  polling, sleeping                 rma.c  one-sided, asking side
 *   export.c  the same, owning side                 local.c  the program's memory, registered
 *   patience.c  how long they may be silent         leave.c  the way to a peer is lost
 *   shared.c  receives that a rail's connections share   stall.c  work that does not come back
 *   lanes.c  further queue pairs of a connection    grants.c  what others told of their regions
 *   state.c  quiesce, save, restore, dump           events.c  what devices say besides
 *
 * A connection is a pair of RC queue pairs, and more of them (lanes) for large operations. It may end at any time - an
 * error, a stale key, a broken rail - and the next one goes on where it stopped: both sides count the messages that
 * arrived, and greet with that number.
 */
#ifndef PM_VERBS_DEVICE_H
#define PM_VERBS_DEVICE_H

#include "pm-verbs/address.h"
#include "pm-verbs/library.h"
#include "pm-verbs/pinned.h"
#include "pm-verbs/registration.h"
#include "pm-verbs/verbs.h"
#include "pm-verbs/wire.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/nodemap.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

#define PMV_RESERVE 8 /* credits that only control messages use */
#define PMV_RESERVE_CREDIT                                                                         \
	3 /* ... and of them those that only return credits, so that these never wait */
#define PMV_RESERVE_CLOSE 1 /* ... and of them that for the end */
#define PMV_PIECES 16       /* parts of one-sided operations posted to a queue pair at once */
#define PMV_PIECE_BYTES (1u << 20)
#define PMV_OPS 256          /* one-sided operations open at once */
#define PMV_CHUNK_SLOTS 64   /* buffers that are registered together */
#define PMV_GREETINGS_IN 64  /* receives of greetings posted per rail */
#define PMV_GREETINGS_OUT 32 /* greetings on their way out per rail */
#define PMV_QKEY 0x504d5631u /* of the queue pairs for greetings */
#define PMV_GREET_MIN_NS                                                                           \
	10000000ull /* first pause between two greetings: 10 ms, doubled each time */
#define PMV_GREET_MAX_NS 200000000ull /* ... up to 200 ms */
#define PMV_SLICE_NS                                                                               \
	10000000ull /* a connection in use is kept for 10 ms when others want its place */
#define PMV_AGREE_NS 100000000ull   /* the other side's CLOSE is waited for 100 ms */
#define PMV_SILENT_NS 1000000000ull /* ... and a sign that it knows of our queue pair for 1 s */
#define PMV_IDLE_CHORES 64          /* polls between looks at the timers */
#define PMV_FAILURES_MAX 16         /* connections lost in a row with nothing done between */

struct pmv_link;
struct pmv_op; /* rma.c */
struct pmv_piece;
struct pmv_export; /* export.c */
struct pmv_lanes;  /* lanes.c */

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
	uint8_t *data; /* PMV_DATAGRAM bytes; what comes in stands behind 40 bytes of routing header */
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
	bool is_shared;     /* receives by the rail's shared ones; and for its end: */
	bool is_last;       /* the device said that it takes no more of them */
	bool is_quiet;      /* so it is: what is in the completion queue by now is all */
	uint64_t silent_ns; /* the time when that is not waited for any longer, 0 = it is not ending */
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

enum pmv_stage {
	PMV_IDLE,     /* no queue pair */
	PMV_DRAINING, /* the old one has failed, and has not given all back */
	PMV_GREETING, /* ours is made, the other side has not said that it is connected to it */
	PMV_READY,
	PMV_CLOSING, /* one side wants to end it: closing.c */
};

enum pmv_peer_state {
	PMV_PEER_ALIVE,
	PMV_PEER_LEFT,
	PMV_PEER_DEAD,
	PMV_PEER_LOST /* another device takes it over */
};

/* One region of a peer, as the peer described it. */
struct pmv_grant {
	struct pmv_grant *next;
	struct pmv_control region;
	uint32_t keys[PM_RAILS_MAX]; /* verbs keys for lanes, by pair of rails */
	uint32_t asked;              /* bit per pair: for its key; by the latest connection */
	uint32_t known;              /* ... it has come */
	uint32_t refused;            /* ... or it will not */
};

struct pm_link_peer {
	struct pm_link_peer *next; /* all of the link */
	uint32_t node;
	enum pmv_peer_state state;
	bool is_leaving;    /* it said goodbye, and what it sent before may not be taken yet */
	uint64_t next_life; /* the same of a newer record of theirs that took its place; 0 = none */
	bool is_deleted;    /* kept for the buffers that are still lent */
	bool is_reported;   /* receive() told of its death or loss */
	bool is_doubted;    /* receive() shall tell that it is silent */
	bool is_vouched;    /* its process has answered by another device once */
	uint32_t n_doubts;  /* times that this silence was told */
	struct pmv_address address;
	struct pmv_pair pairs[PM_RAILS_MAX];
	uint32_t n_pairs;
	struct pmv_path *paths[PM_RAILS_MAX]; /* of each pair, NULL until used */
	/* connection */
	enum pmv_stage stage;
	struct pmv_qp *qp;
	uint32_t epoch;            /* number of the connection, 0 = none yet */
	uint64_t life, their_life; /* see struct pmv_greeting; theirs 0 = not heard */
	uint32_t psn;
	struct pmv_lanes *lanes; /* NULL until a large operation wants some */
	uint32_t offered;        /* receives posted when the queue pair was made */
	uint32_t greeted;        /* greetings sent of this epoch */
	uint64_t next_greeting_ns, pause_ns;
	uint64_t patience_ns; /* the time when it is given up, UINT64_MAX = never */
	uint64_t doubt_ns;    /* ... when receive() tells that it is silent, the same */
	uint64_t lost_ns;     /* how long the next connection may take, UINT64_MAX = peer_timeout */
	uint32_t failures;    /* connections lost since something was acknowledged or arrived */
	/* its place in the bound of connections: roster.c */
	struct pm_link_peer *next_waiting;
	bool is_waiting;      /* for a place */
	bool is_called;       /* the peer has greeted for the next connection */
	bool is_calling;      /* we have, and nothing was heard */
	bool is_close_posted; /* our CLOSE */
	bool is_closed;       /* the peer's CLOSE came: it sends nothing more */
	bool is_parted;       /* the last connection ended in agreement */
	uint64_t call_ns;     /* how long our call waits for an answer when others want its place */
	uint64_t since_ns;    /* waiting, READY, CLOSING: since when */
	uint64_t used;        /* pmv_link.turn when something last went or came, 0 = not yet */
	uint32_t n_told;      /* regions of ours whose keys it has */
	/* what goes out */
	struct pmv_list control; /* waits for a credit */
	struct pmv_list queue;   /* messages of the user that wait for a credit or a connection */
	struct pmv_list posted;  /* in the order of their numbers */
	uint64_t first;          /* number of the first in posted */
	uint32_t n_lent;         /* send buffers of the user */
	uint32_t credits;        /* receives that the peer has for us */
	/* what comes in */
	uint64_t received;        /* messages of all kinds over all connections */
	uint32_t n_held;          /* arrived or lent to the user */
	uint32_t owed;            /* receives posted again that it was not told of */
	uint32_t owed_control;    /* of them, used by control messages */
	struct pmv_grant *grants; /* newest first */
	uint32_t n_grants;
	struct pmv_op *ops; /* its one-sided operations that are not over */
	char why[192];      /* how it died or left; before: what went wrong last */
};

/* What queue pairs and ports tell the connections above them. */
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

/* What connections and peers tell the messages and the operations that go over them. */
struct pmv_conn_callbacks {
	/* The other side has received @received messages of ours and takes @credits more: the others are sent again. */
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
	/* Sends a control message as soon as there is a credit. False: no memory, the peer is lost. */
	bool (*send_control)(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
			     const struct pmv_control *control);
};

struct pmv_link {
	struct pm_link base;
	const struct pmv_hw_callbacks *from_hw;
	const struct pmv_conn_callbacks *from_conn;
	const struct verbs *v;
	struct pm_device_env env;
	struct stats_link *stats;
	struct pmv_rail rails[PM_RAILS_MAX];
	uint32_t n_rails;
	struct pmv_address address; /* what we tell others */
	uint32_t buffer_bytes;
	uint32_t n_credits; /* receives per connection, the reserve included */
	struct pmv_chunk *chunks;
	struct pmv_slot *free, *free_plain;
	uint32_t n_slots, n_free, n_plain;
	uint32_t poor;        /* times that no more memory is asked for to receive into */
	struct nodemap nodes; /* struct pm_link_peer that are not deleted */
	struct pm_link_peer *peers;
	struct pmv_qp *qps;
	uint32_t n_qps;
	uint32_t n_most;              /* ... up to this */
	struct pm_link_peer *waiting; /* for a place, first come first */
	struct pm_link_peer **waiting_tail;
	uint32_t n_waiting;
	uint32_t n_calling;    /* peers with is_calling */
	uint32_t n_closing;    /* peers in CLOSING */
	uint32_t n_stalling;   /* queue pairs that are watched */
	bool is_crowded;       /* the roster has something to do */
	uint64_t turn;         /* rounds of polling, the age of connections */
	uint64_t last_life;    /* of the newest record */
	struct pmv_qp *ending; /* all that was sent has come back, and messages may still come */
	bool is_ending;        /* some are, or shared receives are given up */
	bool has_fallen;       /* a queue pair failed, by the device's word */
	uint64_t rng;
	struct pmv_list arrived; /* messages for the user */
	uint32_t n_dying;        /* dead, lost and silent peers to be reported */
	uint32_t n_greeting;     /* peers in GREETING */
	uint32_t n_leaving;      /* peers that said goodbye, or came back, and have not left yet */
	struct pmv_op *ops;      /* PMV_OPS, NULL until the first */
	uint32_t n_ops;          /* open */
	uint32_t next_op;
	uint32_t n_holding;   /* operations that have memory registered */
	bool is_short;        /* one waits for memory that others have registered */
	bool is_given_back;   /* ... and some of it has been given back */
	uint64_t local_share; /* bytes that a rail may have registered for operations */
	char local_why[160];  /* why nothing is kept, "" = it is */
	struct pmv_export *exports;
	struct job_clock clock;
	uint64_t asleep_ns;  /* time that the next reading of the clock may find gone */
	uint32_t idle;       /* polls, for what need not be done in each */
	uint32_t n_refusals; /* calls that devices must not refuse, and did */
	char refusal[160];   /* the last one */
	bool is_stopped;     /* quiesced */
	bool is_armed;
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

#endif
