// SPDX-License-Identifier: BSD-3-Clause
/*
 * simapp - traffic and its model. Message n from a to b has a length chosen when it was ordered and
 * contents that follow from (a, b, n). So a message that is lost, doubled, moved or damaged is
 * seen. It shows as a wrong length or byte at the place where it should have been.
 */
#include "tests/sim/simapp.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CANARY 64 /* bytes on both sides of an operation's memory */
#define CANARY_BYTE 0xc5
#define ROW_MAX 4 /* messages read behind another one */

/* Byte @i of the contents named @key. */
static uint8_t pattern(uint64_t key, uint64_t i)
{
	uint64_t z = (key + (i >> 3)) * 0x9e3779b97f4a7c15ull;

	return (uint8_t)((z ^ (z >> 29)) >> (i & 7) * 8);
}

/* Eight bytes of it from @i on, a multiple of 8, as they lie in memory. */
static uint64_t pattern_word(uint64_t key, uint64_t i)
{
	uint64_t z = (key + (i >> 3)) * 0x9e3779b97f4a7c15ull;

	return htole64(z ^ (z >> 29));
}

static void fill(uint8_t *at, uint64_t len, uint64_t key)
{
	uint64_t i, word;

	for (i = 0; i + 8 <= len; i += 8) {
		word = pattern_word(key, i);
		memcpy(at + i, &word, 8);
	}
	for (; i < len; i++)
		at[i] = pattern(key, i);
}

/* Where the contents first differ from the pattern that starts at @offset; @len if nowhere. */
static uint64_t first_wrong(const uint8_t *at, uint64_t len, uint64_t key, uint64_t offset)
{
	uint64_t i, word;

	for (i = 0; i < len && (offset + i) % 8; i++)
		if (at[i] != pattern(key, offset + i))
			return i;
	for (; i + 8 <= len; i += 8) {
		memcpy(&word, at + i, 8);
		if (word != pattern_word(key, offset + i))
			break;
	}
	for (; i < len && at[i] == pattern(key, offset + i); i++)
		;
	return i;
}

static uint64_t message_key(const struct sim_flow *flow, uint32_t n)
{
	return ((uint64_t)flow->src << 48) ^ ((uint64_t)flow->dst << 32) ^ n * 0x100000001b3ull;
}

static struct sim_flow *flow_of(const struct sim *sim, uint32_t src, uint32_t dst)
{
	return sim->flows[(size_t)src * sim->config.net.nodes + dst];
}

/* Room for one more pointer in an array. */
static void *grown(void *array, uint32_t n, uint32_t *room)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 8;
	array = realloc(array, *room * sizeof(void *));
	assert(array);
	return array;
}

static bool is_complete(const struct sim_flow *flow)
{
	return flow->is_cut || flow->received >= flow->total;
}

/* Puts a flow on the lists of what is to be done. */
static void enlist(struct sim *sim, struct sim_flow *flow)
{
	struct sim_node *node = &sim->nodes[flow->src];
	uint32_t i;

	simdue_mark(&sim->due, flow->src);
	if (!flow->is_open) {
		sim->open = grown(sim->open, sim->n_open, &sim->room_open);
		sim->open[sim->n_open++] = flow;
		flow->is_open = true;
	}
	if (flow->is_out)
		return;
	node->out = grown(node->out, node->n_out, &node->room_out);
	for (i = node->n_out++; i && node->out[i - 1]->dst > flow->dst; i--)
		node->out[i] = node->out[i - 1];
	node->out[i] = flow;
	flow->is_out = true;
}

