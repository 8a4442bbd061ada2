// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * The kernel's half of pm-ethernet: three XDP programs that bring frames of our EtherType to the context
 * they are for, and let nothing else happen. eth_nic looks at what a NIC received and leaves all other
 * traffic to the kernel; eth_port holds a process to the identity its port was granted; eth_door hands
 * over at the process's end of a port. Each frame is either passed, or redirected, or dropped and
 * counted under one reason. They keep no state but the counters, and know nothing of what the channel
 * puts into a packet but its length and its key.
 */
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

/* What a program works on. */
struct job {
	struct xdp_md *ctx;
	struct packet *packet; /* in the frame; how much of it is there must be checked first */
	void *end;             /* of the part of the frame that can be read */
	const struct eth_host *host;
	struct eth_counters *counters; /* this CPU's, of the NIC or of all ports */
};

/* Whether all is there that a frame has at least; false can't happen in a program the daemon loaded. */
static __always_inline int job_begin(struct job *job, struct xdp_md *ctx, __u32 row)
{
	__u32 zero = 0;

	job->ctx = ctx;
	job->packet = (void *)(long)ctx->data;
	job->end = (void *)(long)ctx->data_end;
	job->host = bpf_map_lookup_elem(&host, &zero);
	job->counters = bpf_map_lookup_elem(&counters, &row);
	return job->host && job->counters && (void *)(&job->packet->head.type + 1) <= job->end;
}

static __always_inline int drop(const struct job *job, enum eth_drop reason)
{
	job->counters->drops[reason]++;
	return XDP_DROP;
}

/* Sends the frame to entry @index of @map; dropped for reason @absent where there is nothing. */
static __always_inline int redirect(const struct job *job, void *map, __u32 index,
				    enum eth_drop absent)
{
	/* The low bits of the flags are the verdict for an empty entry. */
	if (bpf_redirect_map(map, index, XDP_DROP) != XDP_REDIRECT)
		return drop(job, absent);
	return XDP_REDIRECT;
}

/* The same for a packet that is counted here as taken. */
static __always_inline int take(const struct job *job, void *map, __u32 index, enum eth_drop absent)
{
	int verdict = redirect(job, map, index, absent);

	if (verdict == XDP_REDIRECT) {
		job->counters->rx_frames++;
		job->counters->rx_bytes += bpf_xdp_get_buff_len(job->ctx);
	}
	return verdict;
}

/* A frame of our type has a head that we understand. */
static __always_inline enum eth_drop check_head(const struct job *job)
{
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
	if (sizeof(struct packet) + job->packet->length > bpf_xdp_get_buff_len(job->ctx))
		return ETH_DROP_LENGTH;
	return ETH_DROP_NONE;
}

/* The context a checked packet for this host is for; *ret_drop says why there is none. */
static __always_inline const struct eth_context *find_context(const struct job *job,
							      enum eth_drop *ret_drop)
{
	__u32 number = job->packet->head.dst_context;
	const struct eth_context *context = bpf_map_lookup_elem(&contexts, &number);

	*ret_drop = ETH_DROP_CONTEXT;
	if (!context || !context->key)
		return 0;
	*ret_drop = ETH_DROP_KEY;
	if (context->key != job->packet->key)
		return 0;
	return context;
}

/*
 * Drops a packet that found no context. One that asks goes back where it came from, as it is but for the
 * head: its key lets it pass to whoever sent it, and nobody answers it again.
 */
static __always_inline int refuse(const struct job *job, enum eth_drop why)
{
	struct eth_frame *head = &job->packet->head;
	struct eth_frame old = *head;

	job->counters->drops[why]++;
	if (old.flags != ETH_F_ASK || old.kind != ETH_PACKET)
		return XDP_DROP;
	/* One frame to a group would bring many answers, one from a group an answer to many. */
	if ((old.dst_mac[0] | old.src_mac[0]) & 1)
		return XDP_DROP;
	__builtin_memcpy(head->dst_mac, old.src_mac, ETH_MAC);
	__builtin_memcpy(head->src_mac, old.dst_mac, ETH_MAC);
	head->kind = ETH_GONE;
	head->ttl = ETH_TTL;
	head->flags = 0;
	head->dst_host = old.src_host;
	head->src_host = old.dst_host;
	head->dst_context = old.src_context;
	head->src_context = old.dst_context;
	return XDP_TX;
}

