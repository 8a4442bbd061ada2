/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hook - where in the kernel the programs stand. One source makes two sets of programs. One is for
 * XDP, as drivers run it. The other, with ETH_TC, is for the ingress hook of tc, where a NIC
 * without XDP of its own leaves the segmented packets of UDP and TCP as they are. The differences
 * between the two are behind these names:
 *
 *   hook_ctx       what a program is given (job.bpf.h), with data and data_end
 *   HOOK_SECTION   of the programs in the object
 *   HOOK_PASS      the verdict by which a frame goes on to the kernel
 *   HOOK_DROP      it is dropped
 *   HOOK_SENT      it leaves by a NIC
 *   HOOK_TAKEN     hook_deliver has taken it
 *   hook_length    bytes of the frame
 *   hook_port      the interface it came by
 *   hook_is_tagged it came with a VLAN tag that its bytes don't show
 *   hook_pull      makes its head and the packet's readable, as far as they are there
 *   hook_send      sends it out of the NIC of a rail; false: there is none
 *   hook_answer    the verdict by which it goes back where it came from
 *   hook_deliver   hands it to a context; 0, or why not
 *   hook_return    hands it back to the context @number that it came from by a port
 *
 * Included by job.bpf.h, which has the maps.
 */
#ifndef PM_ETHERNET_BPF_HOOK_BPF_H
#define PM_ETHERNET_BPF_HOOK_BPF_H

#ifdef ETH_TC
#include "pm-ethernet/bpf/hook_tc.bpf.h"
#else
#include "pm-ethernet/bpf/hook_xdp.bpf.h"
#endif

#endif
