/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * closer - closes AF_XDP sockets that were bound. The kernel waits at each until no processor can see it any more,
 * about 15 ms, and no process of a job should: the daemon keeps a descriptor of each socket it hands out, so the
 * process's own is never the last, and threads close what is left. The queues of a socket are busy until then.
 */
#ifndef PM_ETHERNET_DAEMON_CLOSER_H
#define PM_ETHERNET_DAEMON_CLOSER_H

#include "pm-ethernet/daemon/ethd.h"

#define ETHD_CLOSERS_MAX 64 /* threads at a time; beyond that the daemon closes by itself */
#define ETHD_CLOSERS_UID 32 /* of them, for sockets of one user */

/* Makes d->closer, which is readable when threads have ended. */
int ethd_closer_open(struct ethd *d);
/* Takes @n descriptors of a user, and the port they were on (-1 = none), which is free when they are closed. */
void ethd_closer_take(struct ethd *d, uid_t uid, const int *fds, uint32_t n, int port);
/* Do threads still close what was taken up to that time (clock_monotonic_ns)? */
bool ethd_closer_is_busy(const struct ethd *d, uint64_t since_ns);
/* Some threads have ended: true, and their ports are free. */
bool ethd_closer_reap(struct ethd *d);

#endif
