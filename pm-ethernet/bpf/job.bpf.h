/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * job - what the programs have in common: the maps, the frame that a program works on, the checks
 * of its head, and the verdicts with their counters. Knows no program, nothing of the grid, and not
 * which hook of the kernel the programs are made for: that is hook.bpf.h.
 */
#ifndef PM_ETHERNET_BPF_JOB_BPF_H
#define PM_ETHERNET_BPF_JOB_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "pm-ethernet/bpf/maps.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "frames are little-endian, read in place");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct eth_host);
} host SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ETH_RAILS);
	__type(key, __u32);
	__type(value, struct eth_nic);
} nics SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ETH_CONTEXTS);
	__type(key, __u32);
	__type(value, struct eth_context);
} contexts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, ETH_CONTEXTS *ETH_RAILS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, ETH_CONTEXTS);
	__type(key, __u32);
	__type(value, __u32);
} doors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, ETH_CONTEXTS);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, ETH_RAILS);
	__type(key, __u32);
	__type(value, __u32);
} rails SEC(".maps");

/* The type of the entries of inboxes. Each entry has a size of its own. */
struct inbox {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ETH_INBOX_MIN);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ETH_CONTEXTS);
	__type(key, __u32);
	__array(values, struct inbox);
} inboxes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ETH_CONTEXTS);
	__type(key, __u32);
	__type(value, struct eth_grant);
} grants SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ETH_COUNTERS);
	__type(key, __u32);
	__type(value, struct eth_counters);
} counters SEC(".maps");

/* Our rail number of the NIC that eth_nic is loaded for, below ETH_RAILS; set before loading. */
const volatile __u32 nic_rail = 0;

/* A frame with a packet as far as the programs look: struct wire_header behind the head. */
struct packet {
	struct eth_frame head;
	uint8_t skipped[ETH_LENGTH_OFFSET];
	uint16_t length; /* of the body */
	uint16_t credit;
	uint64_t key;
	uint8_t rest[ETH_PACKET_HEAD - ETH_KEY_OFFSET - 8];
} __attribute__((packed, aligned(2)));

_Static_assert(__builtin_offsetof(struct packet, key) == ETH_HEAD + ETH_KEY_OFFSET,
	       "place of the key");
_Static_assert(sizeof(struct packet) == ETH_HEAD + ETH_PACKET_HEAD, "size of the packet header");

#ifdef ETH_TC
typedef struct __sk_buff hook_ctx;
#else
typedef struct xdp_md hook_ctx;
#endif

/* The frame that a program works on, with its context and counters. */
struct job {
	hook_ctx *ctx;
	struct packet *packet; /* in the frame; how much of it is there must be checked first */
	void *end;             /* of the part of the frame that can be read */
	const struct eth_host *host;
	struct eth_counters *counters; /* this CPU's, of the NIC or of all ports */
};

#include "pm-ethernet/bpf/hook.bpf.h"

/*
 * Whether all is there that a frame has at least; false can't happen in a program the daemon
 * loaded.
 */
static __always_inline int job_begin(struct job *job, hook_ctx *ctx, __u32 row)
{
	__u32 zero = 0;

	job->ctx = ctx;
	job->packet = (void *)(long)ctx->data;
	job->end = (void *)(long)ctx->data_end;
	job->host = bpf_map_lookup_elem(&host, &zero);
	job->counters = bpf_map_lookup_elem(&counters, &row);
	return job->host && job->counters && (void *)(&job->packet->head.type + 1) <= job->end;
}

/* A frame of our EtherType, and in no VLAN: that is another network. */
static __always_inline int is_ours(const struct job *job)
{
	return job->packet->head.type == job->host->type && !hook_is_tagged(job->ctx);
}

static __always_inline int drop(const struct job *job, enum eth_drop reason)
{
	job->counters->drops[reason]++;
	return HOOK_DROP;
}

/* Counts a packet as taken. */
static __always_inline void count(const struct job *job)
{
	job->counters->rx_frames++;
	job->counters->rx_bytes += hook_length(job->ctx);
}

/* Sends the frame out of the NIC of a rail. */
static __always_inline int send_out(const struct job *job, __u32 rail)
{
	return hook_send(rail) ? HOOK_SENT : drop(job, ETH_DROP_RAIL);
}

/* The same for a packet that is counted here as taken. */
static __always_inline int take_out(const struct job *job, __u32 rail)
{
	int verdict = send_out(job, rail);

	if (verdict == HOOK_SENT)
		count(job);
	return verdict;
}

/* A frame of our type has a head that we understand. */
static __always_inline enum eth_drop check_head(struct job *job)
{
	hook_pull(job);
	if ((void *)(&job->packet->head + 1) > job->end)
		return ETH_DROP_SHORT;
	if (job->packet->head.version != ETH_VERSION)
		return ETH_DROP_VERSION;
	return ETH_DROP_NONE;
}

/* The packet behind the head is there in full. */
static __always_inline enum eth_drop check_packet(const struct job *job)
{
	if ((void *)(job->packet + 1) > job->end)
		return ETH_DROP_SHORT;
	if (sizeof(struct packet) + job->packet->length > hook_length(job->ctx))
		return ETH_DROP_LENGTH;
	return ETH_DROP_NONE;
}

#endif
