// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-verbs/links.h"

#include "pm-verbs/data/rx.h"
#include "pm-verbs/hw/events.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/progress.h"

#define OPS (&pm_verbs_ops)

struct node nodes[LINKS];

static int address_of(void *arg, uint32_t node, const char *name, const void **ret_addr,
		      size_t *ret_len)
{
	if (node >= LINKS || !nodes[node].address_len)
		return -EHOSTUNREACH;
	*ret_addr = nodes[node].address;
	*ret_len = nodes[node].address_len;
	return 0;
}

int node_open(struct node *n, uint32_t self, const char *options)
{
	struct pm_device_env env = {
		.conf = &n->conf,
		.stats = &n->stats,
		.job_key = 4711,
		.self = self,
		.why = n->why,
		.why_size = sizeof(n->why),
		.address_of = address_of,
	};
	int err;

	memset(n, 0, sizeof(*n));
	n->self = self;
	conf_defaults(&n->conf);
	if (options && conf_parse(&n->conf, options, n->why, sizeof(n->why)))
		return -EINVAL;
	n->regions = region_table_create(self + 99);
	env.regions = n->regions;
	err = OPS->open(&env, &n->link);
	if (err) {
		region_table_destroy(n->regions);
		n->link = NULL;
		return err;
	}
	n->link->ops = OPS;
	n->address_len = (size_t)OPS->address(n->link, n->address, sizeof(n->address));
	return 0;
}

void node_close(struct node *n)
{
	if (!n->link)
		return;
	OPS->close(n->link);
	region_table_destroy(n->regions);
	n->link = NULL;
	n->address_len = 0;
}

bool links_add(int from, int to)
{
	return is_int(OPS->peer_add(nodes[from].link, (uint32_t)to, nodes[to].address,
				    nodes[to].address_len, &nodes[from].peer[to]),
		      0);
}

bool links_open(int n, const char *options)
{
	bool is_ok = true;

	memset(nodes, 0, sizeof(nodes));
	for (int i = 0; i < n; i++)
		if (!is_int(node_open(&nodes[i], (uint32_t)i, options), 0)) {
			tap_diag("%s", nodes[i].why);
			return false;
		}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			is_ok &= i == j || links_add(i, j);
	return is_ok;
}

void node_still(struct node *n)
{
	/* the last reading was long after now, and time never goes back */
	pmv_of(n->link)->clock.last = UINT64_MAX / 2;
	/* a run is repeated by its seed */
	pmv_of(n->link)->rng = n->self;
}

bool links_open_still(int n, const char *options)
{
	bool is_ok = links_open(n, options);

	for (int i = 0; i < n; i++)
		if (nodes[i].link)
			node_still(&nodes[i]);
	return is_ok;
}

void links_close(void)
{
	for (int i = 0; i < LINKS; i++)
		node_close(&nodes[i]);
	is_int(fake.live, 0);
	is_int(fake.overflows, 0);
	is_int(fake.not_ready, 0);
	is_int(fake.early, 0);
	fake_end();
}

void links_fill(void *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

bool links_is_filled(const void *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)buf)[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			return false;
	return true;
}

void links_deliver(int at, int from, uint8_t kind, const struct pmv_control *control)
{
	const struct pmv_header header = {.kind = kind, .token = nodes[at].peer[from]->token_in};
	struct pmv_link *link = pmv_of(nodes[at].link);
	struct pmv_slot *slot = pmv_slot_get(link);

	pmv_header_put(slot->data, &header);
	pmv_control_put(slot->data + PMV_HEADER, kind, control);
	pmv_arrived(link, nodes[at].peer[from], slot, (uint32_t)pmv_control_size(kind));
}

int links_send(int from, int to, uint32_t len)
{
	struct node *n = &nodes[from];
	uint64_t cookie;
	void *buf;
	int err = OPS->get_send(n->link, n->peer[to], len, &buf, &cookie);

	if (err)
		return err;
	links_fill(buf, len, n->sent[to]++ + (uint64_t)from * 1000);
	return OPS->send(n->link, n->peer[to], cookie, len);
}

int links_take(int at)
{
	struct node *n = &nodes[at];
	struct pm_inbound in;
	int got = OPS->receive(n->link, &in);

	if (got == -EPIPE)
		n->dead = in.src + 1;
	if (got != 1)
		return got;
	okf(links_is_filled(in.buf, in.len, n->received[in.src] + (uint64_t)in.src * 1000),
	    "message %llu from %u of %u bytes is another", (unsigned long long)n->received[in.src],
	    in.src, in.len);
	n->received[in.src]++;
	OPS->release(n->link, in.cookie);
	return 1;
}

void links_turn(int turns)
{
	while (turns-- > 0)
		for (int i = 0; i < LINKS; i++)
			if (nodes[i].link)
				links_take(i);
}

void links_hear(void)
{
	for (int i = 0; i < LINKS; i++)
		if (nodes[i].link)
			pmv_events(pmv_of(nodes[i].link));
}

/* The job's time is moved on by hand, so that greetings are repeated however fast this runs. */
void links_pass_time(uint64_t ns)
{
	for (int i = 0; i < LINKS; i++)
		if (nodes[i].link)
			pmv_of(nodes[i].link)->clock.now += ns;
}

static bool is_drained(void)
{
	for (int i = 0; i < LINKS; i++)
		for (int j = 0; j < LINKS; j++)
			if (nodes[i].sent[j] != nodes[j].received[i])
				return false;
	return true;
}

bool links_drain(void)
{
	for (int i = 0; i < TURNS && !is_drained(); i++) {
		links_turn(100);
		links_pass_time(1000000);
	}
	return okf(is_drained(), "messages are missing: %s; %s", nodes[0].why, nodes[1].why);
}

int links_rma(int from, int to, bool is_write, uint64_t rkey, uint64_t offset, void *local,
	      uint64_t len)
{
	struct node *n = &nodes[from];
	uint32_t op;
	int err = is_write ? OPS->write(n->link, n->peer[to], rkey, offset, local, len, &op)
			   : OPS->read(n->link, n->peer[to], rkey, offset, local, len, &op);

	if (err)
		return err;
	err = -EAGAIN;
	for (int i = 0; i < TURNS && err == -EAGAIN; i++) {
		links_turn(100);
		links_pass_time(1000000);
		err = OPS->rma_done(n->link, op);
	}
	return err;
}

struct pmv_link *links_of(int node)
{
	return pmv_of(nodes[node].link);
}

void links_run(unsigned int set, int ms)
{
	for (int i = 0; i < ms; i++) {
		for (int k = 0; k < 2 * PMV_IDLE_CHORES; k++)
			for (int n = 0; n < LINKS; n++)
				if (set & 1u << n && nodes[n].link)
					links_take(n);
		links_pass_time(1000000);
	}
}

void links_check_clean(int bound)
{
	okf(fake.most_qps <= bound, "%d queue pairs where %d are allowed", fake.most_qps, bound);
	for (int i = 0; i < LINKS; i++) {
		if (!nodes[i].link)
			continue;
		is_int(nodes[i].dead, 0);
		for (struct pm_link_peer *p = links_of(i)->peers; p; p = p->next) {
			is_int(p->failures, 0);
			is_str(p->why, "");
		}
	}
}

void links_check_quiet(void)
{
	links_run(31, 150);
	for (int i = 0; i < LINKS; i++) {
		if (!nodes[i].link)
			continue;
		is_int(links_of(i)->n_waiting, 0);
		is_int(links_of(i)->n_calling, 0);
		is_int(links_of(i)->n_closing, 0);
		is_int(links_of(i)->n_greeting, 0);
	}
}
