/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * relay - the hypercrossbar's part of the programs: where a frame for a far host goes next, frames
 * of others that pass through this host, and the pulse of our neighbours. Where a frame goes is
 * said by route.h; this file gives it the maps to look at and does what it says. Without a grid
 * nothing here is reached but has_grid.
 */
#ifndef PM_ETHERNET_BPF_RELAY_BPF_H
#define PM_ETHERNET_BPF_RELAY_BPF_H

#include "pm-ethernet/bpf/job.bpf.h"

/*
 * There is one grid, so functions that read it need no pointer to it. The functions with the loops
 * of route.h are neither inlined nor static, so that the verifier walks each once, and not once for
 * each path that leads there.
 */
struct eth_way;
int across(__u32 dim, __u32 lane, __u32 to, struct eth_way *way);
#define ETH_ROUTE_ACROSS(env, grid, dim, lane, to, way) across(dim, lane, to, way)
static __always_inline int is_open(__u32 rail, __u32 to);
#define eth_route_is_open(env, rail, to) is_open(rail, to)

/*
 * A bound right where it is needed: before Linux 6.8 the verifier forgets what it knew of a number
 * on its way over the stack. A mask is no branch to be walked; and seven times the size of a member
 * is inside of struct eth_grid and struct eth_point for every array of these.
 */
static __always_inline __u32 index_below_8(__u32 i)
{
	barrier_var(i);
	return i & 7;
}
_Static_assert(ETH_DIMS <= 8 && ETH_RAILS <= 8, "indices have three bits");
#define eth_route_index(i, n) index_below_8(i)

#include "pm-ethernet/route.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct eth_grid);
} grid SEC(".maps");

