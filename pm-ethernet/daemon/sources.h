/* SPDX-License-Identifier: BSD-3-Clause */
/* sources - the descriptors that the daemon waits for, and what each of them is. */
#ifndef PM_ETHERNET_DAEMON_SOURCES_H
#define PM_ETHERNET_DAEMON_SOURCES_H

#include <sys/epoll.h>

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

int ethd_sources_open(struct ethd *d);
/* 0, -EEXIST or another error. A descriptor leaves the set when it is closed for good. */
int ethd_source_add(struct ethd *d, int fd, uint32_t events, enum ethd_source source,
		    uint64_t value);
int ethd_source_change(struct ethd *d, int fd, uint32_t events, enum ethd_source source,
		       uint64_t value);
void ethd_source_remove(struct ethd *d, int fd);
/* Of an event of the set. */
enum ethd_source ethd_source_of(const struct epoll_event *event);
uint64_t ethd_source_value(const struct epoll_event *event);

#endif
