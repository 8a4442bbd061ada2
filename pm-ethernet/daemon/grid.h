/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid - this host in its hypercrossbar: tells kernel programs and board where everybody stands,
 * and which neighbours are open as discovery and watch find them. Chooses no way; that is
 * route.h's.
 */
#ifndef PM_ETHERNET_DAEMON_GRID_H
#define PM_ETHERNET_DAEMON_GRID_H

#include "pm-ethernet/daemon/ethd.h"
#include "pm-ethernet/daemon/peers.h"
#include "pm-ethernet/bpf/maps.h"
#include "pm-ethernet/daemon/watch.h"

/* The host at a coordinate of our line of a rail. */
struct ethd_neighbour {
	uint32_t id; /* 0: nobody stands there, or a host that must not be used, or we do */
	uint8_t mac[ETH_MAC];
	bool is_heard; /* mac and mtu are known */
	bool is_alive; /* its daemon answers */
	bool is_open;  /* as the programs and the board have it */
	uint32_t mtu;
	struct ethd_pulse pulse;
};

struct ethd_grid {
	struct ethd_neighbour *lines[ETH_RAILS]; /* by coordinate in the rail's dimension */
	const volatile uint64_t *pulses;         /* the map of that name */
	uint64_t sent_ns[ETH_RAILS];             /* last watch of a rail, 0 = none under way */
	uint64_t watch_ns;                       /* when the next ones are due */
	uint64_t n_unsent;                       /* watches that did not leave */
};

/* A number that another grid, or another place in it, would not have; 0: there is none. */
uint64_t ethd_grid_digest(const struct ethd_options *options);

/* Fills maps and board from the options, takes over what a daemon before us knew. 0 or -errno. */
int ethd_grid_open(struct ethd *d);
void ethd_grid_close(struct ethd *d);
/* Discovery has news of @peer on @rail. Nothing happens without a grid. */
void ethd_grid_heard(struct ethd *d, struct ethd_peer *peer, uint32_t rail);
/* Our @rail came, went, or has another MTU. */
void ethd_grid_follow(struct ethd *d, uint32_t rail);
/* Judges the last watch of @rail. */
void ethd_grid_judge(struct ethd *d, uint32_t rail);

/*
 * The coordinate of host @id in the dimension of @rail if it is on our line of it; -1: it is not.
 */
int ethd_grid_place(const struct ethd *d, uint32_t rail, uint32_t id);
/* A sentence about host @id being heard on @rail: what is wrong with the wiring; false: nothing. */
bool ethd_grid_fault(const struct ethd *d, uint32_t rail, const struct ethd_peer *peer, char *ret,
		     size_t size);

#endif
