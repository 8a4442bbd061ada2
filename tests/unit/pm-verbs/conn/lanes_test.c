// SPDX-License-Identifier: BSD-3-Clause
/* Large operations over all pairs of rails, between links on the fake provider. */
#include "pm-verbs/conn/lanes.h"

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define REGION (6 * 1024 * 1024 + 17)

/* A region of node 1, and as much memory of node 0. */
struct copy {
	uint8_t *region, *local;
	uint64_t rkey;
};

static void begin_with(struct copy *c, int rails, const char *options)
{
	*c = (struct copy){malloc(REGION), calloc(1, REGION), 0};

	fake_begin(rails);
	must(links_open(2, options));
	links_fill(c->region, REGION, 5);
	must(!region_add(nodes[1].regions, c->region, REGION, &c->rkey));
}

static void end_with(struct copy *c)
{
	links_close();
	free(c->region);
	free(c->local);
}

static void begin(struct copy *c, int rails)
{
	begin_with(c, rails, NULL);
}

static struct pm_link_peer *peer_of(int from)
{
	return nodes[from].peer[1 - from];
}

static uint32_t lanes(int from)
{
	return pmv_lanes_count(peer_of(from));
}

/* Reads all into fresh memory. */
static void check_read(struct copy *c)
{
	memset(c->local, 0, REGION);
	is_int(links_rma(0, 1, false, c->rkey, 0, c->local, REGION), 0);
	ok(!memcmp(c->local, c->region, REGION));
}

/* A read of everything of which all that was posted is under way. */
static void begin_read(struct copy *c, uint32_t *ret_op)
{
	memset(c->local, 0, REGION);
	fake.is_held = true;
	must(!OPS->read(nodes[0].link, peer_of(0), c->rkey, 0, c->local, REGION, ret_op));
}

/* How an operation of the node ends. */
static int result_of(int node, uint32_t op)
{
	int err = -EAGAIN;

	for (int i = 0; i < TURNS && err == -EAGAIN; i++) {
		links_turn(50);
		links_pass_time(1000000);
		err = OPS->rma_done(nodes[node].link, op);
	}
	return err;
}

static int finish(uint32_t op)
{
	fake.is_held = false;
	fake_run();
	return result_of(0, op);
}

static void break_lane(void)
{
	for (uint32_t pair = 0; pair < peer_of(0)->n_pairs; pair++) {
		struct pmv_qp *qp = pmv_lane_ready(peer_of(0), pair);

		if (qp) {
			fake_break_qp(qp->qp);
			return;
		}
	}
	ok(false);
}

TAP_TEST(lanes__large_operations_use_all_rails)
{
	struct copy c;
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t op;

	begin(&c, 3);
	check_read(&c);
	is_int(lanes(0), 2);
	is_int(lanes(1), 2);
	begin_read(&c, &op);
	for (struct pmv_qp *qp = links_of(0)->qps; qp; qp = qp->next) {
		least = qp->n_bytes < least ? qp->n_bytes : least;
		most = qp->n_bytes > most ? qp->n_bytes : most;
	}
	okf(least && most - least <= PMV_PIECE_BYTES, "%llu and %llu bytes under way",
	    (unsigned long long)least, (unsigned long long)most);
	is_int(finish(op), 0);
	ok(!memcmp(c.local, c.region, REGION));
	links_fill(c.local, REGION, 6);
	is_int(links_rma(0, 1, true, c.rkey, 0, c.local, REGION), 0);
	ok(links_is_filled(c.region, REGION, 6));
	is_int(peer_of(0)->epoch, 1);
	is_int(links_of(0)->n_qps, 3);
	end_with(&c);
}

TAP_TEST(lanes__sizes_and_offsets)
{
	static const uint64_t sizes[] = {65536,  65537,   65536 + 4096, 131072,
					 200001, 1048577, 3145728,      6000000};
	struct copy c;

	begin(&c, 4);
	check_read(&c);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t len = sizes[i], offset = (i * 7919) % (REGION - len);

		links_fill(c.region, REGION, i);
		memset(c.local, 0, REGION);
		is_int(links_rma(0, 1, false, c.rkey, offset, c.local, len), 0);
		ok(!memcmp(c.local, c.region + offset, len) && !c.local[len]);
		memset(c.region, 0, REGION);
		is_int(links_rma(0, 1, true, c.rkey, offset, c.local, len), 0);
		ok(!memcmp(c.local, c.region + offset, len) && !c.region[offset + len]);
	}
	end_with(&c);
}

