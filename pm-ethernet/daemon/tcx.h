/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcx - our program at the ingress hook of tc of an interface, beside whatever else is there. It
 * stays without us, until it is taken off or the interface goes. Knows a program of ours by its
 * name.
 */
#ifndef PM_ETHERNET_DAEMON_TCX_H
#define PM_ETHERNET_DAEMON_TCX_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel has this hook, and rings that a process may be handed. */
bool tcx_is_usable(void);
/* The program of ours there: its descriptor, or -ENOENT. */
int tcx_open(uint32_t ifindex);
/* Puts @program there, before all others, or in place of ours. */
int tcx_attach(uint32_t ifindex, int program);
/* Takes ours off, if it is there. */
int tcx_detach(uint32_t ifindex);

#endif
