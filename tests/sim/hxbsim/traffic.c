// SPDX-License-Identifier: BSD-3-Clause
/* traffic - orders messages and reads round by round; see traffic.h. */
#include "tests/sim/hxbsim/traffic.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t payload_max(const struct settings *settings)
{
	uint32_t head = (uint32_t)WIRE_OVERHEAD;

	if (settings->is_read)
		head += (uint32_t)sizeof(struct wire_place);
	return settings->net.mtu - head;
}

double traffic_wire_bytes(const struct settings *settings)
{
	uint32_t most = payload_max(settings);
	uint64_t packets = (settings->bytes + most - 1) / most;
	uint64_t heads = packets * (settings->net.mtu - most + settings->net.overhead_bytes);

	return (double)((settings->bytes + heads) * settings->messages);
}

static uint32_t *left_of(struct traffic *traffic, uint32_t host, uint32_t round)
{
	return &traffic->left[(size_t)host * traffic->plan.rounds + round];
}

static void send_messages(struct traffic *traffic, struct transfer *transfer)
{
	const struct settings *settings = traffic->settings;
	uint32_t most = payload_max(settings), rest = (uint32_t)(settings->bytes % most);
	struct sim_flow *flow;
	uint64_t i;

	for (i = 0; i < settings->messages; i++) {
		flow = sim_send(traffic->sim, transfer->src, transfer->dst,
				(uint32_t)(settings->bytes / most), most, most);
		if (rest)
			sim_send(traffic->sim, transfer->src, transfer->dst, 1, rest, rest);
		flow->tag = transfer;
	}
	transfer->left = 1;
}

static void read_region(struct traffic *traffic, struct transfer *transfer)
{
	uint64_t i;

	for (i = 0; i < traffic->settings->messages; i++)
		sim_fetch(traffic->sim, transfer->dst, traffic->regions[transfer->src],
			  traffic->sink)
			->tag = transfer;
	transfer->left = (uint32_t)traffic->settings->messages;
}

/* A round of a host: it sends, or it reads from those that would have sent. */
static void start_round(struct traffic *traffic, uint32_t host)
{
	uint32_t round = traffic->begun[host]++, n, i;

	if (traffic->settings->is_read)
		n = pattern_sources(&traffic->plan, host, round, traffic->partners);
	else
		n = pattern_targets(&traffic->plan, host, round, traffic->partners);
	for (i = 0; i < n; i++) {
		struct transfer *transfer = calloc(1, sizeof(*transfer));
		uint32_t partner = traffic->partners[i];

		assert(transfer);
		transfer->src = traffic->settings->is_read ? partner : host;
		transfer->dst = traffic->settings->is_read ? host : partner;
		transfer->round = round;
		if (traffic->settings->is_read)
			read_region(traffic, transfer);
		else
			send_messages(traffic, transfer);
	}
}

static void advance(struct traffic *traffic, uint32_t host)
{
	uint32_t rounds = traffic->plan.rounds;

	while (traffic->round[host] < rounds && !*left_of(traffic, host, traffic->round[host]))
		traffic->round[host]++;
	while (traffic->begun[host] < rounds &&
	       traffic->begun[host] < traffic->round[host] + traffic->settings->depth)
		start_round(traffic, host);
}

static void finish(struct traffic *traffic, struct transfer *transfer)
{
	uint64_t bytes = traffic->settings->bytes * traffic->settings->messages;
	uint32_t src = transfer->src, dst = transfer->dst;

	traffic->n_done++;
	traffic->got[dst] += bytes;
	traffic->sent[src] += bytes;
	traffic->last_ns[src] = traffic->last_ns[dst] = sim_now(traffic->sim);
	--*left_of(traffic, src, transfer->round);
	--*left_of(traffic, dst, transfer->round);
	free(transfer);
	advance(traffic, src);
	advance(traffic, dst);
}

static void flow_done(void *arg, struct sim_flow *flow)
{
	finish(arg, flow->tag);
}

static void op_done(void *arg, struct sim_op *op)
{
	struct transfer *transfer = op->tag;

	if (!--transfer->left)
		finish(arg, transfer);
}

void traffic_hooks(struct traffic *traffic, struct sim_config *config)
{
	config->flow_done = flow_done;
	config->op_done = op_done;
	config->done_arg = traffic;
}

static void export_memory(struct traffic *traffic)
{
	uint32_t i;

	traffic->source = calloc(1, traffic->settings->bytes);
	traffic->sink = calloc(1, traffic->settings->bytes);
	traffic->regions = calloc(traffic->plan.hosts, sizeof(struct sim_region *));
	assert(traffic->source && traffic->sink && traffic->regions);
	for (i = 0; i < traffic->plan.hosts; i++)
		traffic->regions[i] =
			sim_export_at(traffic->sim, i, traffic->source, traffic->settings->bytes);
}

void traffic_start(struct traffic *traffic, const struct settings *settings, struct sim *sim)
{
	uint32_t hosts, host, round;

	*traffic = (struct traffic){.settings = settings, .sim = sim, .begin_ns = sim_now(sim)};
	pattern_init(&traffic->plan, settings);
	hosts = traffic->plan.hosts;
	traffic->round = calloc(hosts, sizeof(*traffic->round));
	traffic->begun = calloc(hosts, sizeof(*traffic->begun));
	traffic->left = calloc((size_t)hosts * traffic->plan.rounds, sizeof(*traffic->left));
	traffic->got = calloc(hosts, sizeof(*traffic->got));
	traffic->sent = calloc(hosts, sizeof(*traffic->sent));
	traffic->last_ns = calloc(hosts, sizeof(*traffic->last_ns));
	traffic->partners = calloc(hosts, sizeof(*traffic->partners));
	assert(traffic->round && traffic->begun && traffic->left && traffic->got && traffic->sent &&
	       traffic->last_ns && traffic->partners);
	if (settings->is_read)
		export_memory(traffic);
	for (host = 0; host < hosts; host++)
		for (round = 0; round < traffic->plan.rounds; round++) {
			uint32_t out =
				pattern_targets(&traffic->plan, host, round, traffic->partners);

			traffic->n_transfers += out;
			*left_of(traffic, host, round) =
				out +
				pattern_sources(&traffic->plan, host, round, traffic->partners);
		}
	for (host = 0; host < hosts; host++)
		advance(traffic, host);
}

void traffic_fini(struct traffic *traffic)
{
	pattern_fini(&traffic->plan);
	free(traffic->round);
	free(traffic->begun);
	free(traffic->left);
	free(traffic->got);
	free(traffic->sent);
	free(traffic->last_ns);
	free(traffic->partners);
	free(traffic->regions);
	free(traffic->source);
	free(traffic->sink);
}

bool traffic_is_done(const struct traffic *traffic)
{
	return traffic->n_done == traffic->n_transfers;
}
