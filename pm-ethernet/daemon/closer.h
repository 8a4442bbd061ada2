/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * closer - closes AF_XDP sockets that were bound. The kernel waits at each until no processor can
 * see it any more, about 15 ms, and no process of a job should. So the daemon keeps a descriptor of
 * each socket it hands out: the process's own is never the last, and threads close what is left.
 * The queues of a socket are busy until then.
 */
#ifndef PM_ETHERNET_DAEMON_CLOSER_H
#define PM_ETHERNET_DAEMON_CLOSER_H

#include "pm-ethernet/daemon/ethd.h"

#define ETHD_CLOSERS_MAX 64 /* threads at a time; beyond that batches wait for one */
#define ETHD_CLOSERS_UID 32 /* of them, for sockets of one user */

/* Makes d->closer, which is readable when threads have ended. */
int ethd_closer_open(struct ethd *d);
/* Takes @n descriptors that belong to @charge, and counts there that they are not closed yet. */
void ethd_closer_take(struct ethd *d, struct ethd_charge *charge, const int *fds, uint32_t n);
/* Do threads still close what was taken up to that time (clock_monotonic_ns)? */
bool ethd_closer_is_busy(const struct ethd *d, uint64_t since_ns);
/* Some threads have ended: true, and others have begun. */
bool ethd_closer_reap(struct ethd *d);

#endif
