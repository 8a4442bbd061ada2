// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-verbs/traffic.h"

#define OPS (&pm_verbs_ops)
#define AREA (160 * 1024)
#define MESSAGE_MAX 2000

/* A one-sided operation under way, in memory of its own at both ends. */
struct slot {
	bool is_busy, is_write, may_fail;
	uint32_t op;
	uint64_t pattern, offset, len;
	uint8_t *local;
};

/* Messages and one-sided operations of one node towards another. */
struct way {
	uint64_t life;  /* counts the records that either side had of the other */
	uint64_t sent;  /* of this life */
	uint64_t taken; /* the same, at the other end */
	struct slot slots[TRAFFIC_SLOTS];
};

/* The region that the other nodes may read and write. */
struct owned {
	uint8_t *region;
	uint64_t rkey;
};

struct traffic_rules traffic_rules;

static struct way ways[TRAFFIC_NODES][TRAFFIC_NODES];
static struct owned owned[TRAFFIC_NODES];
static uint64_t *seed;

static uint64_t draw(uint64_t n)
{
	return tap_rand(seed) % n;
}

/* ---- messages ---- */

struct letter {
	uint64_t life, number;
};

void traffic_send(int from, int to)
{
	struct way *way = &ways[from][to];
	const struct letter text = {way->life, way->sent};
	uint32_t len = (uint32_t)(sizeof(text) + draw(draw(4) == 0 ? MESSAGE_MAX : 60));
	uint8_t *buf;
	uint64_t cookie;

	if (OPS->get_send(nodes[from].link, nodes[from].peer[to], len, (void **)&buf, &cookie))
		return;
	memcpy(buf, &text, sizeof(text));
	links_fill(buf + sizeof(text), len - sizeof(text), text.number);
	way->sent += !OPS->send(nodes[from].link, nodes[from].peer[to], cookie, len);
}

static void check_message(int at, const struct pm_inbound *in)
{
	struct way *way = &ways[in->src][at];
	struct letter text;

	if (!ok(in->len >= sizeof(text)))
		return;
	memcpy(&text, in->buf, sizeof(text));
	ok(links_is_filled((uint8_t *)in->buf + sizeof(text), in->len - sizeof(text), text.number));
	/* of a record that was removed some may come, and some not */
	if (text.life != way->life)
		return;
	okf(text.number == way->taken || (traffic_rules.may_lose && text.number > way->taken),
	    "%u -> %d: message %llu, not %llu", in->src, at, (unsigned long long)text.number,
	    (unsigned long long)way->taken);
	way->taken = text.number + 1;
}

void traffic_take(int at)
{
	struct pm_inbound in;
	int got = OPS->receive(nodes[at].link, &in);

	if (got == 1) {
		check_message(at, &in);
		OPS->release(nodes[at].link, in.cookie);
	} else if (got) {
		okf(false, "node %d of node %u: %d: %s", at, in.src, got,
		    nodes[at].peer[in.src] ? nodes[at].peer[in.src]->why : "?");
	}
}

void traffic_renew(int from, int to)
{
	struct way *way = &ways[from][to];

	way->life++;
	way->sent = way->taken = 0;
}

/* ---- one-sided operations ---- */

static uint8_t *area(int from, int to, int s)
{
	return owned[to].region + (size_t)(from * TRAFFIC_SLOTS + s) * AREA;
}

static uint64_t draw_length(void)
{
	static const uint64_t most[] = {300, 9000, 65537, 70000, AREA - 5000};

	return 1 + draw(most[draw(sizeof(most) / sizeof(*most))]);
}

static void begin_operation(int from, int to, int s)
{
	struct slot *slot = &ways[from][to].slots[s];
	struct pm_link *link = nodes[from].link;
	struct pm_link_peer *peer = nodes[from].peer[to];
	uint64_t at = (uint64_t)(from * TRAFFIC_SLOTS + s) * AREA;

	slot->is_write = draw(2);
	slot->offset = draw(4096);
	slot->len = draw_length();
	slot->pattern = tap_rand(seed);
	slot->may_fail = traffic_rules.may_fail || fake.spoil;
	/* what is left of earlier ones must not come any more */
	links_fill(slot->local, AREA, slot->pattern + !slot->is_write);
	links_fill(area(from, to, s), AREA, slot->pattern + slot->is_write);
	at += slot->offset;
	slot->is_busy = !(slot->is_write
				  ? OPS->write(link, peer, owned[to].rkey, at,
					       slot->local + slot->offset, slot->len, &slot->op)
				  : OPS->read(link, peer, owned[to].rkey, at,
					      slot->local + slot->offset, slot->len, &slot->op));
}

