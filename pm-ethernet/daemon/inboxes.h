/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inboxes - the rings that the programs at tc put frames into. A process is handed its own and maps
 * it; the kernel lets it write nothing but the position it has read up to, which it may lie about
 * to its own harm only.
 */
#ifndef PM_ETHERNET_DAEMON_INBOXES_H
#define PM_ETHERNET_DAEMON_INBOXES_H

#include "pm-ethernet/daemon/ethd.h"

/* A ring of @bytes, a power of two: its descriptor or -errno. */
int ethd_inbox_make(uint32_t bytes);
/* The programs put the frames of a context that has no inbox there from now on. */
int ethd_inbox_put(struct ethd *d, uint32_t context, int fd);
/* They have none for it any more. */
void ethd_inbox_remove(struct ethd *d, uint32_t context);

#endif