TAP_TEST(lanes__small_operations_make_none)
{
	struct copy c;

	begin(&c, 3);
	is_int(links_rma(0, 1, false, c.rkey, 0, c.local, 65536), 0);
	links_turn(5);
	is_int(lanes(0), 0);
	is_int(lanes(1), 0);
	end_with(&c);
}

/* Whoever has had no lane keeps nothing of it. */
TAP_TEST(lanes__both_want_them_at_once)
{
	struct copy c;
	uint8_t *local = calloc(1, REGION);
	uint64_t rkey;
	uint32_t ops[2];

	begin(&c, 3);
	must(!region_add(nodes[0].regions, c.local, REGION, &rkey));
	is_int(links_rma(0, 1, false, c.rkey, 0, c.local, 1), 0);
	is_int(links_rma(1, 0, false, rkey, 0, local, 1), 0);
	links_fill(c.local, REGION, 9);
	fake.is_held = true;
	must(!OPS->write(nodes[0].link, peer_of(0), c.rkey, 100, c.local + 100, 500000, &ops[0]));
	must(!OPS->read(nodes[1].link, peer_of(1), rkey, 0, local, REGION, &ops[1]));
	fake.is_held = false;
	fake_run();
	for (int m = 0; m < 2; m++) {
		is_int(result_of(m, ops[m]), 0);
		is_int(lanes(m), 2);
		for (uint32_t pair = 0; pair < 3; pair++)
			ok(pair == pmv_pair_of(links_of(m), peer_of(m)) ||
			   pmv_lane_ready(peer_of(m), pair));
	}
	ok(links_is_filled(local, REGION, 9));
	ok(!memcmp(c.region + 100, c.local + 100, 500000));
	is_int(links_of(0)->n_qps, 3);
	is_int(links_of(1)->n_qps, 3);
	end_with(&c);
	free(local);
}

/* Fewer than half of the places are for lanes; one side without any is enough. */
TAP_TEST(lanes__places)
{
	struct copy c;
	long made;

	begin_with(&c, 3, "verbs.connections=4");
	check_read(&c);
	is_int(lanes(0), 1);
	end_with(&c);
	begin(&c, 3);
	links_of(1)->n_most = 2;
	check_read(&c);
	is_int(lanes(0), 0);
	is_int(lanes(1), 0);
	/* the other side is not asked each time */
	made = fake.calls[FAKE_CREATE_QP];
	check_read(&c);
	is_int(fake.calls[FAKE_CREATE_QP], made);
	links_of(1)->n_most = 100;
	links_pass_time(11000000000ull);
	check_read(&c);
	is_int(lanes(1), 2);
	is_int(peer_of(0)->epoch, 1);
	end_with(&c);
}

/* A node gives up no connection for a lane. Connections with lanes give way to others. */
TAP_TEST(lanes__others_want_the_places)
{
	static uint8_t region[LINKS][300000], local[LINKS][300000];
	uint64_t rkey[LINKS];
	uint32_t ops[LINKS];

	fake_begin(2);
	must(links_open(LINKS, "verbs.connections=3"));
	for (int i = 1; i < LINKS; i++) {
		links_fill(region[i], sizeof(region[i]), (uint64_t)i);
		must(!region_add(nodes[i].regions, region[i], sizeof(region[i]), &rkey[i]));
		is_int(OPS->read(nodes[0].link, nodes[0].peer[i], rkey[i], 0, local[i],
				 sizeof(local[i]), &ops[i]),
		       0);
	}
	for (int i = 1; i < LINKS; i++) {
		is_int(result_of(0, ops[i]), 0);
		ok(links_is_filled(local[i], sizeof(local[i]), (uint64_t)i));
	}
	links_check_clean(3);
	links_check_quiet();
	links_close();
}

