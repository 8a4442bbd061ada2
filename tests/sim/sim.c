// SPDX-License-Identifier: BSD-3-Clause
/*
 * sim - drives the engines of a simulated job: the event loop, the device calls, pauses and deaths.
 * simapp.c has the messages that the application sends, and the checks of them.
 */
#include "tests/sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/simapp.h"
#include "tests/sim/simwires.h"

#define SPIN_MAX 1000 /* polls at one moment without a packet until the engine counts as spinning */
#define SPARES_MAX 16 /* transmit buffers an idle engine may keep */

/* The argument of an engine's calls: their simulation and their node. */
struct seat {
	struct sim *sim;
	uint32_t node;
};

static struct seat *seats_of(const struct sim *sim);

/* The nodes of a job with their seats. */
struct sim_all {
	struct sim sim; /* first */
	struct seat *seats;
};

static struct seat *seats_of(const struct sim *sim)
{
	return ((const struct sim_all *)sim)->seats;
}

static struct pm_packet *tx_alloc(void *arg)
{
	struct seat *seat = arg;

	return wires_alloc(seat->sim, seat->node);
}

static void tx_free(void *arg, struct pm_packet *packet)
{
	struct seat *seat = arg;

	wires_free(seat->sim, seat->node, packet);
}

static int tx_post(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet)
{
	struct seat *seat = arg;
	struct seat *dst = dev_peer;

	okf(rail < seat->sim->config.net.rails, "node %u posts on rail %u", seat->node, rail);
	return wires_post(seat->sim, seat->node, rail, dst->node, packet);
}

static void rx_return(void *arg, uint64_t token)
{
	struct seat *seat = arg;

	wires_return(seat->sim, seat->node, token);
}

static struct chan_peer *unknown_peer(void *arg, uint32_t node)
{
	struct seat *seat = arg;

	if (node >= seat->sim->config.net.nodes || node == seat->node)
		return NULL;
	return sim_peer(seat->sim, seat->node, node);
}

static void peer_dead(void *arg, struct chan_peer *peer, int error)
{
	struct seat *seat = arg;
	struct sim_node *node = &seat->sim->nodes[seat->node];

	node->dead_count++;
	node->last_dead = chan_peer_node(peer);
	node->last_error = error;
	okf(seat->sim->config.dead_is_fine, "node %u declares node %u dead at %llu ns", seat->node,
	    node->last_dead, (unsigned long long)sim_now(seat->sim));
	simapp_cut(seat->sim, seat->node, node->last_dead);
}

static const struct chan_ops engine_ops = {
	.tx_alloc = tx_alloc,
	.tx_free = tx_free,
	.tx_post = tx_post,
	.rx_return = rx_return,
	.unknown_peer = unknown_peer,
	.peer_dead = peer_dead,
};

static void look_soon(void *arg, uint32_t node)
{
	struct sim *sim = arg;
	uint64_t at;

	if (!sim->config.react_ns) {
		simdue_mark(&sim->due, node);
		return;
	}
	if (!sim->nodes[node].chan || sim->nodes[node].pause_ns)
		return;
	at = sim_now(sim) + tap_rand(&sim->random) % sim->config.react_ns;
	if (at < sim->due.time[node])
		simdue_set(&sim->due, node, at);
}

static void on_transit(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct sim *sim = arg;

	if (sim->config.transit)
		sim->config.transit(sim->config.transit_arg, transit, fate);
}

uint64_t sim_now(const struct sim *sim)
{
	return wires_now(sim);
}

static uint64_t job_now(const struct sim *sim, uint32_t node)
{
	return wires_now(sim) - sim->nodes[node].stopped_ns;
}

struct chan_peer *sim_peer(struct sim *sim, uint32_t node, uint32_t dst)
{
	struct chan *chan = sim->nodes[node].chan;
	struct chan_peer *peer = chan_peer_find(chan, dst);

	if (peer)
		return peer;
	is_int(chan_peer_add(chan, dst, &seats_of(sim)[dst], wires_rails(sim, node, dst),
			     sim->config.net.mtu, &peer),
	       0);
	return peer;
}

