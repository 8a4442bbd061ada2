/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hook_tc - the programs at the ingress hook of tc: frames are copied into the inbox of a context,
 * a ring that its process maps. A port is for sending only; nothing comes back by it.
 */
#ifndef PM_ETHERNET_BPF_HOOK_TC_BPF_H
#define PM_ETHERNET_BPF_HOOK_TC_BPF_H

#include <linux/pkt_cls.h>

#include "pm-ethernet/bpf/job.bpf.h"

/*
 * Programs behind ours get what is not ours; there is no verdict for a frame that was taken but
 * this one.
 */
#define HOOK_SECTION "tc"
#define HOOK_PASS TC_ACT_UNSPEC
#define HOOK_DROP TC_ACT_SHOT
#define HOOK_SENT TC_ACT_REDIRECT
#define HOOK_TAKEN TC_ACT_SHOT

#define RECORD_MAX 65536u /* bytes of the largest record, with the kernel's 8 in front */

static __always_inline __u32 hook_length(const struct __sk_buff *skb)
{
	return skb->len;
}

static __always_inline __u32 hook_port(const struct __sk_buff *skb)
{
	return skb->ifindex;
}

static __always_inline int hook_is_tagged(const struct __sk_buff *skb)
{
	return skb->vlan_present;
}

/* Drivers may leave nearly all of a frame in pages of its own. */
static __always_inline void hook_pull(struct job *job)
{
	struct __sk_buff *skb = job->ctx;
	__u32 want = sizeof(struct packet);

	if ((void *)(job->packet + 1) <= job->end)
		return;
	bpf_skb_pull_data(skb, skb->len < want ? skb->len : want);
	job->packet = (void *)(long)skb->data;
	job->end = (void *)(long)skb->data_end;
}

static __always_inline int hook_send(__u32 rail)
{
	const struct eth_nic *nic = bpf_map_lookup_elem(&nics, &rail);

	return nic && nic->ifindex && bpf_redirect(nic->ifindex, 0) == TC_ACT_REDIRECT;
}

static __always_inline int hook_answer(const struct job *job)
{
	return bpf_redirect(job->ctx->ifindex, 0);
}

/*
 * The record was reserved before its reader's word is read here, and a reader says that it sleeps
 * before it looks for the last time: one of the two sees the other. An atomic operation with a
 * result is a barrier on every machine.
 */
static __always_inline __u64 waking(const struct job *job, void *inbox)
{
	__u64 seen = __sync_fetch_and_add(&job->counters->rx_frames, 0);

	barrier_var(seen);
	return bpf_ringbuf_query(inbox, BPF_RB_CONS_POS) & ETH_INBOX_SLEEPS ? BPF_RB_FORCE_WAKEUP
									    : BPF_RB_NO_WAKEUP;
}

/* Copies the frame into a record that takes @bytes of the ring, a constant. */
static __always_inline enum eth_drop put(const struct job *job, void *inbox, __u32 length,
					 __u32 in_rail, const __u64 bytes)
{
	struct eth_record *record = bpf_ringbuf_reserve(inbox, bytes - 8, 0);

	if (!record)
		return ETH_DROP_FULL;
	record->length = length;
	record->pad = 0;
	if (bpf_skb_load_bytes(job->ctx, 0, record->frame, length)) {
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
		return ETH_DROP_SHORT;
	}
	((struct eth_frame *)record->frame)->in_rail = in_rail;
	bpf_ringbuf_submit(record, waking(job, inbox));
	return ETH_DROP_NONE;
}

#define PUT_BELOW(bytes)                                                                           \
	if (length <= (bytes)-8 - sizeof(struct eth_record))                                       \
	return put(job, inbox, length, in_rail, bytes)

/* The verifier wants sizes that are constant: a few that waste little. */
static __always_inline enum eth_drop
hook_deliver(const struct job *job, const struct eth_context *context, __u32 number, __u32 in_rail)
{
	__u32 length = job->ctx->len;
	void *inbox;

	if (context->attachment == ETH_DETACHED)
		return ETH_DROP_DETACHED;
	inbox = bpf_map_lookup_elem(&inboxes, &number);
	if (!inbox)
		return ETH_DROP_DETACHED;
	if (length < sizeof(struct packet))
		return ETH_DROP_SHORT;
	PUT_BELOW(128);
	PUT_BELOW(256);
	PUT_BELOW(512);
	PUT_BELOW(1024);
	PUT_BELOW(1536);
	PUT_BELOW(2048);
	PUT_BELOW(4096);
	PUT_BELOW(9216);
	PUT_BELOW(16384);
	PUT_BELOW(32768);
	PUT_BELOW(RECORD_MAX);
	return ETH_DROP_LENGTH;
}

/*
 * Nothing is behind the port: the news goes to the inbox as if it had come by the rail it was sent
 * to.
 */
static __always_inline int hook_return(const struct job *job, __u32 number)
{
	const struct eth_context *context = bpf_map_lookup_elem(&contexts, &number);

	if (context)
		hook_deliver(job, context, number, job->packet->head.rail);
	return TC_ACT_SHOT;
}

#endif