struct sim_flow *sim_send(struct sim *sim, uint32_t src, uint32_t dst, uint32_t count, uint32_t min,
			  uint32_t max)
{
	struct sim_flow *flow = flow_of(sim, src, dst);
	uint32_t i;

	if (!flow) {
		flow = calloc(1, sizeof(*flow));
		assert(flow);
		flow->src = src;
		flow->dst = dst;
		sim->flows[(size_t)src * sim->config.net.nodes + dst] = flow;
	}
	flow->lens = realloc(flow->lens, (flow->total + (size_t)count) * sizeof(*flow->lens));
	assert(flow->lens || !count);
	for (i = 0; i < count; i++)
		flow->lens[flow->total++] =
			min + (uint32_t)(tap_rand(&sim->random) % (max - min + 1));
	enlist(sim, flow);
	return flow;
}

static bool send_one(struct sim *sim, struct sim_flow *flow, uint64_t now)
{
	struct chan *chan = sim->nodes[flow->src].chan;
	struct chan_peer *peer = sim_peer(sim, flow->src, flow->dst);
	uint32_t len = flow->lens[flow->sent], reserved = len;
	struct pm_packet *packet;
	void *payload;
	int rc;

	/* Now and then more is reserved than is sent. */
	if (tap_rand(&sim->random) % 8 == 0)
		reserved = chan_peer_mtu(peer);
	rc = chan_reserve(chan, peer, reserved, &packet, &payload);
	if (rc == -EAGAIN)
		return false;
	if (rc == -EPIPE && sim->config.dead_is_fine) {
		flow->is_cut = true;
		return false;
	}
	if (!is_int(rc, 0))
		return false;
	is_int((uintptr_t)payload % 8, 0);
	fill(payload, len, message_key(flow, flow->sent));
	chan_submit(chan, peer, packet, len, now);
	flow->sent++;
	return true;
}

static bool start_op(struct sim *sim, struct sim_op *op, uint64_t now)
{
	struct chan *chan = sim->nodes[op->node].chan;
	struct chan_peer *peer = sim_peer(sim, op->node, op->peer);
	int rc;

	if (op->is_write)
		rc = chan_write(chan, peer, op->rkey, op->offset, op->local, op->len, now, &op->op);
	else
		rc = chan_read(chan, peer, op->rkey, op->offset, op->local, op->len, now, &op->op);
	if (rc == -EPIPE && op->expected != 0) {
		op->status = rc;
		return true;
	}
	if (rc == -EAGAIN)
		return false;
	return is_int(rc, 0) && ok(op->op != 0);
}

/* One message of each flow; false: none could go. */
static bool send_round(struct sim *sim, struct sim_node *node, uint64_t now)
{
	bool was_any = false;
	uint32_t i, n = 0;

	for (i = 0; i < node->n_out; i++) {
		struct sim_flow *flow = node->out[i];

		if (!flow->is_cut && flow->sent < flow->total)
			was_any |= send_one(sim, flow, now);
		flow->is_out = !flow->is_cut && flow->sent < flow->total;
		if (flow->is_out)
			node->out[n++] = flow;
	}
	node->n_out = n;
	return was_any;
}

void simapp_send(struct sim *sim, uint32_t number, uint64_t now)
{
	struct sim_node *node = &sim->nodes[number];
	uint32_t i;

	for (i = 0; i < node->n_open; i++)
		if (!node->open[i]->op && node->open[i]->status == -EAGAIN &&
		    !start_op(sim, node->open[i], now))
			break;
	while (send_round(sim, node, now))
		;
}

static void release_one(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	uint32_t i = (uint32_t)(tap_rand(&sim->random) % node->n_held);

	chan_release(node->chan, node->held[i].cookie);
	node->n_held_messages -= node->held[i].n;
	node->held[i] = node->held[--node->n_held];
}