static void poll_engine(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	uint64_t now = job_now(sim, number), deadline;
	int posted, spins = 0;

	do {
		posted = chan_poll(node->chan, now);
		deadline = chan_deadline(node->chan);
		if (spins++ > SPIN_MAX) {
			sim->is_broken |= !okf(false, "engine of node %u spins", number);
			break;
		}
	} while (posted > 0 && deadline <= now);
	simdue_set(&sim->due, number,
		   deadline == UINT64_MAX ? deadline : deadline + node->stopped_ns);
}

/* One turn of a node's progress loop. */
static void serve(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	struct pm_rx rx[SIM_BURST];
	uint32_t n;

	if (!node->chan || node->pause_ns)
		return;
	do {
		for (n = 0; n < SIM_BURST && wires_receive(sim, number, &rx[n]); n++)
			;
		chan_input(node->chan, rx, n, job_now(sim, number));
	} while (n == SIM_BURST);
	simapp_receive(sim, number);
	simapp_send(sim, number, job_now(sim, number));
	poll_engine(sim, number);
	simapp_reap(sim, number);
	sim->steps++;
	if (sim->steps % sim->check_at == 0)
		chan_check(node->chan);
}

void sim_touch(struct sim *sim, uint32_t node)
{
	serve(sim, node);
}

/* Serves the marked ones and those whose deadline has come. */
static void serve_all(struct sim *sim)
{
	const uint32_t *nodes;
	uint32_t n = simdue_take(&sim->due, sim_now(sim), &nodes), i;

	for (i = 0; i < n; i++) {
		serve(sim, nodes[i]);
		/* A deadline that stays in the past waits for the network, not for the clock. */
		if (sim->due.time[nodes[i]] <= sim_now(sim))
			simdue_set(&sim->due, nodes[i],
				   wires_next(sim) == UINT64_MAX ? sim_now(sim) + US : UINT64_MAX);
	}
}

/* When something happens next. */
static uint64_t next_time(const struct sim *sim)
{
	uint64_t net = wires_next(sim), due = simdue_next(&sim->due);

	return net < due ? net : due;
}

/* One moment: false when nothing is left before @until. */
static bool step(struct sim *sim, uint64_t until)
{
	uint64_t next = next_time(sim);

	if (next > until || sim->is_broken)
		return false;
	wires_advance(sim, next > wires_now(sim) ? next : wires_now(sim));
	serve_all(sim);
	if (tap_has_failed())
		sim->is_broken = true;
	return true;
}

void sim_run(struct sim *sim, uint64_t until)
{
	uint32_t i;

	for (i = 0; i < sim->config.net.nodes; i++)
		serve(sim, i);
	while (step(sim, until))
		;
	if (wires_now(sim) < until && !sim->is_broken)
		wires_advance(sim, until);
}

bool sim_is_done(struct sim *sim)
{
	uint32_t n = sim->config.net.nodes, i;

	if (!simapp_is_done(sim))
		return false;
	for (i = 0; i < n; i++) {
		uint32_t node = (sim->first_acked + i) % n;

		if (sim->nodes[node].chan && !chan_is_acked(sim->nodes[node].chan, NULL)) {
			sim->first_acked = node;
			return false;
		}
	}
	return true;
}

uint64_t sim_finish(struct sim *sim, uint64_t limit_ns)
{
	uint64_t start = sim_now(sim);
	uint32_t i;

	for (i = 0; i < sim->config.net.nodes; i++)
		serve(sim, i);
	while (!sim_is_done(sim) && step(sim, start + limit_ns))
		;
	if (!sim_is_done(sim) && !sim->is_broken) {
		okf(false, "not done after %llu ns of virtual time",
		    (unsigned long long)(sim_now(sim) - start));
		simapp_explain(sim);
		sim->is_broken = true;
	}
	return sim_now(sim) - start;
}

