/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hook_xdp - the programs at XDP, native or generic: frames reach a context by its AF_XDP sockets.
 * Those of a direct context are on the NICs, that of a port behind the port.
 */
#ifndef PM_ETHERNET_BPF_HOOK_XDP_BPF_H
#define PM_ETHERNET_BPF_HOOK_XDP_BPF_H

#include "pm-ethernet/bpf/job.bpf.h"

#define HOOK_SECTION "xdp"
#define HOOK_PASS XDP_PASS
#define HOOK_DROP XDP_DROP
#define HOOK_SENT XDP_REDIRECT
#define HOOK_TAKEN XDP_REDIRECT

static __always_inline __u32 hook_length(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

static __always_inline __u32 hook_port(const struct xdp_md *ctx)
{
	return ctx->ingress_ifindex;
}

static __always_inline int hook_is_tagged(const struct xdp_md *ctx)
{
	(void)ctx;
	return 0;
}

static __always_inline void hook_pull(const struct job *job)
{
	(void)job;
}

/* The low bits of the flags are the verdict for an empty entry. */
static __always_inline int hook_send(__u32 rail)
{
	return bpf_redirect_map(&rails, rail, XDP_DROP) == XDP_REDIRECT;
}

static __always_inline int hook_answer(const struct job *job)
{
	(void)job;
	return XDP_TX;
}

static __always_inline enum eth_drop
hook_deliver(const struct job *job, const struct eth_context *context, __u32 number, __u32 in_rail)
{
	__u32 place = number * ETH_RAILS + in_rail;
	int verdict;

	job->packet->head.in_rail = in_rail;
	if (context->attachment == ETH_PORT)
		verdict = bpf_redirect_map(&ports, number, XDP_DROP);
	/* Sockets are bound to queue 0; the kernel would lose the frame without a trace. */
	else if (context->attachment == ETH_DIRECT && !job->ctx->rx_queue_index)
		verdict = bpf_redirect_map(&sockets, place, XDP_DROP);
	else
		verdict = XDP_DROP;
	return verdict == XDP_REDIRECT ? ETH_DROP_NONE : ETH_DROP_DETACHED;
}

/* The door behind the port knows it by its head. */
static __always_inline int hook_return(const struct job *job, __u32 number)
{
	(void)job;
	(void)number;
	return XDP_TX;
}

#endif
