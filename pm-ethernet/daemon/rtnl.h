/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtnl - the few things we ask of rtnetlink: make and remove veth pairs, hear of changes. Knows
 * nothing of the daemon. Errors are -errno as the kernel gave them.
 */
#ifndef PM_ETHERNET_DAEMON_RTNL_H
#define PM_ETHERNET_DAEMON_RTNL_H

#include <stdint.h>

/* A non-blocking socket that becomes readable when an interface changes; -errno. */
int rtnl_watch_open(void);
/* Takes everything that waits there; 1 if there was a change (or too many to keep), 0 if none. */
int rtnl_watch_drain(int fd);

/* A veth pair in interface group @group, both ends with @mtu, without IPv6 addresses, and up. */
int rtnl_pair_add(const char *name, const char *peer, uint32_t group, uint32_t mtu);
int rtnl_link_delete(uint32_t ifindex);
/* All interfaces of a group at once; -ENODEV: there is none. */
int rtnl_group_delete(uint32_t group);

#endif