/* @to has got what @from had: those bytes and no others. */
static bool is_moved(const uint8_t *to, const struct slot *slot)
{
	uint64_t before = slot->pattern + 1;
	const uint64_t end = slot->offset + slot->len;
	uint8_t want[AREA];

	links_fill(want, AREA, before);
	if (memcmp(to, want, slot->offset) || memcmp(to + end, want + end, AREA - end))
		return false;
	links_fill(want, AREA, slot->pattern);
	return !memcmp(to + slot->offset, want + slot->offset, slot->len);
}

static void end_operation(int from, int to, int s)
{
	struct slot *slot = &ways[from][to].slots[s];
	int err = OPS->rma_done(nodes[from].link, slot->op);
	const uint8_t *target = slot->is_write ? area(from, to, s) : slot->local;

	if (err == -EAGAIN)
		return;
	slot->is_busy = false;
	if (err)
		okf(slot->may_fail, "%d -> %d: operation %u of %llu bytes: %d", from, to, slot->op,
		    (unsigned long long)slot->len, err);
	else
		okf(is_moved(target, slot), "%d -> %d: bytes of operation %u", from, to, slot->op);
}

void traffic_excuse(int node)
{
	for (int from = 0; from < traffic_rules.n_nodes; from++)
		for (int to = 0; to < traffic_rules.n_nodes; to++)
			for (int s = 0; s < TRAFFIC_SLOTS; s++)
				if (node < 0 || node == from || node == to)
					ways[from][to].slots[s].may_fail = true;
}

void traffic_take_back(int node)
{
	uint64_t len;
	void *addr;

	if (!ok(!region_remove(nodes[node].regions, owned[node].rkey, &addr, &len)))
		return;
	OPS->unexport(nodes[node].link, owned[node].rkey, addr, len);
	traffic_excuse(node);
	ok(!region_add(nodes[node].regions, addr, len, &owned[node].rkey));
}

void traffic_operate(int from, int to, bool may_begin)
{
	for (int s = 0; s < TRAFFIC_SLOTS; s++)
		if (ways[from][to].slots[s].is_busy)
			end_operation(from, to, s);
		else if (may_begin && draw(6) == 0)
			begin_operation(from, to, s);
}

bool traffic_is_done(void)
{
	for (int from = 0; from < traffic_rules.n_nodes; from++)
		for (int to = 0; to < traffic_rules.n_nodes; to++) {
			const struct way *way = &ways[from][to];

			if (way->sent != way->taken && !traffic_rules.may_lose)
				return false;
			for (int s = 0; s < TRAFFIC_SLOTS; s++)
				if (way->slots[s].is_busy)
					return false;
		}
	return true;
}

/* ---- beginning and end ---- */

void traffic_open(int n_nodes, uint64_t *numbers)
{
	traffic_rules = (struct traffic_rules){.n_nodes = n_nodes};
	seed = numbers;
	memset(ways, 0, sizeof(ways));
	for (int n = 0; n < n_nodes; n++) {
		owned[n].region = calloc(TRAFFIC_NODES * TRAFFIC_SLOTS, AREA);
		ok(!region_add(nodes[n].regions, owned[n].region,
			       TRAFFIC_NODES * TRAFFIC_SLOTS * AREA, &owned[n].rkey));
		for (int to = 0; to < n_nodes; to++)
			for (int s = 0; s < TRAFFIC_SLOTS; s++)
				ways[n][to].slots[s].local = malloc(AREA);
	}
}

void traffic_close(void)
{
	for (int n = 0; n < traffic_rules.n_nodes; n++) {
		free(owned[n].region);
		for (int to = 0; to < traffic_rules.n_nodes; to++)
			for (int s = 0; s < TRAFFIC_SLOTS; s++)
				free(ways[n][to].slots[s].local);
	}
}