/* All that was under way on a lane goes again over the next connection; messages stay in order. */
TAP_TEST(lanes__one_breaks)
{
	struct copy c;
	uint32_t op;

	begin(&c, 3);
	check_read(&c);
	begin_read(&c, &op);
	for (int i = 0; i < 10; i++)
		must(links_send(0, 1, 100) == 0 && links_send(1, 0, 10) == 0);
	break_lane();
	is_int(finish(op), 0);
	ok(!memcmp(c.local, c.region, REGION));
	links_drain();
	ok(peer_of(0)->epoch > 1);
	check_read(&c);
	is_int(lanes(0), 2);
	end_with(&c);
}

/* All posts to the own queue pair are back, those to the lane are not: the next one has to wait. */
TAP_TEST(lanes__the_next_connection_waits_for_them)
{
	struct copy c;
	uint32_t op;

	c = (struct copy){malloc(REGION), calloc(1, REGION), 0};
	fake_begin(2);
	fake.max_srq = 0;
	must(links_open(2, "verbs.credit=8"));
	links_fill(c.region, REGION, 5);
	must(!region_add(nodes[1].regions, c.region, REGION, &c.rkey));
	check_read(&c);
	/* over the rail that is looked at last, with few receives: the others hold messages */
	fake_break_qp(peer_of(0)->qp->qp);
	check_read(&c);
	is_int(pmv_pair_of(links_of(0), peer_of(0)), 1);
	for (int i = 0; i < 6; i++)
		is_int(links_send(1, 0, 10), 0);
	pmv_progress(links_of(0));
	is_int(peer_of(0)->n_held, 6);
	fake.is_held = true;
	must(!OPS->read(nodes[0].link, peer_of(0), c.rkey, 0, c.local, 131072, &op));
	is_int(pmv_lane_ready(peer_of(0), 0)->n_pieces, 1);
	fake_break_qp(peer_of(0)->qp->qp);
	pmv_progress(links_of(0));
	is_int(peer_of(0)->stage, PMV_DRAINING);
	ok(!peer_of(0)->qp);
	is_int(lanes(0), 1);
	pmv_progress(links_of(0));
	is_int(peer_of(0)->stage, PMV_GREETING);
	is_int(lanes(0), 0);
	is_int(finish(op), 0);
	links_drain();
	end_with(&c);
}

/* A rail over which nothing comes: no lane goes by it for a while. */
TAP_TEST(lanes__one_is_silent)
{
	struct copy c;
	uint32_t own, op;
	long made;

	begin(&c, 2);
	check_read(&c);
	own = pmv_pair_of(links_of(0), peer_of(0));
	begin_read(&c, &op);
	made = fake.calls[FAKE_CREATE_QP];
	fake.ports[1 - own].is_cut = true;
	is_int(finish(op), 0);
	ok(!memcmp(c.local, c.region, REGION));
	is_int(pmv_pair_of(links_of(0), peer_of(0)), own);
	is_int(peer_of(0)->epoch, 3);
	is_int(peer_of(1)->epoch, 3);
	/* at once: none was tried over the bad rail */
	is_int(fake.calls[FAKE_CREATE_QP] - made, 2);
	check_read(&c);
	is_int(lanes(0), 0);
	is_int(peer_of(0)->epoch, 3);
	fake.ports[1 - own].is_cut = false;
	links_pass_time(31000000000ull);
	check_read(&c);
	is_int(lanes(0), 1);
	is_int(lanes(1), 1);
	end_with(&c);
}

/* The connection's own rail falls silent: the next connection takes the other, without a lane. */
TAP_TEST(lanes__their_connection_is_silent)
{
	struct copy c;
	uint32_t own, op;

	begin(&c, 2);
	check_read(&c);
	own = pmv_pair_of(links_of(0), peer_of(0));
	begin_read(&c, &op);
	fake.ports[own].is_cut = true;
	is_int(finish(op), 0);
	ok(!memcmp(c.local, c.region, REGION));
	is_int(pmv_pair_of(links_of(0), peer_of(0)), 1 - own);
	check_read(&c);
	is_int(lanes(0), 0);
	is_int(peer_of(0)->epoch, 2);
	end_with(&c);
}

