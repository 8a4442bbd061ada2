// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * The kernel's half of pm-ethernet: three programs that bring frames of our EtherType to the
 * context they are for, and let nothing else happen. eth_nic looks at what a NIC received and
 * leaves all other traffic to the kernel. eth_port holds a process to the identity its port was
 * granted. eth_door hands over at the process's end of a port. Each frame is either passed, or
 * handed on, or dropped and counted under one reason. They keep no state but the counters, and know
 * nothing of what the channel puts into a packet but its length and its key.
 */
#include "pm-ethernet/bpf/job.bpf.h"
#include "pm-ethernet/bpf/relay.bpf.h"

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
 * Counts a packet that found no context as dropped. One that asks is turned around (true) to go
 * back where it came from, as it is but for the head: its key lets it pass to whoever sent it, and
 * nobody answers it again.
 */
static __always_inline int refuse(const struct job *job, enum eth_drop why)
{
	struct eth_frame *head = &job->packet->head;
	struct eth_frame old = *head;

	job->counters->drops[why]++;
	if (has_grid())
		old.flags &= ~ETH_F_LATE;
	if (old.flags != ETH_F_ASK || old.kind != ETH_PACKET)
		return 0;
	/* One frame to a group would bring many answers, one from a group an answer to many. */
	if ((old.dst_mac[0] | old.src_mac[0]) & 1)
		return 0;
	__builtin_memcpy(head->dst_mac, old.src_mac, ETH_MAC);
	__builtin_memcpy(head->src_mac, old.dst_mac, ETH_MAC);
	head->kind = ETH_GONE;
	head->ttl = ETH_TTL;
	head->flags = 0;
	head->dst_host = old.src_host;
	head->src_host = old.dst_host;
	head->dst_context = old.src_context;
	head->src_context = old.dst_context;
	return 1;
}

/* Refuses what came from a NIC: in a grid it may have come another way than leads back. */
static __always_inline int refuse_to_network(const struct job *job, enum eth_drop why)
{
	__u32 rail = 0;

	if (!refuse(job, why))
		return HOOK_DROP;
	if (!has_grid())
		return hook_answer(job);
	why = aim(job, &rail);
	return why ? drop(job, why) : send_out(job, rail);
}

/* Hands a packet to a context as having come by our rail @in_rail. */
static __always_inline int deliver(const struct job *job, const struct eth_context *context,
				   __u32 in_rail)
{
	enum eth_drop why = hook_deliver(job, context, job->packet->head.dst_context, in_rail);

	if (why)
		return drop(job, why);
	count(job);
	return HOOK_TAKEN;
}

/* From a NIC to a context of this host. */
static __always_inline int deliver_from_nic(const struct job *job)
{
	const struct eth_context *context;
	enum eth_drop why;

	if (job->packet->head.rail >= ETH_RAILS)
		return drop(job, ETH_DROP_RAIL);
	context = find_context(job, &why);
	return context ? deliver(job, context, nic_rail) : refuse_to_network(job, why);
}

/* From a NIC, but not for this host. */
static __always_inline int forward_from_nic(const struct job *job)
{
	return has_grid() ? relay(job) : drop(job, ETH_DROP_HOST);
}

/* From a NIC, and no packet. */
static __always_inline int control_from_nic(const struct job *job)
{
	__u8 kind = job->packet->head.kind;

	if (kind == ETH_QUERY || kind == ETH_ANSWER) {
		job->counters->control++;
		return HOOK_PASS;
	}
	if (kind == ETH_WATCH && has_grid())
		return answer_watch(job);
	if (kind == ETH_ECHO && has_grid())
		return note_echo(job);
	return drop(job, ETH_DROP_KIND);
}

SEC(HOOK_SECTION)
int eth_nic(hook_ctx *ctx)
{
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, nic_rail) || !is_ours(&job))
		return HOOK_PASS;
	why = check_head(&job);
	if (why)
		return drop(&job, why);
	if (job.packet->head.kind != ETH_PACKET && job.packet->head.kind != ETH_GONE)
		return control_from_nic(&job);
	why = check_packet(&job);
	if (why)
		return drop(&job, why);
	if (job.packet->head.dst_host != job.host->id)
		return forward_from_nic(&job);
	return deliver_from_nic(&job);
}

/*
 * From a port to another port of this host; a direct context's sockets are out of reach from here.
 */
static __always_inline int deliver_from_port(const struct job *job)
{
	const struct eth_context *context;
	enum eth_drop why;

	context = find_context(job, &why);
	if (!context)
		return refuse(job, why) ? hook_return(job, job->packet->head.dst_context)
					: HOOK_DROP;
	if (context->attachment != ETH_PORT)
		return drop(job, ETH_DROP_DETACHED);
	return deliver(job, context, job->packet->head.rail);
}

/* The same in a grid, where the first hop is not up to the process either. */
static __always_inline int send_to_grid(const struct job *job)
{
	enum eth_drop why;
	__u32 rail = 0;

	job->packet->head.ttl = ETH_TTL;
	job->packet->head.flags &= ~ETH_F_LATE;
	why = aim(job, &rail);
	return why ? drop(job, why) : take_out(job, rail);
}

/* From a port to another host. This program sets source MAC and TTL, whatever the process wrote. */
static __always_inline int send_from_port(const struct job *job)
{
	__u32 rail = job->packet->head.rail;
	const struct eth_nic *nic;

	if (has_grid())
		return send_to_grid(job);
	nic = bpf_map_lookup_elem(&nics, &rail);
	if (!nic)
		return drop(job, ETH_DROP_RAIL);
	__builtin_memcpy(job->packet->head.src_mac, nic->mac, ETH_MAC);
	job->packet->head.ttl = ETH_TTL;
	return take_out(job, rail);
}

/*
 * A process sends as nobody but the context that its port was granted to, and to one host at a
 * time.
 */
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

SEC(HOOK_SECTION)
int eth_port(hook_ctx *ctx)
{
	const struct eth_grant *grant;
	__u32 port = hook_port(ctx);
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, ETH_RAILS))
		return HOOK_DROP;
	grant = bpf_map_lookup_elem(&grants, &port);
	if (!grant)
		return drop(&job, ETH_DROP_NO_GRANT);
	if (!is_ours(&job))
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

#ifndef ETH_TC
/*
 * Behind a port come packets that eth_nic or eth_port has checked, and what the kernel itself
 * sends.
 */
SEC(HOOK_SECTION)
int eth_door(hook_ctx *ctx)
{
	enum eth_drop why;
	struct job job;

	if (!job_begin(&job, ctx, ETH_RAILS))
		return HOOK_DROP;
	if (!is_ours(&job))
		return drop(&job, ETH_DROP_TYPE);
	why = check_head(&job);
	if (why)
		return drop(&job, why);
	if (bpf_redirect_map(&doors, job.packet->head.dst_context, XDP_DROP) != XDP_REDIRECT)
		return drop(&job, ETH_DROP_DETACHED);
	return XDP_REDIRECT;
}
#endif

char license_text[] SEC("license") = "Dual BSD/GPL";
