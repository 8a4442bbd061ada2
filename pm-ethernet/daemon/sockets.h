/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sockets - AF_XDP sockets and the packet memory below them, in the order of calls the kernel
 * insists on. Knows nothing of contexts. Every call is -errno on failure; -EBUSY of a bind: the
 * queue's last holder isn't quite gone.
 */
#ifndef PM_ETHERNET_DAEMON_SOCKETS_H
#define PM_ETHERNET_DAEMON_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm-ethernet/attach.h"

/* A socket that owns nothing but its rings; @with_umem_rings: fill and completion ring too. */
int xsk_plain(const struct eth_granted *layout, bool with_umem_rings);
/*
 * Gives the kernel the memory of a socket with fill and completion ring, before it is bound.
 * -EINVAL: it has some already, which whoever got the socket may have done.
 */
int xsk_register(int fd, int memory, const struct eth_granted *layout);
/*
 * Room for @n times as much that was sent and has not left the machine as a socket has by default:
 * one that sends on several rails. Too little, and what waits for one rail keeps the others idle.
 */
int xsk_scale_room(int fd, uint32_t n);
/*
 * Puts @n chunks from @first on (byte offset in the memory) into the fill ring of an unbound
 * socket.
 */
int xsk_fill(int fd, const struct eth_granted *layout, uint64_t first, uint32_t n);
/* Binds an owner to queue 0; @is_zero_copy: only if the driver can. */
int xsk_bind_owner(int fd, uint32_t ifindex, bool is_zero_copy, bool is_frags);
/* Binds to queue 0 of @ifindex, sharing the memory of @owner. */
int xsk_bind_shared(int fd, uint32_t ifindex, int owner);
/*
 * Whoever has an unbound socket can bind it. Ties it to one interface, which only the privileged
 * can change: to be done before it is handed out.
 */
int xsk_tie(int fd, uint32_t ifindex);
/* Does the kernel obey the tie? Linux 6.5, and those that took its fix. */
bool xsk_is_tied_by_kernel(void);
/*
 * Can bound sockets be mapped, by processes that come later? 0; -EBUSY: no (before Linux 6.4);
 * -EINVAL: the kernel does not know @is_frags (before 6.6); other errors: it can't be told now.
 */
int xsk_probe(bool is_frags);

#endif
