/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers - the hosts that answered us, by rail, and when each is to be asked again. Pure
 * bookkeeping: time is an argument, nothing is sent here, and the board that processes read is
 * somebody else's.
 */
#ifndef PM_ETHERNET_DAEMON_PEERS_H
#define PM_ETHERNET_DAEMON_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm-ethernet/board.h"
#include "pm-ethernet/query.h"

#define ETHD_ANSWER_NS 500000000ull /* an answer that takes longer is none */
#define ETHD_REASK_NS 1000000000ull /* first wait after a missing answer; doubles each time */
#define ETHD_REASK_MAX_NS 64000000000ull
#define ETHD_UNANSWERED_MAX 3 /* queries without an answer: not alive */

/* A host as heard on one of our rails; mac all zero: never heard there. */
struct ethd_ear {
	uint8_t mac[ETH_MAC];
	uint8_t rail; /* its own number of that rail */
	bool is_alive;
	bool is_fault_told; /* that it is heard here is wrong; once is enough */
	bool is_asked;      /* due_ns is when the answer is late; else when to ask again */
	uint32_t unanswered;
	uint32_t mtu;
	uint32_t rtt_ns;
	uint64_t heard_ns; /* monotonic, of the last answer */
	uint64_t due_ns;   /* UINT64_MAX: nothing due */
	char rail_name[ETH_QUERY_RAIL_NAME];
	uint8_t rival[ETH_MAC]; /* another machine that claims the same id; all zero: none */
};

struct ethd_peer {
	uint32_t id;
	uint64_t nonce; /* of its daemon's start */
	char host_name[ETH_QUERY_HOST_NAME];
	struct ethd_ear ears[ETH_RAILS]; /* by our rail */
};

/* Zeroed = empty. At most 3/4 of the places are used, as on the board. */
struct ethd_peers {
	uint32_t n_peers;
	uint64_t no_room; /* answers that found the table full */
	uint64_t due_ns;  /* nothing is due earlier; 0 = unknown */
	struct ethd_peer *places[ETH_HOSTS];
};

enum ethd_peers_event {
	ETHD_PEERS_ASK,  /* ask this host on this rail now; it is taken as done */
	ETHD_PEERS_LOST, /* it did not answer often enough: no longer alive */
};

typedef void ethd_peers_tell(void *arg, struct ethd_peer *peer, uint32_t rail,
			     enum ethd_peers_event event);

bool ethd_ear_is_used(const struct ethd_ear *ear);

struct ethd_peer *ethd_peers_find(const struct ethd_peers *peers, uint32_t id);

/*
 * @answer came on our @rail. 1: noted, *ret is the host. 0: another interface of that id is alive
 * on this rail and stays; *ret is the host. -ENOSPC: the table is full (counted). -ENOMEM.
 */
int ethd_peers_heard(struct ethd_peers *peers, uint32_t rail, const struct eth_query *answer,
		     uint64_t now_ns, struct ethd_peer **ret);

/* All known hosts of @rail were asked at once. */
void ethd_peers_asked(struct ethd_peers *peers, uint32_t rail, uint64_t now_ns);

/*
 * @rail has no carrier: tells of each host that was alive there; nobody is asked until the next
 * answer.
 */
void ethd_peers_cut(struct ethd_peers *peers, uint32_t rail, ethd_peers_tell *tell, void *arg);

/*
 * Tells what is due; returns when to call again, UINT64_MAX = not before the next query or answer.
 */
uint64_t ethd_peers_timer(struct ethd_peers *peers, uint64_t now_ns, ethd_peers_tell *tell,
			  void *arg);

void ethd_peers_clear(struct ethd_peers *peers);

#endif
