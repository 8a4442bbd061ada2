/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim - a job on the simulated network: one channel engine per node, an application on each that
 * sends numbered messages and one-sided operations, and the model they are checked against. After
 * each step: the engine's own invariants, no message doubled, lost, damaged or out of order per
 * peer; at the end every buffer is back. A run follows from its seed; time is virtual.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "pmcore/channel/channel.h"
#include "tests/harness/simnet.h"
#include "tests/harness/tap.h"
#include "tests/sim/hxbnet.h"
#include "tests/sim/simdue.h"

#define US 1000ull
#define MS 1000000ull
#define SEC 1000000000ull
#define GBIT 125000000ull /* bytes per second */
#define SIM_KEY 0xfeedface12345678ull
#define SIM_BURST 32 /* packets that a node takes at once */

struct sim_flow;
struct sim_op;

/* Zero-filled by sim_defaults but for the common choices; change, then sim_create. */
struct sim_config {
	struct simnet_config net;
	struct hxbnet_config hxb; /* n_dims not 0: the network is this, made by sim_hxb */
	/* of every node; self, n_rails, regions and stats are set by sim */
	struct chan_config chan;
	void (*transit)(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate);
	void *transit_arg;
	/*
	 * All messages of a flow have come, or an operation is done: more may be ordered. May be
	 * NULL.
	 */
	void (*flow_done)(void *arg, struct sim_flow *flow);
	void (*op_done)(void *arg, struct sim_op *op);
	void *done_arg;
	/* May change the engine's settings of one node; NULL = all are alike. */
	void (*tune)(uint32_t node, struct chan_config *config);
	uint64_t react_ns; /* a node looks up to that much later, by chance, at what has arrived */
	bool dead_is_fine; /* a peer declared dead does not fail the test */
};

/* Messages from one node to another. */
struct sim_flow {
	uint32_t src, dst;
	uint32_t total, sent, received; /* messages */
	uint32_t *lens;                 /* bytes of each */
	uint64_t bytes;                 /* received */
	uint64_t first_ns, last_ns;     /* arrival of the first and the last message */
	void *tag;                      /* the test's */
	bool is_cut;                    /* one end is dead: nothing more is expected */
	bool is_out;                    /* on the sender's list */
	bool is_open;                   /* on the job's list */
};

/* Exported memory, filled with a pattern. */
struct sim_region {
	uint32_t node;
	bool is_borrowed; /* mem is the caller's */
	uint8_t *mem;
	uint64_t len; /* bytes */
	uint64_t rkey;
};

/* A one-sided operation. */
struct sim_op {
	uint32_t node, peer; /* initiator, owner of the region */
	bool is_write;
	uint64_t rkey, offset, len;
	uint8_t *local;   /* with a canary on both sides if it is ours */
	uint8_t *memory;  /* ours, NULL: the caller's */
	uint8_t *remote;  /* where it reads or writes; NULL: content is not compared */
	uint32_t op;      /* the engine's number, 0 = not started yet */
	int status;       /* -EAGAIN until done */
	int expected;     /* status it has to end with; 1 = any */
	uint64_t done_ns; /* when */
	void *tag;        /* the test's */
};

/* Messages that are released together. */
struct sim_held {
	uint64_t cookie;
	uint32_t n;
};

struct sim_node {
	struct chan *chan; /* NULL: killed */
	struct region_table *regions;
	struct stats_link stats;
	struct stats_rail rails[SIMNET_RAILS];
	uint64_t stopped_ns;   /* how long its clock has stood still */
	uint64_t pause_ns;     /* when it was paused, 0 = it runs */
	struct sim_held *held; /* not released */
	uint32_t n_held;
	uint32_t n_held_messages;
	uint32_t hold;         /* messages the application keeps before it releases one at random */
	bool is_stalled;       /* the application takes no messages */
	uint32_t dead_count;   /* peers it declared dead */
	uint32_t last_dead;    /* the last of them */
	int last_error;        /* and why */
	struct sim_flow **out; /* flows with messages to send, by receiver */
	uint32_t n_out, room_out;
	struct sim_op **open; /* operations not done, in order of their making */
	uint32_t n_open, room_open;
};

