/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * board - what the daemon tells all contexts of the host while they run: the state of the rails and
 * who answers on which of them. One writer, the daemon; readers map it read-only. When the daemon
 * is gone the board stays as it was.
 */
#ifndef PM_ETHERNET_BOARD_H
#define PM_ETHERNET_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm-ethernet/grid.h"

#define ETH_BOARD_MAGIC 0x42544550u /* "PETB" */
#define ETH_BOARD_VERSION 2
#define ETH_HOSTS 8192 /* places of the table of hosts, a power of two; at most 3/4 used */

struct eth_board_rail {
	_Atomic uint32_t is_up; /* interface up, with carrier, still there */
	uint32_t mtu;
	uint32_t speed_mbit; /* 0 = unknown */
	uint8_t mac[ETH_MAC];
	char name[16];
	uint8_t pad[2];
	_Atomic uint32_t is_gone; /* the interface was deleted */
};

/* A host as heard on one of our rails. */
struct eth_heard {
	uint8_t mac[ETH_MAC];
	uint8_t rail;     /* its own number of that rail */
	uint8_t is_alive; /* answered lately */
	uint16_t mtu;
	uint16_t pad;
	uint32_t rtt_ns; /* of the last query, 0 = unknown */
};

/* A known host; the place is found by id, see eth_board_find. */
struct eth_board_host {
	_Atomic uint32_t version; /* odd while it is written; 0: place never used */
	uint32_t id;
	struct eth_heard heard[ETH_RAILS]; /* by our rail; mac all zero: never heard there */
};

/* Where hosts stand and which neighbours are open; grid.n_dims 0: there is no grid. */
struct eth_board_grid {
	_Atomic uint32_t version; /* counts changes of neighbours */
	uint32_t pad;
	struct eth_grid grid;                                  /* constant, as are the points */
	_Atomic uint64_t neighbours[ETH_RAILS * ETH_LINE_MAX]; /* struct eth_neighbour, see below */
	struct eth_point points[ETH_POINTS_MAX];
};

struct eth_board {
	uint32_t magic, version;
	uint32_t host;
	uint32_t n_rails;
	_Atomic uint32_t n_hosts;
	_Atomic uint32_t duplicate; /* 1: another host of the network has our id */
	struct eth_board_rail rails[ETH_RAILS];
	struct eth_board_host hosts[ETH_HOSTS];
	struct eth_board_grid grid;
};

/* Copies what is known of host @id; false: never heard of. Any thread, any process. */
bool eth_board_find(const struct eth_board *board, uint32_t id, struct eth_heard ret[ETH_RAILS]);

/*
 * For the daemon: notes that @heard is what host @id looks like on @rail. 0 or -ENOSPC. One thread
 * at a time.
 */
int eth_board_note(struct eth_board *board, uint32_t id, uint32_t rail,
		   const struct eth_heard *heard);

/*
 * A neighbour at a coordinate of our line of a rail; coordinates outside of it read as never heard.
 */
struct eth_neighbour eth_board_neighbour(const struct eth_board *board, uint32_t rail,
					 uint32_t coordinate);

/* For the daemon: the neighbour changed. Readers learn of it by grid.version. */
void eth_board_set_neighbour(struct eth_board *board, uint32_t rail, uint32_t coordinate,
			     const struct eth_neighbour *neighbour);

#endif