static bool check_message(struct sim *sim, uint32_t node, const struct chan_msg *msg)
{
	struct sim_flow *flow = msg->src < sim->config.net.nodes ? flow_of(sim, msg->src, node)
								 : NULL;
	uint64_t wrong;

	if (!okf(flow && flow->received < flow->sent,
		 "node %u got a message from node %u that was not sent", node, msg->src))
		return false;
	if (!okf(msg->len == flow->lens[flow->received],
		 "message %u from node %u to %u has %u bytes, expected %u", flow->received,
		 msg->src, node, msg->len, flow->lens[flow->received]))
		return false;
	wrong = first_wrong(msg->data, msg->len, message_key(flow, flow->received), 0);
	if (!okf(wrong == msg->len, "message %u from node %u to %u is wrong at byte %llu of %u",
		 flow->received, msg->src, node, (unsigned long long)wrong, msg->len))
		return false;
	if (!flow->received)
		flow->first_ns = sim_now(sim);
	flow->last_ns = sim_now(sim);
	flow->bytes += msg->len;
	flow->received++;
	if (flow->received == flow->total && sim->config.flow_done)
		sim->config.flow_done(sim->config.done_arg, flow);
	return true;
}

/* The message, and some of those that are here behind it and are released with it. */
static bool check_row(struct sim *sim, uint32_t node, const struct chan_msg *msg, uint32_t *ret_n)
{
	struct chan_msg next = *msg;
	struct iovec row[ROW_MAX];
	uint32_t room = msg->len % (ROW_MAX + 1), n;

	if (!check_message(sim, node, msg))
		return false;
	n = chan_next_row(sim->nodes[node].chan, msg->cookie, row, room);
	*ret_n = 1 + n;
	for (uint32_t i = 0; i < n; i++) {
		next.data = row[i].iov_base;
		next.len = (uint32_t)row[i].iov_len;
		if (!check_message(sim, node, &next))
			return false;
	}
	return true;
}

void simapp_receive(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	struct chan_msg msg;
	uint32_t n = 1;

	while (!node->is_stalled && chan_next(node->chan, &msg)) {
		if (!sim->is_careless && !check_row(sim, number, &msg, &n)) {
			sim->is_broken = true;
			chan_release(node->chan, msg.cookie);
			return;
		}
		node->held[node->n_held++] = (struct sim_held){msg.cookie, n};
		node->n_held_messages += n;
		if (node->n_held_messages > node->hold)
			release_one(sim, number);
	}
	/* rows of several could be all that the sender has credit for */
	while (node->n_held_messages > node->hold)
		release_one(sim, number);
}

static struct sim_region *add_region(struct sim *sim, uint32_t node, uint8_t *mem, uint64_t len)
{
	struct sim_region *region = calloc(1, sizeof(*region));

	assert(region && mem);
	region->node = node;
	region->len = len;
	region->mem = mem;
	is_int(region_add(sim->nodes[node].regions, mem, len, &region->rkey), 0);
	sim->regions = grown(sim->regions, sim->n_regions, &sim->room_regions);
	sim->regions[sim->n_regions++] = region;
	return region;
}

struct sim_region *sim_export(struct sim *sim, uint32_t node, uint64_t len)
{
	struct sim_region *region = add_region(sim, node, malloc(len), len);

	fill(region->mem, len, region->rkey);
	return region;
}

struct sim_region *sim_export_at(struct sim *sim, uint32_t node, uint8_t *mem, uint64_t len)
{
	struct sim_region *region = add_region(sim, node, mem, len);

	region->is_borrowed = true;
	return region;
}

void sim_withdraw(struct sim *sim, struct sim_region *region)
{
	struct sim_node *node = &sim->nodes[region->node];
	uint64_t len;
	void *addr;

	is_int(region_remove(node->regions, region->rkey, &addr, &len), 0);
	chan_unexport(node->chan, region->rkey, addr, len);
	memset(addr, 0xbb, len);
}

static void list_op(struct sim *sim, struct sim_op *op)
{
	struct sim_node *owner = &sim->nodes[op->node];

	sim->ops = grown(sim->ops, sim->n_ops, &sim->room_ops);
	sim->ops[sim->n_ops++] = op;
	owner->open = grown(owner->open, owner->n_open, &owner->room_open);
	owner->open[owner->n_open++] = op;
	simdue_mark(&sim->due, op->node);
}