/* Devices that neither complete nor report: the connection is lost, with lanes that are well. */
TAP_TEST(lanes__some_are_stuck)
{
	static const unsigned int sets[] = {1, 2, 4, 8, 1 | 8};

	for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
		struct copy c;
		uint32_t own, op;
		int err = -EAGAIN;

		begin(&c, 4);
		check_read(&c);
		own = pmv_pair_of(links_of(0), peer_of(0));
		memset(c.local, 0, REGION);
		for (int rail = 0; rail < 4; rail++)
			if (sets[k] & 1u << rail)
				fake_stick(rail);
		must(!OPS->read(nodes[0].link, peer_of(0), c.rkey, 0, c.local, 262144, &op));
		for (int rail = 0; rail < 4; rail++)
			if (sets[k] & 1u << rail)
				fake_event(rail, IBV_EVENT_PORT_ACTIVE);
		links_hear();
		for (int i = 0; i < 30 && err == -EAGAIN; i++) {
			links_run(3, 100);
			err = OPS->rma_done(nodes[0].link, op);
		}
		is_int(err, 0);
		ok(!memcmp(c.local, c.region, 262144));
		is_int(links_of(0)->n_stalling, 0);
		if (!(sets[k] & 1u << own))
			is_int(pmv_pair_of(links_of(0), peer_of(0)), own);
		check_read(&c);
		end_with(&c);
	}
}

/* Memory that was taken back while it is read over lanes. */
TAP_TEST(lanes__region_is_taken_back)
{
	struct copy c;
	uint64_t len;
	uint32_t op;
	void *addr;

	begin(&c, 3);
	check_read(&c);
	begin_read(&c, &op);
	must(!region_remove(nodes[1].regions, c.rkey, &addr, &len));
	OPS->unexport(nodes[1].link, c.rkey, addr, len);
	is_int(finish(op), -EACCES);
	must(!region_add(nodes[1].regions, c.region, REGION, &c.rkey));
	check_read(&c);
	end_with(&c);
}

TAP_TEST(lanes__peer_leaves)
{
	struct copy c;
	uint32_t op;

	begin(&c, 3);
	check_read(&c);
	begin_read(&c, &op);
	node_close(&nodes[1]);
	is_int(finish(op), -EPIPE);
	is_int(lanes(0), 0);
	end_with(&c);
}

TAP_TEST(lanes__peer_is_deleted)
{
	struct copy c;
	uint32_t op;

	begin(&c, 3);
	check_read(&c);
	begin_read(&c, &op);
	OPS->peer_del(nodes[0].link, peer_of(0));
	nodes[0].peer[1] = NULL;
	is_int(finish(op), -EPIPE);
	end_with(&c);
}

/* Control messages that no link of ours sends. */
TAP_TEST(lane_heard__nonsense)
{
	for (int i = 0; i < 3; i++) {
		struct copy c;
		uint32_t own;
		struct pmv_control word = {.qp = 77};

		begin(&c, 3);
		check_read(&c);
		own = pmv_pair_of(links_of(0), peer_of(0));
		if (i == 0)
			word.lane = 4;
		if (i == 1)
			word.lane = own + 1;
		if (i == 2)
			word = (struct pmv_control){.lane = (own + 1) % 3 + 1};
		links_deliver(0, 1, PMV_LANE, &word);
		is_int(peer_of(0)->state, PMV_PEER_DEAD);
		end_with(&c);
	}
}

/* Words about an end that is no more. */
TAP_TEST(lane_heard__late)
{
	struct copy c;
	uint32_t own;
	struct pmv_control word = {.qp = 77, .yours = 99};

	begin(&c, 2);
	is_int(links_rma(0, 1, false, c.rkey, 0, c.local, 1), 0);
	own = pmv_pair_of(links_of(0), peer_of(0));
	word.lane = 1 - own + 1;
	links_deliver(0, 1, PMV_LANE, &word);
	is_int(lanes(0), 0);
	check_read(&c);
	is_int(lanes(0), 1);
	end_with(&c);
}

