// SPDX-License-Identifier: BSD-3-Clause
/*
 * Nodes that no RDMA reaches and nothing tells why, with udp behind: contexts on the fake provider,
 * in real time.
 */
#include "pm-verbs/conn/closing.h"
#include "pmcore/api/context.h"
#include "tests/unit/pm-verbs/links.h"

#include <errno.h>

#include "pm.h"

#define LIMIT_NS 20000000000ull

static struct {
	pmContext ctx[2];
	uint32_t received[2];
	bool is_dead; /* node 1, for node 0 */
} couple;

static void open_node(pmNode self)
{
	char config[120];
	struct pmOptions options = {
		.size = sizeof(options), .job_key = 5, .self = self, .config = config};

	snprintf(config, sizeof(config),
		 "devices=self+verbs+udp,verbs.devices=fake%u,udp.rails=lo,verbs.lost_timeout=50",
		 self);
	unsetenv("PM_OPTIONS");
	must(pmOpenContext(&options, &couple.ctx[self]) == PM_SUCCESS);
}

/* Nodes 0 and 1 on devices of their own, in contact. */
static void open_couple(void)
{
	memset(&couple, 0, sizeof(couple));
	fake_begin(2);
	open_node(0);
	open_node(1);
	for (pmNode i = 0; i < 2; i++) {
		uint8_t address[PM_ADDRESS_MAX];
		size_t len = sizeof(address);

		must(pmGetAddress(couple.ctx[i], address, &len) == PM_SUCCESS);
		must(pmAddNode(couple.ctx[!i], i, address, len) == PM_SUCCESS);
	}
}

static void take(int at)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;
	int err;

	while (!(err = pmReceive(couple.ctx[at], &buf, &len, &src, &desc))) {
		couple.received[at]++;
		pmReleaseReceiveBuffer(couple.ctx[at], desc);
	}
	couple.is_dead |= err == EPIPE;
}

/* Until node 1 has received so many messages. */
static bool carry(uint32_t n)
{
	uint64_t end = clock_monotonic_ns() + LIMIT_NS;

	while (couple.received[1] < n && clock_monotonic_ns() < end) {
		take(0);
		take(1);
	}
	return is_int(couple.received[1], n);
}

static const char *device(void)
{
	const char *name = "";

	pmGetDeviceName(couple.ctx[0], 1, &name);
	return name;
}

static void cut_all(void)
{
	for (int i = 0; i < 2; i++)
		fake.ports[i].is_cut = true;
}

/* Both ports say that they are up. */
TAP_TEST(doubt__first_contact_by_a_broken_way)
{
	open_couple();
	cut_all();
	is_int(pmPost(couple.ctx[0], 1, "hello", 5), 0);
	is_str(device(), "verbs");
	carry(1);
	is_str(device(), "udp");
	is_int(pmPost(couple.ctx[0], 1, "again", 5), 0);
	carry(2);
	ok(!couple.is_dead);
	is_int(pmCloseContext(couple.ctx[0]), 0);
	is_int(pmCloseContext(couple.ctx[1]), 0);
	fake_end();
}

/* The connection of node 0 to node 1 ends in agreement. */
static void close_connection(void)
{
	struct composite *c = context_get(couple.ctx[0])->c;
	struct composite_node *n;
	struct pmv_link *link;

	must(!composite_node(c, 1, &n));
	link = pmv_of(n->link);
	pmv_close(link, n->peer, pmv_now(link));
	while (n->peer->stage != PMV_IDLE) {
		take(0);
		take(1);
	}
}

/*
 * Its connection was closed for others, so nothing breaks as it dies, and nobody hears a goodbye.
 */
TAP_TEST(doubt__process_that_died_without_a_connection)
{
	uint64_t end;

	open_couple();
	is_int(pmPost(couple.ctx[0], 1, "hello", 5), 0);
	carry(1);
	close_connection();
	for (int i = 0; i < 100; i++) {
		take(0);
		take(1);
	}
	is_str(device(), "verbs");
	cut_all();
	is_int(pmCloseContext(couple.ctx[1]), 0);
	is_int(pmPost(couple.ctx[0], 1, "hello", 5), 0);
	end = clock_monotonic_ns() + LIMIT_NS;
	while (!couple.is_dead && clock_monotonic_ns() < end)
		take(0);
	ok(couple.is_dead);
	is_int(pmPost(couple.ctx[0], 1, "hello", 5), EPIPE);
	okf(strstr(pmLastError(), "node 1") != NULL, "%s", pmLastError());
	is_int(pmCloseContext(couple.ctx[0]), 0);
	fake_end();
}
