/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stress - one node's state. Nothing here waits: what PM has no room for is owed and tried again,
 * so a node that does not answer never keeps the others from talking. The parts:
 *
 *   stress.c   the loop: arrivals, ends of operations, debts, new operations; the end; the watchdog
 *   send.c     datagrams and debts     arrive.c   what comes in     operate.c   reads and writes
 */
#ifndef SCSTEST_STRESS_H
#define SCSTEST_STRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/tools/common/exchange.h"
#include "pmcore/tools/common/ledger.h"
#include "pmcore/tools/common/session.h"
#include "pmcore/tools/scstest/packet.h"
#include "pmcore/tools/scstest/settings.h"
#include "pmcore/tools/scstest/totals.h"

#define STRESS_OPERATIONS 8

/* Datagrams that a node is owed. */
enum debt {
	OWE_HELLO = 1,
	OWE_WRITTEN = 2,
	OWE_CHECKED = 4,
	OWE_END = 8,
	OWE_TOTALS = 16,
};

struct peer {
	struct ledger ledger;      /* of what came from it */
	struct packet_hello hello; /* its memory; valid if is_known */
	uint64_t sent;             /* datagrams to it */
	uint64_t mtu;              /* to it, bytes; 0 = not asked yet */
	uint64_t write_seed;       /* of the write under way */
	uint64_t write_size;       /* of it, bytes */
	uint32_t debts;            /* enum debt */
	bool is_known;             /* its HELLO came */
	bool is_writing;           /* a write is not yet CHECKED */
	bool has_ended;            /* its END came */
};

/* A read or write under way. */
struct operation {
	bool is_open;
	bool is_write;
	uint32_t node; /* the other one */
	pmDesc desc;
	char *memory;    /* max_size bytes of our own */
	uint64_t offset; /* read: in its source */
	uint64_t size;   /* bytes */
};

struct stress {
	struct session *session;
	const struct settings *settings;
	struct peer *peers; /* of every node, our own included */
	struct operation operations[STRESS_OPERATIONS];
	struct exchange exchange;  /* whose turn it is; not for PATTERN_RANDOM */
	struct packet_hello hello; /* our memory */
	char *source, *places;     /* it */
	struct totals totals;
	struct totals *all;  /* node 0: of every node */
	uint32_t n_totals;   /* node 0: how many of them are in */
	uint64_t random;     /* state of our choices */
	uint64_t begun;      /* operations and data datagrams */
	uint32_t n_debts;    /* nodes with debts */
	uint32_t n_open;     /* operations under way */
	uint32_t n_writing;  /* writes not CHECKED */
	uint32_t n_ended;    /* nodes whose END came */
	uint32_t complaints; /* wrong things reported so far */
};

/* 0 or -errno after saying why; the totals are printed by node 0 in any case. */
int stress_run(struct session *session, const struct settings *settings);

/* send.c; 1: sent, 0: not now, -errno. */
int send_packet(struct stress *st, uint32_t node, struct packet *head, const void *body,
		uint64_t body_len);
int send_data(struct stress *st, uint32_t node);
void send_owe(struct stress *st, uint32_t node, enum debt debt);
int send_debts(struct stress *st);
/* A size up to @max, small ones as likely as large ones. */
uint64_t send_random_size(struct stress *st, uint64_t max);

/* arrive.c; number of datagrams taken or -errno. */
int arrive_some(struct stress *st);
/* Whether this many wrong things were said already. */
bool arrive_may_complain(struct stress *st);

/* operate.c */
int operate_open(struct stress *st);
void operate_close(struct stress *st);
/* 1: begun, 0: not now, -errno. */
int operate_begin(struct stress *st, uint32_t node, bool is_write);
/* Number of operations that ended or -errno. */
int operate_reap(struct stress *st);

#endif
