/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - where scored is: --server, $SCORE_SERVER, "scheduler": {"server": ...} of cluster.json,
 * else this host. (In a session of scout: scout.h.)
 */
#ifndef SCHEDULER_SCRUN_SERVER_H
#define SCHEDULER_SCRUN_SERVER_H

#define SERVER_PORT "7710"
#define SERVER_CLUSTER "/etc/openscore/cluster.json" /* unless $SCORE_CLUSTER names another */

/* "HOST:PORT", owned by the caller. @option may be NULL. NULL: no memory. */
char *server_address(const char *option);
/* @address with the port it may lack. */
char *server_with_port(const char *address);

#endif
