/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * programs - the kernel programs and maps: loaded, pinned in the run directory, attached to NICs,
 * taken away again. All programs of a host have one mode; a path that mixes them loses frames.
 */
#ifndef PM_ETHERNET_DAEMON_PROGRAMS_H
#define PM_ETHERNET_DAEMON_PROGRAMS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/* Mounts a bpffs at RUN/bpf unless it is one. */
int ethd_programs_mount(struct ethd *d, char *why, size_t why_size);
/* Lets go of maps and removes their pins, so that the next open makes them anew. */
void ethd_programs_unpin(struct ethd *d);
/*
 * Pins went with the bpffs, when it was mounted in a namespace that ended with the daemon before
 * us: finds the maps by the programs on the NICs and pins them again.
 */
int ethd_programs_adopt(struct ethd *d);
/*
 * Whether the maps that are pinned are those that our programs want: 0, -EEXIST (of another
 * version) or -errno.
 */
int ethd_programs_fit(struct ethd *d);
/* Opens or makes the maps, loads the programs of ports, programs all NICs, settles the mode. */
int ethd_programs_open(struct ethd *d, bool is_mode_fixed, char *why, size_t why_size);
/* Attaches eth_nic to a rail, in place of an older one of ours. */
int ethd_program_nic(struct ethd *d, uint32_t rail, char *why, size_t why_size);
/* Takes a program of ours off an interface, if there is one. */
void ethd_program_drop(uint32_t ifindex);
/* Attaches a port's program to an interface. */
int ethd_program_port(struct ethd *d, uint32_t ifindex, int program);
/* Takes programs, pins and mount away. */
void ethd_programs_remove(struct ethd *d);

#endif