void sim_settle(struct sim *sim, uint64_t limit_ns)
{
	uint64_t start = sim_now(sim);
	uint32_t i;

	for (i = 0; i < sim->config.net.nodes; i++)
		serve(sim, i);
	while (step(sim, start + limit_ns))
		;
	if (sim->is_broken)
		return;
	okf(next_time(sim) == UINT64_MAX, "still active after %llu ns of virtual time",
	    (unsigned long long)limit_ns);
	for (i = 0; i < sim->config.net.nodes; i++) {
		if (!sim->nodes[i].chan)
			continue;
		okf(wires_rx_lent(sim, i) <= sim->nodes[i].n_held_messages,
		    "idle node %u holds %u receive buffers", i, wires_rx_lent(sim, i));
		okf(wires_tx_lent(sim, i) <= SPARES_MAX, "idle node %u holds %u transmit buffers",
		    i, wires_tx_lent(sim, i));
	}
}

void sim_pause(struct sim *sim, uint32_t node)
{
	sim->nodes[node].pause_ns = sim_now(sim);
	simdue_set(&sim->due, node, UINT64_MAX);
}

void sim_unpause(struct sim *sim, uint32_t node)
{
	sim->nodes[node].stopped_ns += sim_now(sim) - sim->nodes[node].pause_ns;
	sim->nodes[node].pause_ns = 0;
	serve(sim, node);
}

void sim_kill(struct sim *sim, uint32_t node)
{
	uint32_t other;

	chan_destroy(sim->nodes[node].chan);
	sim->nodes[node].chan = NULL;
	sim->nodes[node].n_held = 0;
	sim->nodes[node].n_held_messages = 0;
	simdue_set(&sim->due, node, UINT64_MAX);
	wires_gone(sim, node);
	for (other = 0; other < sim->config.net.nodes; other++)
		simapp_cut(sim, node, other);
}

void sim_carrier(struct sim *sim, uint32_t node, uint32_t rail, bool is_up)
{
	wires_cable(sim, node, rail, is_up);
	chan_rail(sim->nodes[node].chan, rail, is_up, job_now(sim, node));
	serve(sim, node);
}

static int create_engine(struct sim *sim, uint32_t number)
{
	struct sim_node *node = &sim->nodes[number];
	struct chan_config config = sim->config.chan;

	config.self = number;
	config.n_rails = sim->config.net.rails;
	config.rx_buffers = sim->config.net.rx_buffers;
	config.tx_buffers = sim->config.net.tx_buffers;
	config.regions = node->regions;
	config.stats = &node->stats;
	config.rails = node->rails;
	if (sim->config.tune)
		sim->config.tune(number, &config);
	return chan_create(&config, &engine_ops, &seats_of(sim)[number], &node->chan);
}

static int resolve(void *arg, uint32_t node, struct chan_peer **ret_peer)
{
	struct seat *seat = arg;

	*ret_peer = sim_peer(seat->sim, seat->node, node);
	return *ret_peer ? 0 : -ENOENT;
}

/* A new engine from a saved state; on failure the node is without one. */
static int thaw_engine(struct sim *sim, uint32_t number, const void *blob, size_t len)
{
	struct sim_node *node = &sim->nodes[number];
	int rc;

	node->chan = NULL;
	rc = create_engine(sim, number);
	if (rc == 0)
		rc = chan_thaw(node->chan, blob, len, resolve, &seats_of(sim)[number]);
	simdue_mark(&sim->due, number);
	if (rc) {
		chan_destroy(node->chan);
		node->chan = NULL;
	}
	return rc;
}

int sim_replace_with(struct sim *sim, uint32_t number, const void *blob, size_t len)
{
	struct chan *old = sim->nodes[number].chan;
	int rc = thaw_engine(sim, number, blob, len);

	if (rc)
		sim->nodes[number].chan = old;
	return rc;
}

int sim_replace(struct sim *sim, uint32_t number)
{
	struct chan *old = sim->nodes[number].chan;
	int need = chan_freeze(old, NULL, 0), rc;
	void *blob;

	if (need < 0)
		return need;
	blob = malloc((size_t)need);
	assert(blob);
	is_int(chan_freeze(old, blob, (size_t)need), need);
	chan_destroy(old); /* before, so that its transmit buffers are there for the new one */
	rc = thaw_engine(sim, number, blob, (size_t)need);
	free(blob);
	return rc;
}

