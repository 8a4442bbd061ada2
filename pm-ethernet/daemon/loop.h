/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop - waits for whatever happens next and gives it to the part it belongs to. One event at a time, so
 * that a part may close descriptors that have events waiting.
 */
#ifndef PM_ETHERNET_DAEMON_LOOP_H
#define PM_ETHERNET_DAEMON_LOOP_H

#include "pm-ethernet/daemon/ethd.h"

enum ethd_source {
	ETHD_SOURCE_SIGNAL,
	ETHD_SOURCE_NETLINK,
	ETHD_SOURCE_LISTENER,
	ETHD_SOURCE_CLIENT,   /* value: pointer to the client */
	ETHD_SOURCE_PROCESS,  /* value: context */
	ETHD_SOURCE_DISCOVER, /* value: rail */
	ETHD_SOURCE_CLOSER,
};

int ethd_loop_open(struct ethd *d);
/* 0, -EEXIST or another error. A descriptor leaves the loop when it is closed for good. */
int ethd_loop_add(struct ethd *d, int fd, uint32_t events, enum ethd_source source, uint64_t value);
int ethd_loop_change(struct ethd *d, int fd, uint32_t events, enum ethd_source source,
		     uint64_t value);
void ethd_loop_remove(struct ethd *d, int fd);
/* Until SIGTERM or SIGINT; 0 or -errno. */
int ethd_loop_run(struct ethd *d);

#endif
