/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim - a job on the simulated network: one channel engine per node, an application on each that sends
 * numbered messages and one-sided operations, and the model they are checked against. After each step:
 * the engine's own invariants, no message doubled, lost, damaged or out of order per peer; at the
 * end every buffer is back. A run follows from its seed; time is virtual.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "pmcore/channel/channel.h"
#include "tests/harness/simnet.h"
#include "tests/harness/tap.h"

#define US 1000ull
#define MS 1000000ull
#define SEC 1000000000ull
#define GBIT 125000000ull /* bytes per second */
#define SIM_KEY 0xfeedface12345678ull

/* Zero-filled by sim_defaults but for the common choices; change, then sim_create. */
struct sim_config {
	struct simnet_config net;
	struct chan_config chan; /* of every node; self, n_rails, regions and stats are set by sim */
	void (*transit)(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate);
	void *transit_arg;
	/* May change the engine's settings of one node; NULL = all are alike. */
	void (*tune)(uint32_t node, struct chan_config *config);
	bool dead_is_fine; /* a peer declared dead does not fail the test */
};

/* Messages from one node to another. */
struct sim_flow {
	uint32_t src, dst;
	uint32_t total, sent, received; /* messages */
	uint32_t *lens;                 /* bytes of each */
	uint64_t bytes;                 /* received */
	uint64_t first_ns, last_ns;     /* arrival of the first and the last message */
	bool is_cut;                    /* one end is dead: nothing more is expected */
};

/* Exported memory, filled with a pattern. */
struct sim_region {
	uint32_t node;
	uint8_t *mem;
	uint64_t len; /* bytes */
	uint64_t rkey;
};

/* A one-sided operation. */
struct sim_op {
	uint32_t node, peer; /* initiator, owner of the region */
	bool is_write;
	uint64_t rkey, offset, len;
	uint8_t *local;   /* with a canary on both sides */
	uint8_t *remote;  /* where it reads or writes; NULL: content is not compared */
	uint32_t op;      /* the engine's number, 0 = not started yet */
	int status;       /* -EAGAIN until done */
	int expected;     /* status it has to end with; 1 = any */
	uint64_t done_ns; /* when */
};

struct sim_node {
	struct chan *chan; /* NULL: killed */
	struct region_table *regions;
	struct stats_link stats;
	struct stats_rail rails[SIMNET_RAILS];
	uint64_t deadline;   /* of the engine, in its job time */
	uint64_t stopped_ns; /* how long its clock has stood still */
	uint64_t pause_ns;   /* when it was paused, 0 = it runs */
	uint64_t *held;      /* cookies of messages not released */
	uint32_t n_held;
	uint32_t hold;       /* messages the application keeps before it releases one at random */
	bool is_stalled;     /* the application takes no messages */
	bool is_dirty;       /* has to be served in this step */
	uint32_t dead_count; /* peers it declared dead */
	uint32_t last_dead;  /* the last of them */
	int last_error;      /* and why */
};

struct sim {
	struct sim_config config;
	struct simnet *net;
	struct sim_node *nodes;
	struct sim_flow **flows; /* by src * nodes + dst, NULL = none */
	struct sim_op **ops;
	uint32_t n_ops;
	struct sim_region **regions;
	uint32_t n_regions;
	uint64_t random;   /* generator state of the application */
	uint64_t steps;    /* events served */
	uint32_t check_at; /* chan_check every that many steps; 1 = each */
	bool is_broken;    /* a check failed: stop early */
	bool is_careless;  /* contents and order of what arrives are not looked at */
};

/* Two or more nodes on rails of 1 Gbit/s, 20 us away, window 64; seed from tap_seed() and @salt. */
struct sim_config sim_defaults(uint32_t nodes, uint32_t rails, uint64_t salt);
struct sim *sim_create(const struct sim_config *config);
/* Checks that all buffers are back and the counters agree. */
void sim_destroy(struct sim *sim);

/* Adds @count messages of @min..@max bytes from @src to @dst. */
struct sim_flow *sim_send(struct sim *sim, uint32_t src, uint32_t dst, uint32_t count, uint32_t min,
			  uint32_t max);
/* Exports memory of a node. */
struct sim_region *sim_export(struct sim *sim, uint32_t node, uint64_t len);
/* Withdraws it as pmMUnlock does; the memory is overwritten at once. */
void sim_withdraw(struct sim *sim, struct sim_region *region);
struct sim_op *sim_read(struct sim *sim, uint32_t node, const struct sim_region *region,
			uint64_t offset, uint64_t len);
struct sim_op *sim_write(struct sim *sim, uint32_t node, const struct sim_region *region,
			 uint64_t offset, uint64_t len);

struct chan_peer *sim_peer(struct sim *sim, uint32_t node, uint32_t dst);
uint64_t sim_now(const struct sim *sim);
/* Runs until virtual time @until, or less when nothing is left to happen. */
void sim_run(struct sim *sim, uint64_t until);
/* Runs until all flows and operations are done and acked; fails the test after @limit_ns. Gives the
 * virtual time it took. */
uint64_t sim_finish(struct sim *sim, uint64_t limit_ns);
/* Runs until no packet and no timer is left; fails the test after @limit_ns. */
void sim_settle(struct sim *sim, uint64_t limit_ns);
bool sim_is_done(const struct sim *sim);

/* The node's process stands still, and its clock with it. */
void sim_pause(struct sim *sim, uint32_t node);
void sim_unpause(struct sim *sim, uint32_t node);
/* The node's process is gone. */
void sim_kill(struct sim *sim, uint32_t node);
/* Carrier of a cable changes and the node's device tells. */
void sim_carrier(struct sim *sim, uint32_t node, uint32_t rail, bool is_up);
/* Saves the quiet engine of a node and goes on with a new one. 0 or -errno of chan_freeze/thaw. */
int sim_replace(struct sim *sim, uint32_t node);
/* Gives the node a new engine from a saved state; the old one stays the caller's. If the state is refused
 * the node keeps the old one. */
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
