/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch - whether the neighbours of a hypercrossbar are there, asked of their kernels many times a
 * second: one ETH_WATCH to all of a rail, whose echoes our kernel notes as pulses. Judges pulses;
 * what follows from a neighbour's silence is said by grid.
 */
#ifndef PM_ETHERNET_DAEMON_WATCH_H
#define PM_ETHERNET_DAEMON_WATCH_H

#include "pm-ethernet/daemon/ethd.h"

#define ETHD_WATCH_NS 25000000u /* between two of a rail, unless the operator says otherwise */
#define ETHD_WATCH_MAX_NS 1000000000u
#define ETHD_WATCH_MISSES 3 /* watches without an echo: silent */
#define ETHD_WATCH_ECHOES 2 /* with one, in a row: no longer */

/* Zeroed: never asked, not silent. */
struct ethd_pulse {
	uint8_t n_missed; /* in a row, at most ETHD_WATCH_MISSES */
	uint8_t n_echoes; /* in a row while silent */
	bool is_silent;
};

/*
 * The watch of @sent_ns had its time, the last echo came at @echo_ns (0 = never; both monotonic).
 * Whether is_silent is another now.
 */
bool ethd_pulse_judge(struct ethd_pulse *pulse, uint64_t sent_ns, uint64_t echo_ns);

/*
 * Judges and asks when it is time; returns when it is next, UINT64_MAX without a grid or watching.
 */
uint64_t ethd_watch_timer(struct ethd *d, uint64_t now_ns);

#endif