static struct sim_op *add_op(struct sim *sim, uint32_t node, const struct sim_region *region,
			     uint64_t offset, uint64_t len, bool is_write)
{
	struct sim_op *op = calloc(1, sizeof(*op));
	uint8_t *memory = malloc(len + 2 * CANARY);
	bool is_inside = offset <= region->len && len <= region->len - offset;

	assert(op && memory);
	memset(memory, CANARY_BYTE, len + 2 * CANARY);
	*op = (struct sim_op){.node = node,
			      .peer = region->node,
			      .is_write = is_write,
			      .rkey = region->rkey,
			      .offset = offset,
			      .len = len,
			      .local = memory + CANARY,
			      .memory = memory,
			      .status = -EAGAIN,
			      .remote = is_inside ? region->mem + offset : NULL,
			      .expected = is_inside ? 0 : -EACCES};
	if (is_write)
		fill(op->local, len, region->rkey ^ 0x5555 ^ offset);
	list_op(sim, op);
	return op;
}

struct sim_op *sim_fetch(struct sim *sim, uint32_t node, const struct sim_region *region,
			 uint8_t *local)
{
	struct sim_op *op = calloc(1, sizeof(*op));

	assert(op);
	*op = (struct sim_op){.node = node,
			      .peer = region->node,
			      .rkey = region->rkey,
			      .len = region->len,
			      .local = local,
			      .status = -EAGAIN};
	list_op(sim, op);
	return op;
}

struct sim_op *sim_read(struct sim *sim, uint32_t node, const struct sim_region *region,
			uint64_t offset, uint64_t len)
{
	return add_op(sim, node, region, offset, len, false);
}

struct sim_op *sim_write(struct sim *sim, uint32_t node, const struct sim_region *region,
			 uint64_t offset, uint64_t len)
{
	return add_op(sim, node, region, offset, len, true);
}

static void check_op(const struct sim *sim, const struct sim_op *op)
{
	uint64_t wrong;
	int i;

	if (op->expected != 1)
		okf(op->status == op->expected, "%s of %llu bytes from node %u at %u ended with %d",
		    op->is_write ? "write" : "read", (unsigned long long)op->len, op->node,
		    op->peer, op->status);
	for (i = 0; op->memory && i < CANARY; i++)
		okf(op->local[-1 - i] == CANARY_BYTE && op->local[op->len + i] == CANARY_BYTE,
		    "an operation wrote outside its memory");
	if (op->status || !op->remote || sim->is_careless)
		return;
	if (op->is_write)
		wrong = first_wrong(op->remote, op->len, op->rkey ^ 0x5555 ^ op->offset, 0);
	else
		wrong = first_wrong(op->local, op->len, op->rkey, op->offset);
	okf(wrong == op->len, "%s of %llu bytes is wrong at byte %llu",
	    op->is_write ? "write" : "read", (unsigned long long)op->len,
	    (unsigned long long)wrong);
}

/* Is it over? */
static bool reap_one(struct sim *sim, struct sim_op *op)
{
	struct chan *chan = sim->nodes[op->node].chan;

	if (!op->op)
		return op->status != -EAGAIN;
	op->status = chan_op_done(chan, op->op);
	if (op->status == -EAGAIN)
		return false;
	op->done_ns = sim_now(sim);
	check_op(sim, op);
	is_int(chan_op_done(chan, op->op), -ENOENT);
	if (sim->config.op_done)
		sim->config.op_done(sim->config.done_arg, op);
	return true;
}

void simapp_reap(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	uint32_t i, n = 0;

	for (i = 0; i < node->n_open; i++)
		if (!reap_one(sim, node->open[i]))
			node->open[n++] = node->open[i];
	node->n_open = n;
}