/* Its lanes hold what the connection's own rail lacks: the operation does not wait for itself. */
TAP_TEST(lanes__no_memory_left_but_their_own)
{
	struct copy c;
	uint64_t locked;
	uint32_t op;

	begin_with(&c, 3, "verbs.pinned=2M");
	check_read(&c);
	/* over the rail that is looked at first: lanes are busy when its own memory is used up */
	while (pmv_pair_of(links_of(0), peer_of(0))) {
		fake_break_qp(peer_of(0)->qp->qp);
		check_read(&c);
	}
	begin_read(&c, &op);
	is_int(links_of(0)->n_holding, 3);
	/* others have taken the rest meanwhile */
	locked = fake.locked;
	fake.lockable = 1;
	fake.is_held = false;
	fake_run();
	is_int(result_of(0, op), -ENOMEM);
	is_int(links_of(0)->n_holding, 0);
	fake.lockable = locked;
	check_read(&c);
	end_with(&c);
}

/* Each call that lanes use fails once: the operation ends well all the same. */
TAP_TEST(lanes__each_call_fails_once)
{
	static const enum fake_call calls[] = {FAKE_REG_MR, FAKE_CREATE_QP, FAKE_MODIFY_QP,
					       FAKE_POST_SEND, FAKE_RESIZE_CQ};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int nth = 1, uses = 1; nth <= uses; nth++) {
			struct copy c;
			long before;
			int err;

			begin_with(&c, 3, "verbs.credit=200");
			is_int(links_rma(0, 1, false, c.rkey, 0, c.local, 1), 0);
			before = fake.calls[calls[i]];
			fake_fail(calls[i], nth, ENOMEM);
			err = links_rma(0, 1, false, c.rkey, 0, c.local, REGION);
			uses = nth > 1 ? uses : (int)(fake.calls[calls[i]] - before) + 1;
			/* a queue pair that can't be stopped costs the peer */
			okf(!err || nodes[0].dead || nodes[1].dead, "%s %d: %d",
			    fake_call_name(calls[i]), nth, err);
			okf(err || !memcmp(c.local, c.region, REGION), "%s %d: other bytes",
			    fake_call_name(calls[i]), nth);
			if (!err)
				check_read(&c);
			fake_fail(calls[i], 0, 0);
			end_with(&c);
			if (tap_has_failed())
				return;
		}
}

/* Something that may happen at any time. */
static void disturb(uint64_t *seed, int rails)
{
	int rail = (int)(tap_rand(seed) % (uint64_t)rails);

	switch (tap_rand(seed) % 12) {
	case 0:
		fake_break(rail);
		break;
	case 1:
		fake.ports[rail].is_cut = true;
		break;
	case 2:
	case 3:
		for (int r = 0; r < rails; r++)
			fake.ports[r].is_cut = false;
		break;
	case 4:
		links_pass_time(31000000000ull);
		break;
	case 5:
		fake.is_held = !fake.is_held;
		break;
	default:
		fake_run();
		links_turn(3);
	}
}

TAP_TEST(lanes__random_courses)
{
	uint64_t seed = tap_seed();

	for (int round = 0; round < 60 && !tap_has_failed(); round++) {
		int rails = 2 + (int)(tap_rand(&seed) % 3);
		struct copy c;

		begin_with(&c, rails, "verbs.lost_timeout=0,channel.peer_timeout=0");
		for (int n = 0; n < 6; n++) {
			uint64_t len = 1 + tap_rand(&seed) % REGION;
			bool is_write = tap_rand(&seed) & 1;
			uint32_t op;

			links_fill(is_write ? c.local : c.region, REGION, tap_rand(&seed));
			must(!(is_write ? OPS->write(nodes[0].link, peer_of(0), c.rkey, 0, c.local,
						     len, &op)
					: OPS->read(nodes[0].link, peer_of(0), c.rkey, 0, c.local,
						    len, &op)));
			for (int k = (int)(tap_rand(&seed) % 20); k > 0; k--)
				disturb(&seed, rails);
			for (int r = 0; r < rails; r++)
				fake.ports[r].is_cut = false;
			is_int(finish(op), 0);
			okf(!memcmp(c.local, c.region, len), "round %d, operation %d", round, n);
		}
		end_with(&c);
	}
}
