/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - the pool of private veth pairs: peps<N> where the kernel takes frames from a process,
 * pepu<N> where it hands frames over. Made in batches, lent one by one, removed all together.
 */
#ifndef PM_ETHERNET_DAEMON_PORTS_H
#define PM_ETHERNET_DAEMON_PORTS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/*
 * Finds the ports a daemon before us made; those of contexts stay, the others are removed. 0 or
 * -errno.
 */
int ethd_ports_adopt(struct ethd *d);
/*
 * A port for @context: the place in ethd.ports. Of a pool of free ports the one that is free the
 * longest is taken, as a queue stays busy for a while.
 */
int ethd_port_take(struct ethd *d, uint16_t context, char *why, size_t why_size);
/*
 * Binds a socket to a port that was taken. -EBUSY: its last holder is not gone; it is left alone
 * for a while.
 */
int ethd_port_bind(struct ethd *d, int port, int fd);
void ethd_port_give(struct ethd *d, int port);
/* The port has no context any more, but sockets; to be given when nobody holds one. */
void ethd_port_rest(struct ethd *d, int port);
/* Removes every port of this host. */
void ethd_ports_remove(struct ethd *d);

#endif