void simapp_cut(struct sim *sim, uint32_t a, uint32_t b)
{
	if (flow_of(sim, a, b))
		flow_of(sim, a, b)->is_cut = true;
	if (flow_of(sim, b, a))
		flow_of(sim, b, a)->is_cut = true;
}

bool simapp_is_done(struct sim *sim)
{
	while (sim->n_open && is_complete(sim->open[sim->n_open - 1]))
		sim->open[--sim->n_open]->is_open = false;
	if (sim->n_open)
		return false;
	for (; sim->first_op < sim->n_ops; sim->first_op++)
		if (sim->ops[sim->first_op]->status == -EAGAIN &&
		    sim->nodes[sim->ops[sim->first_op]->node].chan)
			return false;
	return true;
}

void simapp_explain(const struct sim *sim)
{
	uint32_t n = sim->config.net.nodes, i;
	char text[2048], *line, *rest;

	for (i = 0; i < n * n; i++) {
		const struct sim_flow *flow = sim->flows[i];

		if (flow && !flow->is_cut && flow->received < flow->total)
			tap_diag("node %u to %u: ordered %u, sent %u, received %u", flow->src,
				 flow->dst, flow->total, flow->sent, flow->received);
	}
	for (i = 0; i < sim->n_ops; i++)
		if (sim->ops[i]->status == -EAGAIN)
			tap_diag("%s %u of %llu bytes, node %u at %u: not done",
				 sim->ops[i]->is_write ? "write" : "read", sim->ops[i]->op,
				 (unsigned long long)sim->ops[i]->len, sim->ops[i]->node,
				 sim->ops[i]->peer);
	for (i = 0; i < n && i < 4; i++) {
		if (!sim->nodes[i].chan)
			continue;
		chan_dump(sim->nodes[i].chan, text, sizeof(text));
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			tap_diag("node %u: %s", i, line);
	}
}

void simapp_check_counters(const struct sim *sim)
{
	uint32_t n = sim->config.net.nodes, i, j;

	for (i = 0; i < n; i++) {
		uint64_t sent = 0, received = 0, tx_bytes = 0, rx_bytes = 0;

		for (j = 0; j < n; j++) {
			const struct sim_flow *out = flow_of(sim, i, j), *in = flow_of(sim, j, i);
			uint32_t k;

			sent += out ? out->sent : 0;
			for (k = 0; out && k < out->sent; k++)
				tx_bytes += out->lens[k];
			received += in ? in->received : 0;
			rx_bytes += in ? in->bytes : 0;
		}
		is_int(sim->nodes[i].stats.tx_messages, sent);
		is_int(sim->nodes[i].stats.tx_bytes, tx_bytes);
		is_int(sim->nodes[i].stats.rx_messages, received);
		is_int(sim->nodes[i].stats.rx_bytes, rx_bytes);
	}
}

void simapp_fini(struct sim *sim)
{
	size_t pairs = (size_t)sim->config.net.nodes * sim->config.net.nodes, i;

	for (i = 0; i < pairs; i++) {
		if (sim->flows[i])
			free(sim->flows[i]->lens);
		free(sim->flows[i]);
	}
	for (i = 0; i < sim->n_ops; i++) {
		free(sim->ops[i]->memory);
		free(sim->ops[i]);
	}
	for (i = 0; i < sim->n_regions; i++) {
		if (!sim->regions[i]->is_borrowed)
			free(sim->regions[i]->mem);
		free(sim->regions[i]);
	}
	for (i = 0; i < sim->config.net.nodes; i++) {
		free(sim->nodes[i].out);
		free(sim->nodes[i].open);
	}
	free(sim->flows);
	free(sim->open);
	free(sim->ops);
	free(sim->regions);
}

double sim_goodput(const struct sim_flow *flow)
{
	if (flow->last_ns <= flow->first_ns)
		return 0;
	return (double)flow->bytes * 1e9 / (double)(flow->last_ns - flow->first_ns);
}