static struct sim_config defaults(uint32_t nodes, uint32_t rails, uint64_t seed)
{
	struct sim_config config = {
		.net = {.nodes = nodes,
			.rails = rails,
			.mtu = 1500,
			.tx_buffers = 1024,
			.rx_buffers = 1024,
			.seed = seed},
		.chan = {.key = SIM_KEY,
			 .window = 64,
			 .credit = 32,
			 .pull_bytes = 1 << 20,
			 .can_gather = true},
	};
	uint32_t rail;

	for (rail = 0; rail < rails; rail++)
		config.net.rail[rail] = (struct simnet_rail){
			.rate = GBIT, .latency_ns = 20 * US, .queue_bytes = 512 * 1024};
	return config;
}

struct sim_config sim_defaults(uint32_t nodes, uint32_t rails, uint64_t salt)
{
	uint64_t state = tap_seed() ^ (salt * 0x9e3779b97f4a7c15ull);

	return defaults(nodes, rails, tap_rand(&state));
}

struct sim_config sim_hxb(const struct hxbnet_config *hxb)
{
	struct sim_config config = defaults(hxbnet_hosts(hxb), hxbnet_n_rails(hxb), hxb->seed);

	config.hxb = *hxb;
	config.net.mtu = hxb->mtu;
	config.net.tx_buffers = hxb->tx_buffers;
	config.net.rx_buffers = hxb->rx_buffers;
	return config;
}

struct sim *sim_create(const struct sim_config *config)
{
	static const struct simnet_ops net_ops = {
		.arrived = look_soon, .has_room = look_soon, .transit = on_transit};
	static const struct hxbnet_ops hxb_ops = {.arrived = look_soon, .has_room = look_soon};
	struct sim_all *all = calloc(1, sizeof(*all));
	uint32_t n = config->net.nodes, i;
	struct sim *sim = &all->sim;

	assert(all);
	sim->config = *config;
	sim->random = config->net.seed + 1;
	sim->check_at = 1;
	simdue_init(&sim->due, n);
	if (config->hxb.n_dims)
		sim->hxb = hxbnet_create(&config->hxb, &hxb_ops, sim);
	else
		sim->net = simnet_create(&config->net, &net_ops, sim);
	sim->nodes = calloc(n, sizeof(*sim->nodes));
	sim->flows = calloc((size_t)n * n, sizeof(struct sim_flow *));
	all->seats = calloc(n, sizeof(*all->seats));
	assert(sim->nodes && sim->flows && all->seats);
	for (i = 0; i < n; i++) {
		all->seats[i] = (struct seat){.sim = sim, .node = i};
		sim->nodes[i].regions = region_table_create(config->net.seed + i);
		sim->nodes[i].held = calloc(config->net.rx_buffers + 1, sizeof(struct sim_held));
		assert(sim->nodes[i].regions && sim->nodes[i].held);
		is_int(create_engine(sim, i), 0);
	}
	return sim;
}

void sim_destroy(struct sim *sim)
{
	uint32_t i;

	if (!tap_has_failed() && !sim->is_careless)
		simapp_check_counters(sim);
	for (i = 0; i < sim->config.net.nodes; i++)
		chan_destroy(sim->nodes[i].chan);
	wires_destroy(sim);
	simapp_fini(sim);
	for (i = 0; i < sim->config.net.nodes; i++) {
		region_table_destroy(sim->nodes[i].regions);
		free(sim->nodes[i].held);
	}
	simdue_fini(&sim->due);
	free(sim->nodes);
	free(seats_of(sim));
	free(sim);
}

uint64_t sim_drops(const struct sim *sim, enum drop_reason reason)
{
	uint64_t sum = 0;
	uint32_t i, rail;

	for (i = 0; i < sim->config.net.nodes; i++)
		for (rail = 0; rail < sim->config.net.rails; rail++)
			sum += sim->nodes[i].rails[rail].drops[reason];
	return sum;
}

uint64_t sim_retransmits(const struct sim *sim)
{
	uint64_t sum = 0;
	uint32_t i, rail;

	for (i = 0; i < sim->config.net.nodes; i++)
		for (rail = 0; rail < sim->config.net.rails; rail++)
			sum += sim->nodes[i].rails[rail].retransmits;
	return sum;
}

uint64_t sim_timeouts(const struct sim *sim)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < sim->config.net.nodes; i++)
		sum += sim->nodes[i].stats.timeouts;
	return sum;
}