/* From a NIC to a context of this host. */
static __always_inline int deliver_from_nic(const struct job *job)
{
	__u32 number = job->packet->head.dst_context;
	const struct eth_context *context;
	enum eth_drop why;

	if (job->packet->head.rail >= ETH_RAILS)
		return drop(job, ETH_DROP_RAIL);
	context = find_context(job, &why);
	if (!context)
		return refuse(job, why);
	job->packet->head.in_rail = nic_rail;
	if (context->attachment == ETH_PORT)
		return take(job, &ports, number, ETH_DROP_DETACHED);
	/* Sockets are bound to queue 0; the kernel would lose the frame without a trace. */
	if (context->attachment != ETH_DIRECT || job->ctx->rx_queue_index)
		return drop(job, ETH_DROP_DETACHED);
	return take(job, &sockets, number * ETH_RAILS + nic_rail, ETH_DROP_DETACHED);
}

/* From a NIC, but not for this host. */
static __always_inline int forward_from_nic(const struct job *job)
{
	return drop(job, ETH_DROP_HOST);
}

SEC("xdp")
int eth_nic(struct xdp_md *ctx)
{
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, nic_rail) || job.packet->head.type != job.host->type)
		return XDP_PASS;
	why = check_head(&job);
	if (why)
		return drop(&job, why);
	if (job.packet->head.kind == ETH_QUERY || job.packet->head.kind == ETH_ANSWER) {
		job.counters->control++;
		return XDP_PASS;
	}
	if (job.packet->head.kind != ETH_PACKET && job.packet->head.kind != ETH_GONE)
		return drop(&job, ETH_DROP_KIND);
	why = check_packet(&job);
	if (why)
		return drop(&job, why);
	if (job.packet->head.dst_host != job.host->id)
		return forward_from_nic(&job);
	return deliver_from_nic(&job);
}

/* From a port to another port of this host; a direct context's sockets are out of reach from here. */
static __always_inline int deliver_from_port(const struct job *job)
{
	const struct eth_context *context;
	enum eth_drop why;

	context = find_context(job, &why);
	if (!context)
		return refuse(job, why);
	if (context->attachment != ETH_PORT)
		return drop(job, ETH_DROP_DETACHED);
	job->packet->head.in_rail = job->packet->head.rail;
	return take(job, &ports, job->packet->head.dst_context, ETH_DROP_DETACHED);
}

/* From a port to another host. What the network sees of us is not up to the process. */
static __always_inline int send_from_port(const struct job *job)
{
	__u32 rail = job->packet->head.rail;
	const struct eth_nic *nic = bpf_map_lookup_elem(&nics, &rail);

	if (!nic)
		return drop(job, ETH_DROP_RAIL);
	__builtin_memcpy(job->packet->head.src_mac, nic->mac, ETH_MAC);
	job->packet->head.ttl = ETH_TTL;
	return take(job, &rails, rail, ETH_DROP_RAIL);
}

/* A process sends as nobody but the context that its port was granted to, and to one host at a time. */
static __always_inline enum eth_drop check_grant(const struct job *job,
						 const struct eth_grant *grant)
{
	const struct packet *packet = job->packet;

	if (packet->head.src_host != job->host->id || packet->head.src_context != grant->context)
		return ETH_DROP_SOURCE;
	if (packet->key != grant->key)
		return ETH_DROP_KEY;
	if (packet->head.rail >= job->host->n_nics)
		return ETH_DROP_RAIL;
	/* Every host on the cable would have to look at it, and it is for one. */
	if (packet->head.dst_mac[0] & 1)
		return ETH_DROP_GROUP;
	return ETH_DROP_NONE;
}

SEC("xdp")
int eth_port(struct xdp_md *ctx)
{
	const struct eth_grant *grant;
	__u32 port = ctx->ingress_ifindex;
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, ETH_RAILS))
		return XDP_ABORTED;
	grant = bpf_map_lookup_elem(&grants, &port);
	if (!grant)
		return drop(&job, ETH_DROP_NO_GRANT);
	if (job.packet->head.type != job.host->type)
		return drop(&job, ETH_DROP_TYPE);
	why = check_head(&job);
	if (why)
		return drop(&job, why);
	if (job.packet->head.kind != ETH_PACKET)
		return drop(&job, ETH_DROP_KIND);
	why = check_packet(&job);
	if (why)
		return drop(&job, why);
	why = check_grant(&job, grant);
	if (why)
		return drop(&job, why);
	if (job.packet->head.dst_host == job.host->id)
		return deliver_from_port(&job);
	return send_from_port(&job);
}

/* Behind a port come packets that eth_nic or eth_port has checked, and what the kernel itself sends. */
SEC("xdp")
int eth_door(struct xdp_md *ctx)
{
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, ETH_RAILS))
		return XDP_ABORTED;
	if (job.packet->head.type != job.host->type)
		return drop(&job, ETH_DROP_TYPE);
	why = check_head(&job);
	if (why)
		return drop(&job, why);
	return redirect(&job, &doors, job.packet->head.dst_context, ETH_DROP_DETACHED);
}

char license_text[] SEC("license") = "Dual BSD/GPL";
