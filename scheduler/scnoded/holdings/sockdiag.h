/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sockdiag - the sockets of this network namespace, by the kernel's socket diagnosis. Tells a
 * caller of all of them one after the other, and keeps none.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_SOCKDIAG_H
#define SCHEDULER_SCNODED_HOLDINGS_SOCKDIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/scnoded/holdings/holdings.h"

/* One answer of the kernel about internet sockets of @kind, without its head. */
bool sockdiag_decode_inet(const void *body, size_t size, enum held_kind kind,
			  struct held_socket *ret);
/* About a unix socket. */
bool sockdiag_decode_unix(const void *body, size_t size, struct held_socket *ret);

/*
 * Calls @each for all sockets of @kind (not HELD_NETLINK) until it returns false. 0, -ECANCELED if
 * it did, or -errno: -ENOENT means that the kernel lacks the module.
 */
int sockdiag_each(enum held_kind kind, bool (*each)(const struct held_socket *socket, void *owner),
		  void *owner);

#endif