struct sim {
	struct sim_config config;
	struct simnet *net; /* one of these two */
	struct hxbnet *hxb;
	struct sim_node *nodes;
	struct sim_flow **flows; /* by src * nodes + dst, NULL = none */
	struct sim_flow **open;  /* flows not found complete yet */
	uint32_t n_open, room_open;
	struct sim_op **ops;
	uint32_t n_ops, room_ops;
	uint32_t first_op;    /* those before are done, or their node is dead */
	uint32_t first_acked; /* node found last to wait for acks */
	struct simdue due;
	struct sim_region **regions;
	uint32_t n_regions, room_regions;
	uint64_t random;   /* generator state of the application */
	uint64_t steps;    /* events served */
	uint32_t check_at; /* chan_check every that many steps; 1 = each */
	bool is_broken;    /* a check failed: stop early */
	bool is_careless;  /* contents and order of what arrives are not looked at */
};

/* Two or more nodes on rails of 1 Gbit/s, 20 us away, window 64; seed from tap_seed() and @salt. */
struct sim_config sim_defaults(uint32_t nodes, uint32_t rails, uint64_t salt);
/*
 * The same engines on a hypercrossbar, a node per host; seed, rates and buffers are those of @hxb.
 */
struct sim_config sim_hxb(const struct hxbnet_config *hxb);
struct sim *sim_create(const struct sim_config *config);
/* Checks that all buffers are back and the counters agree. */
void sim_destroy(struct sim *sim);

/* Adds @count messages of @min..@max bytes from @src to @dst. */
struct sim_flow *sim_send(struct sim *sim, uint32_t src, uint32_t dst, uint32_t count, uint32_t min,
			  uint32_t max);
/* Exports memory of a node. */
struct sim_region *sim_export(struct sim *sim, uint32_t node, uint64_t len);
/*
 * Exports memory of the caller, which may be shared by many nodes: its contents are not looked at.
 */
struct sim_region *sim_export_at(struct sim *sim, uint32_t node, uint8_t *mem, uint64_t len);
/* Withdraws it as pmMUnlock does; the memory is overwritten at once. */
void sim_withdraw(struct sim *sim, struct sim_region *region);
struct sim_op *sim_read(struct sim *sim, uint32_t node, const struct sim_region *region,
			uint64_t offset, uint64_t len);
struct sim_op *sim_write(struct sim *sim, uint32_t node, const struct sim_region *region,
			 uint64_t offset, uint64_t len);

/* Reads a whole region into memory of the caller, contents not looked at. */
struct sim_op *sim_fetch(struct sim *sim, uint32_t node, const struct sim_region *region,
			 uint8_t *local);

struct chan_peer *sim_peer(struct sim *sim, uint32_t node, uint32_t dst);
uint64_t sim_now(const struct sim *sim);
/* Runs until virtual time @until, or less when nothing is left to happen. */
void sim_run(struct sim *sim, uint64_t until);
/* Runs until all flows and operations are done and acked; fails the test after @limit_ns. Gives the
 * virtual time it took. */
uint64_t sim_finish(struct sim *sim, uint64_t limit_ns);
/* Runs until no packet and no timer is left; fails the test after @limit_ns. */
void sim_settle(struct sim *sim, uint64_t limit_ns);
bool sim_is_done(struct sim *sim);

/* The node's process stands still, and its clock with it. */
void sim_pause(struct sim *sim, uint32_t node);
void sim_unpause(struct sim *sim, uint32_t node);
/* The node's process is gone. */
void sim_kill(struct sim *sim, uint32_t node);
/* Carrier of a cable changes and the node's device tells. */
void sim_carrier(struct sim *sim, uint32_t node, uint32_t rail, bool is_up);
/* Saves the quiet engine of a node and goes on with a new one. 0 or -errno of chan_freeze/thaw. */
int sim_replace(struct sim *sim, uint32_t node);
/*
 * Gives the node a new engine from a saved state; the old one stays the caller's. If the state is
 * refused the node keeps the old one.
 */
int sim_replace_with(struct sim *sim, uint32_t node, const void *blob, size_t len);
/* Serves a node now: the test changed something there. */
void sim_touch(struct sim *sim, uint32_t node);

/* Sums over all nodes and rails. */
uint64_t sim_drops(const struct sim *sim, enum drop_reason reason);
uint64_t sim_retransmits(const struct sim *sim);
uint64_t sim_timeouts(const struct sim *sim);
/* Bytes per second of a flow between its first and its last message. */
double sim_goodput(const struct sim_flow *flow);

#endif
