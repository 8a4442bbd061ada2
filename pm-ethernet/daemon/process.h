/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * process - which process a context belongs to, and word of its end by a pidfd in the loop. A
 * process in a pid namespace we can't see has pid 0; only its connection tells of its end.
 */
#ifndef PM_ETHERNET_DAEMON_PROCESS_H
#define PM_ETHERNET_DAEMON_PROCESS_H

#include "pm-ethernet/daemon/ethd.h"

/* When @pid was started, in ticks since boot; 0 = there is no such process. */
uint64_t ethd_process_start(pid_t pid);
/* A pidfd, -1 = none. */
int ethd_process_open(pid_t pid);
/* A pidfd of who connected @fd, -1 = none. */
int ethd_process_peer(int fd, pid_t pid);
/* From now on the loop hears of the end of the context's process. */
void ethd_process_watch(struct ethd *d, uint16_t context);

#endif
