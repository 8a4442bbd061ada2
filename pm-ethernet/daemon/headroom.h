/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headroom - how much memory our own control group may still take. It is charged for rings and
 * inboxes of contexts, not for the packet memory, for which their processes pay. When such a group
 * is full the kernel ends a process of it, which would be the daemon. Knows nothing of contexts.
 */
#ifndef PM_ETHERNET_DAEMON_HEADROOM_H
#define PM_ETHERNET_DAEMON_HEADROOM_H

#include <stdint.h>

/* Bytes, what the kernel would give up counted in; UINT64_MAX: nobody has set a limit. */
uint64_t ethd_headroom(void);
/* The same of the group @group ("/a/b") of the hierarchy below @root. */
uint64_t ethd_headroom_of(const char *root, const char *group);

#endif
