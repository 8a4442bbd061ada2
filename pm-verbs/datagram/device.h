/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - the state of an open packet device on UD queue pairs, shared by the files of this
 * directory:
 *
 *   device.c  operations table, open and close, suspend and resume, dump
 *   rail.c    what is opened of a port, and that it is started again after an error
 *   peer.c    where nodes are reached             address.c  what others are told about that
 *   tx.c      packets out                         rx.c       packets in
 *   sleep.c   completion channels, what the devices say
 *   trouble.c rails that fail, calls that devices refuse
 *   liveness.c    whether a peer's process is still there
 *
 * Each port is a rail with one queue pair, which serves all peers: memory and queue pairs do not
 * grow with the job. Packets may get lost, as on any packet device; a queue pair that fails is
 * reset, and keeps its number.
 */
#ifndef PM_VERBS_DATAGRAM_DEVICE_H
#define PM_VERBS_DATAGRAM_DEVICE_H

#include "pm-verbs/datagram/address.h"
#include "pm-verbs/hw/library.h"
#include "pm-verbs/verbs.h"
#include "pmcore/util/packetpool.h"

#define PMVD_GRH 40       /* bytes of routing header that stand before what comes in */
#define PMVD_HEAD 64      /* room for it, so that packets begin on a line of the cache */
#define PMVD_TX_DEPTH 256 /* packets on their way out per rail; power of two */
#define PMVD_RX_BURST 32  /* completions taken at once */

/* From one of our rails to a node. */
struct pmvd_way {
	struct pmv_end end; /* there */
	struct ibv_ah *ah;  /* NULL until used */
	uint64_t retry_ns;  /* it can't be made: not tried again before that, monotonic */
};

struct pmvd_peer {
	uint32_t node;
	uint32_t index;         /* in pmvd_dev.peers */
	uint32_t mtu;           /* largest packet, bytes */
	uint32_t rails;         /* bit r: local rail r leads there */
	uint32_t n_posted;      /* packets to it that the device has not sent yet */
	uint16_t liveness_port; /* UDP port there, 0 = none */
	bool has_answered;      /* it has answered a probe: who refuses later is gone */
	bool is_in_doubt;       /* packets were posted to it since the last probe */
	bool is_refused;        /* the last probe was */
	uint8_t refusals;       /* in a row, since it answered */
	uint64_t probe_ns;      /* when it may be probed again, monotonic */
	bool is_deleted;        /* kept for them: the address handles are in use */
	struct pmvd_way ways[]; /* one per local rail */
};

/* One packet on its way out. */
struct pmvd_item {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pm_packet *packet; /* NULL: nothing waits for it any more */
	struct pmvd_peer *peer;
};

/*
 * The sending side of a rail: items[head..posted) are the device's, items[posted..tail) wait for a
 * kick.
 */
struct pmvd_tx {
	struct ibv_mr *mr;           /* of all transmit buffers */
	uint32_t depth;              /* of the items in use, power of two */
	uint32_t head, posted, tail; /* free-running */
	uint32_t max_inline;         /* bytes that may be copied at the post */
	bool is_full;                /* it refused a packet since it last had room */
	struct pmvd_item items[PMVD_TX_DEPTH];
};

/* Where a receive buffer is. */
enum pmvd_place { PMVD_HERE, PMVD_POSTED, PMVD_LENT };

/* The receiving side. */
struct pmvd_rx {
	uint8_t *memory;
	size_t memory_bytes;
	struct ibv_mr *mr;
	uint32_t n;             /* buffers */
	uint8_t *place;         /* of each, enum pmvd_place */
	uint32_t *here, n_here; /* a stack of those that can be posted */
	uint32_t n_lent;
	struct ibv_wc
		arrived[PMVD_RX_BURST]; /* completions taken and not handed out: from next to n */
	uint32_t next_arrived, n_arrived;
};

struct pmvd_rail {
	uint8_t index;
	struct pmv_port port;
	int gid;                     /* entry of port.gids */
	struct ibv_context *context; /* NULL: closed */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	/* times the queue pair was started: completions of earlier ones are ignored */
	uint32_t run;
	bool is_failed;    /* the queue pair is in error and waits to be started again */
	bool is_broken;    /* ... and can't be: until it is opened anew */
	bool is_port_down; /* as the device says */
	/* an event of the queue was asked for and has not been taken */
	bool is_send_requested, is_recv_requested;
	uint64_t events_ns; /* when to look at asynchronous events again, monotonic */
	uint64_t lost;      /* packets the device did not take or give back as sent */
	uint64_t restarts;
	char trouble[128]; /* the last, "" = none */
	struct pmvd_tx tx;
	struct pmvd_rx rx;
};

struct pmvd_dev {
	struct pm_dev dev; /* first */
	const struct verbs *v;
	struct pm_device_env env;
	uint32_t q_key;   /* of all queue pairs of the job */
	uint32_t payload; /* largest packet of any rail at open: room of the buffers, bytes */
	uint32_t stride;  /* bytes from one receive buffer to the next */
	struct pmvd_rail rails[PM_RAILS_MAX];

	uint32_t tx_waiting; /* bit per rail with packets that wait for a kick */
	struct pm_packet *packets;
	uint8_t *packet_memory;
	size_t packet_memory_bytes;
	struct packetpool pool;

	uint8_t *slots; /* room for copies of what was received: n_slots times payload */
	uint32_t n_slots, *free_slots, n_free_slots;
	uint32_t next_rail; /* that is looked at first */
	uint64_t copies;

	struct pmvd_peer **peers;
	uint32_t n_peers, room_peers;
	uint64_t failed_ways; /* address handles that could not be made */

	int answer_fd, probe_fd; /* see liveness.h; -1 = none */
	uint16_t liveness_port;  /* our port */
	uint32_t next_probe;     /* in peers */
	uint64_t probes;

	uint32_t n_refusals; /* calls that devices must not refuse, and did */
	char refusal[160];   /* the last one */

	int epoll_fd; /* what poll_fds gives; watches channels and devices */
};

static inline struct pmvd_dev *pmvd_of(struct pm_dev *dev)
{
	return (struct pmvd_dev *)dev;
}

/*
 * A work request's name: the run it belongs to, and its place in the ring or the number of its
 * buffer.
 */
static inline uint64_t pmvd_work(const struct pmvd_rail *rail, uint32_t index)
{
	return (uint64_t)rail->run << 32 | index;
}

/* Whether a completion is of this run; one of an earlier run says nothing any more. */
static inline bool pmvd_is_current(const struct pmvd_rail *rail, const struct ibv_wc *wc)
{
	return wc->wr_id >> 32 == rail->run;
}

#endif
