/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clients - connections on the unix socket: who is there, what they ask, answers with descriptors.
 * Never waits for a client: one that doesn't take its answer is dropped. A report waits until it is
 * read. Where a user lets too many wait, the client that has read nothing for longest is dropped.
 * The end of a connection ends its lease.
 */
#ifndef PM_ETHERNET_DAEMON_CLIENTS_H
#define PM_ETHERNET_DAEMON_CLIENTS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/*
 * Sets what one user may have, where the daemon may have @n_files descriptors; says so where it is
 * less than usual.
 */
void ethd_clients_bound(struct ethd *d, uint32_t n_files);
/* Listens at RUN/socket. */
int ethd_clients_open(struct ethd *d, char *why, size_t why_size);
void ethd_clients_accept(struct ethd *d);
void ethd_client_ready(struct ethd *d, struct ethd_client *client, uint32_t events);
/* Tries again what waits for a queue; the next deadline, UINT64_MAX = none. */
uint64_t ethd_clients_timer(struct ethd *d, uint64_t now_ns);
/* A queue may be free now: what waits for one tries again at the next timer. */
void ethd_clients_retry(struct ethd *d);
/* Ends a connection and its lease. */
void ethd_client_close(struct ethd *d, struct ethd_client *client);
/* Frees all clients and leaves their leases alone, as the daemon's end does. */
void ethd_clients_forget(struct ethd *d);

#endif