/* The daemon says how many there are before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct eth_point);
} points SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ETH_NEIGHBOURS);
	__type(key, __u32);
	__type(value, struct eth_neighbour);
} neighbours SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ETH_NEIGHBOURS);
	__type(key, __u32);
	__type(value, __u64);
} pulses SEC(".maps");

/* Not memcmp: some versions of clang make a call of it. */
static __always_inline int is_same_mac(const uint8_t a[ETH_MAC], const uint8_t b[ETH_MAC])
{
	__u32 differs = 0;

	for (int i = 0; i < ETH_MAC; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

static __always_inline const struct eth_grid *own_grid(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&grid, &zero);
}

static __always_inline int has_grid(void)
{
	const struct eth_grid *own = own_grid();

	return own && own->n_dims;
}

static __always_inline const struct eth_neighbour *find_neighbour(__u32 rail, __u32 at)
{
	__u32 place = rail * ETH_LINE_MAX + at;

	return at < ETH_LINE_MAX ? bpf_map_lookup_elem(&neighbours, &place) : 0;
}

static __always_inline int is_open(__u32 rail, __u32 to)
{
	const struct eth_neighbour *neighbour = find_neighbour(rail, to);

	return neighbour && neighbour->is_open;
}

static __always_inline const struct eth_point *find_point(__u32 host_id)
{
	__u32 place = host_id - 1;
	const struct eth_point *point = bpf_map_lookup_elem(&points, &place);

	return point && point->is_known ? point : 0;
}

__attribute__((noinline)) int across(__u32 dim, __u32 lane, __u32 to, struct eth_way *way)
{
	const struct eth_grid *own = own_grid();

	return own && way ? eth_route_across(0, own, dim, lane, to, way) : -1;
}

/*
 * Where a frame to @dst_host goes from here that its sender gave to @rail: 0 and *way, or why
 * nowhere (enum eth_drop).
 */
__attribute__((noinline)) int find_way(__u32 dst_host, __u32 rail, __u32 late, __u32 salt,
				       struct eth_way *way)
{
	const struct eth_grid *own = own_grid();
	const struct eth_point *dst = find_point(dst_host);

	if (!own || !way)
		return ETH_DROP_WAY;
	if (!dst)
		return ETH_DROP_POINT;
	if (rail >= ETH_RAILS)
		return ETH_DROP_RAIL;
	return eth_route(0, own, dst, own->lane[rail], late, salt, way) ? ETH_DROP_WAY
									: ETH_DROP_NONE;
}

/*
 * Addresses the frame to the next host on its way: 0 and our rail to there, or why it goes nowhere.
 */
static __always_inline enum eth_drop aim(const struct job *job, __u32 *ret_rail)
{
	struct eth_frame *head = &job->packet->head;
	__u32 late = (head->flags & ETH_F_LATE) >> ETH_LATE_SHIFT;
	__u32 salt = eth_route_salt(head->src_host, head->dst_host);
	const struct eth_neighbour *next;
	const struct eth_nic *nic;
	struct eth_way way = {};
	__u32 why;

	why = find_way(head->dst_host, head->rail, late, salt, &way);
	/* the verifier does not look into the function for what it may return */
	barrier_var(why);
	if (why >= ETH_DROPS)
		return ETH_DROP_WAY;
	if (why)
		return why;
	next = find_neighbour(way.rail, way.to);
	nic = bpf_map_lookup_elem(&nics, &way.rail);
	if (!next || !nic)
		return ETH_DROP_WAY;
	__builtin_memcpy(head->dst_mac, next->mac, ETH_MAC);
	__builtin_memcpy(head->src_mac, nic->mac, ETH_MAC);
	head->flags = (head->flags & ~ETH_F_LATE) | (way.late << ETH_LATE_SHIFT & ETH_F_LATE);
	job->counters->detours += !late && way.late;
	*ret_rail = way.rail;
	return ETH_DROP_NONE;
}

/* A frame for another host goes on its way. */
static __always_inline int relay(const struct job *job)
{
	struct eth_frame *head = &job->packet->head;
	__u32 in = nic_rail, out = 0;
	const struct eth_nic *nic = bpf_map_lookup_elem(&nics, &in);
	enum eth_drop why;
	int verdict;

	/*
	 * A switch brings what it knows no port for to every host of the line; one of them relays
	 * it.
	 */
	if (!nic || !is_same_mac(head->dst_mac, nic->mac))
		return drop(job, ETH_DROP_HOST);
	if (head->ttl <= 1)
		return drop(job, ETH_DROP_TTL);
	why = aim(job, &out);
	if (why)
		return drop(job, why);
	head->ttl--;
	verdict = send_out(job, out);
	if (verdict == HOOK_SENT) {
		job->counters->relayed_frames++;
		job->counters->relayed_bytes += hook_length(job->ctx);
	}
	return verdict;
}

/*
 * The coordinate of a host that the grid has on our line of this NIC; ETH_LINE_MAX: it is not
 * there.
 */
static __always_inline __u32 place_on_line(__u32 host_id)
{
	const struct eth_grid *own = own_grid();
	const struct eth_point *point = find_point(host_id);
	__u32 dim, to = ETH_LINE_MAX;

	if (!own || !point)
		return ETH_LINE_MAX;
	dim = own->dim[nic_rail % ETH_RAILS];
	for (__u32 d = 0; d < ETH_DIMS; d++) {
		if (d == dim)
			to = point->at[d];
		else if (point->at[d] != own->own.at[d])
			return ETH_LINE_MAX;
	}
	return to;
}

/*
 * Answers a neighbour that asks whether we are here; nobody but this program has to be alive for
 * it. The answer leaves as relayed frames do, not by hook_answer: it tells that they can, and veth
 * holds back what goes by XDP_TX to an end without a program.
 */
static __always_inline int answer_watch(const struct job *job)
{
	struct eth_frame *head = &job->packet->head;
	__u32 rail = nic_rail;
	const struct eth_nic *nic = bpf_map_lookup_elem(&nics, &rail);
	int verdict;

	if (!nic || place_on_line(head->src_host) >= ETH_LINE_MAX)
		return drop(job, ETH_DROP_POINT);
	/* an answer to a group would be answers to many */
	if (head->src_mac[0] & 1)
		return drop(job, ETH_DROP_GROUP);
	__builtin_memcpy(head->dst_mac, head->src_mac, ETH_MAC);
	__builtin_memcpy(head->src_mac, nic->mac, ETH_MAC);
	head->kind = ETH_ECHO;
	head->dst_host = head->src_host;
	head->src_host = job->host->id;
	verdict = send_out(job, rail);
	job->counters->control += verdict == HOOK_SENT;
	return verdict;
}

/* Notes when a neighbour answered; it must be who discovery found there. */
static __always_inline int note_echo(const struct job *job)
{
	const struct eth_frame *head = &job->packet->head;
	__u32 to = place_on_line(head->src_host), place = nic_rail * ETH_LINE_MAX + to;
	const struct eth_neighbour *neighbour = find_neighbour(nic_rail, to);
	__u64 *pulse = bpf_map_lookup_elem(&pulses, &place);

	if (head->dst_host != job->host->id)
		return drop(job, ETH_DROP_HOST);
	if (to >= ETH_LINE_MAX || !neighbour || !pulse)
		return drop(job, ETH_DROP_POINT);
	if (!is_same_mac(head->src_mac, neighbour->mac))
		return drop(job, ETH_DROP_SOURCE);
	*(volatile __u64 *)pulse = bpf_ktime_get_ns();
	job->counters->control++;
	return HOOK_DROP;
}

#endif
