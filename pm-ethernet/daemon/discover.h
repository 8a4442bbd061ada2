/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * discover - asks on each rail who is there, answers who asks, notes the answers on the board, and
 * finds another machine with our host id. An answer counts only when it brings back the stamp of a
 * query we sent, so that nobody gets on the board, or takes our id, by shouting. Its functions are
 * in ethd.h; this is its state, for the report.
 */
#ifndef PM_ETHERNET_DAEMON_DISCOVER_H
#define PM_ETHERNET_DAEMON_DISCOVER_H

#include "pm-ethernet/daemon/ethd.h"
#include "pm-ethernet/daemon/peers.h"

#define ETHD_ASK_FAST_NS 2000000000ull   /* between queries to all of a rail that came up */
#define ETHD_ASK_FAST_COUNT 5            /* so many times */
#define ETHD_ASK_SLOW_NS 30000000000ull  /* from then on, */
#define ETHD_ASK_JITTER_NS 2000000000ull /* and up to this later, by host id */
#define ETHD_ASK_BACK_NS 100000000ull   /* between questions to strangers that asked us, per rail */
#define ETHD_RIVAL_ASK_NS 5000000000ull /* between questions to a machine with our id */
#define ETHD_RIVAL_FORGET_NS 16000000000ull /* it has not answered for so long: gone */
#define ETHD_STAMPS 16                      /* queries of a rail whose answers still count */

/* One rail's ear and mouth. */
struct ethd_probe {
	int fd;           /* AF_PACKET, -1 = none */
	uint32_t ifindex; /* it is bound to */
	bool is_up;       /* as we last saw the rail */
	uint32_t mtu;     /* the same */
	uint32_t n_fast;  /* fast queries still to come */
	uint64_t ask_ns;  /* next query to all */
	uint64_t back_ns; /* no question to a stranger before */
	uint64_t stamps[ETHD_STAMPS];
	uint32_t next_stamp;
	uint64_t asked, answered;    /* frames sent */
	uint64_t queries, answers;   /* frames heard that made sense */
	uint64_t refused[ETH_DROPS]; /* control frames that made none, by reason */
	uint64_t stale;              /* answers to no question of ours, or too late */
	uint64_t send_failed;        /* the kernel did not take our frame */
};

/* The machine that has our id, while it answers. */
struct ethd_rival {
	uint64_t heard_ns; /* 0: none */
	uint64_t ask_ns;   /* next question */
	uint32_t rail;     /* where we hear it */
	uint8_t mac[ETH_MAC];
};

struct ethd_discover {
	uint64_t nonce; /* of this daemon's start */
	char host_name[ETH_QUERY_HOST_NAME];
	struct ethd_probe probes[ETH_RAILS];
	struct ethd_rival rival;
	uint64_t not_on_board; /* hosts the board had no place for */
	struct ethd_peers peers;
};

#endif
