// SPDX-License-Identifier: BSD-3-Clause
/* Tests of takeover.c with the composite: two contexts lose their RDMA ports and go on by udp. */
#include "pm-verbs/data/rx.h"
#include "pm-verbs/hw/events.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/progress.h"
#include "pmcore/api/context.h"
#include "tests/unit/pm-verbs/links.h"

#define CONFIG "devices=self+verbs+udp,udp.rails=lo,udp.mtu=1400"
#define LONGEST 4088u
#define LIMIT_NS 10000000000ull /* longest wait for anything */

static struct {
	pmContext ctx[2];
	uint8_t address[2][PM_ADDRESS_MAX];
	size_t address_len[2];
	uint32_t sent[2], received[2];
	int dead;
} pair;

static int resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	if (node > 1 || !pair.address_len[node])
		return EHOSTUNREACH;
	*ret_addr = pair.address[node];
	*ret_len = pair.address_len[node];
	return 0;
}

static bool begin_each(int n_devices, const char *const config[2])
{
	memset(&pair, 0, sizeof(pair));
	fake_begin(n_devices);
	for (uint32_t i = 0; i < 2; i++) {
		struct pmOptions options = {.size = sizeof(options),
					    .job_key = 4711,
					    .self = i,
					    .resolver = resolve,
					    .config = config[i]};

		pair.address_len[i] = PM_ADDRESS_MAX;
		if (!okf(!pmOpenContext(&options, &pair.ctx[i]), "%s", pmLastError()) ||
		    !is_int(pmGetAddress(pair.ctx[i], pair.address[i], &pair.address_len[i]), 0))
			return false;
	}
	return true;
}

static bool begin(int n_devices, const char *config)
{
	return begin_each(n_devices, (const char *const[2]){config, config});
}

/* Each on a device of its own, fake0 and fake1. */
static bool begin_apart(void)
{
	return begin_each(2, (const char *const[2]){CONFIG ",verbs.devices=fake0",
						    CONFIG ",verbs.devices=fake1"});
}

static void end(void)
{
	for (int i = 0; i < 2; i++)
		is_int(pmCloseContext(pair.ctx[i]), 0);
	is_int(fake.live, 0);
	fake_end();
}

static struct pmv_link *verbs_of(int i)
{
	return pmv_of(context_get(pair.ctx[i])->c->slots[1].link);
}

static const char *device(int at)
{
	const char *name = "";

	pmGetDeviceName(pair.ctx[at], (pmNode)!at, &name);
	return name;
}

static uint32_t length(uint32_t number)
{
	return 1 + number * 977 % LONGEST;
}

static int send_one(int from)
{
	uint8_t buf[LONGEST];
	uint32_t len = length(pair.sent[from]);
	int err;

	links_fill(buf, len, pair.sent[from] + (uint64_t)from * 1000);
	err = pmPost(pair.ctx[from], (pmNode)!from, buf, len);
	pair.sent[from] += !err;
	return err;
}

static void take(int at)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;
	int err;

	for (int i = 0; i < 50; i++) {
		err = pmReceive(pair.ctx[at], &buf, &len, &src, &desc);
		pair.dead += err == EPIPE;
		if (err)
			continue;
		okf(len == length(pair.received[at]) &&
			    links_is_filled(buf, len, pair.received[at] + (uint64_t)!at * 1000),
		    "message %u at %d of %zu bytes is another", pair.received[at], at, len);
		pair.received[at]++;
		pmReleaseReceiveBuffer(pair.ctx[at], desc);
	}
}

static void turn(void)
{
	for (int i = 0; i < 2; i++) {
		take(i);
		/* the link's time goes faster, so that what it waits for is over soon */
		verbs_of(i)->clock.now += 1000000;
	}
	if (!fake.is_held)
		fake_run();
}

/* @n messages each way, as far as they are taken, with what comes in between. */
static void chat(uint32_t n)
{
	uint64_t end = clock_monotonic_ns() + LIMIT_NS;
	uint32_t until[2] = {pair.sent[0] + n, pair.sent[1] + n};

	while (clock_monotonic_ns() < end) {
		bool is_done = true;

		for (int i = 0; i < 2; i++) {
			if (pair.sent[i] < until[i])
				send_one(i);
			is_done &= pair.sent[i] == until[i] && pair.received[!i] == pair.sent[i];
		}
		if (is_done)
			return;
		turn();
	}
	okf(false, "%u of %u and %u of %u came", pair.received[1], pair.sent[0], pair.received[0],
	    pair.sent[1]);
}

static void cut(void)
{
	for (int i = 0; i < fake.n_devices; i++)
		fake.ports[i].is_cut = true;
}

/* All ports are dead under traffic; of the last messages some arrived and were not acknowledged. */
TAP_TEST(leave__all_ports_dead_under_traffic)
{
	for (int lost = 0; lost < 6; lost++) {
		must(begin(1 + lost % 2, CONFIG));
		chat(40);
		is_str(device(0), "verbs");
		fake.lose_acks = lost;
		for (int i = 0; i < 5; i++)
			send_one(0);
		if (lost % 3)
			send_one(1);
		cut();
		chat(300);
		is_str(device(0), "udp");
		is_str(device(1), "udp");
		is_int(pair.dead, 0);
		for (int i = 0; i < 20000 && pmIsSendDone(pair.ctx[0], 1) == ENOBUFS; i++)
			turn();
		is_int(pmIsSendDone(pair.ctx[0], 1), 0);
		end();
	}
}

/* Additions with messages between, under which the connection breaks, or all ports are cut. */
static void add_eight(bool is_cut)
{
	const pmAtomicOp add = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	uint64_t number = 0, before, end = clock_monotonic_ns() + LIMIT_NS;
	pmDesc desc[8];
	pmHandle h;
	int err;

	must(pmMLock(pair.ctx[1], &number, sizeof(number), &h) == 0);
	for (int i = 0; i < 8; i++) {
		is_int(pmAtomic(pair.ctx[0], 1, &h, 0, &add, &desc[i]), 0);
		send_one(0);
	}
	if (is_cut)
		cut();
	else
		fake_break(0);
	for (uint64_t i = 0; i < 8; i++) {
		while ((err = pmIsAtomicDone(pair.ctx[0], desc[i], &before)) == ENOBUFS &&
		       clock_monotonic_ns() < end)
			turn();
		is_int(err, 0);
		is_int(before, i);
	}
	is_int(pmMUnlock(pair.ctx[1], &h), 0);
}

TAP_TEST(leave__atomic_operations_once)
{
	for (int i = 0; i < 24; i++) {
		must(begin(1, CONFIG));
		chat(10);
		fake.lose_acks = i / 2;
		add_eight(i & 1);
		is_str(device(0), i & 1 ? "udp" : "verbs");
		is_int(pair.dead, 0);
		end();
	}
}

/*
 * The one whose own port is down leaves, or the other one does, and the one that has noticed
 * nothing follows.
 */
TAP_TEST(leave__port_of_one_side_is_down)
{
	for (int course = 0; course < 32; course++) {
		int first = course & 1;

		must(begin_apart());
		chat(40);
		is_str(device(0), "verbs");
		fake.lose_acks = course >> 1 & 1;
		for (int i = 0; i < 5; i++)
			send_one(i % 2);
		/* as rdma_rxe does without a link */
		if (course & 16)
			fake_stick(0);
		if (course & 4)
			fake.refuse_ud = 5;
		fake.ports[0].is_cut = true;
		/* what the other one sends in vain does not end before it hears of this one */
		send_one(first);
		if (course & 8)
			send_one(!first);
		fake_event(0, IBV_EVENT_PORT_ERR);
		pmv_events(verbs_of(0));
		for (int i = 0; i < 20000 && strcmp(device(first), "udp"); i++) {
			take(first);
			verbs_of(first)->clock.now += 1000000;
		}
		is_str(device(first), "udp");
		chat(100);
		is_str(device(!first), "udp");
		is_int(pair.dead, 0);
		end();
		if (tap_has_failed()) {
			tap_diag("course %d", course);
			return;
		}
	}
}

/*
 * The ports work again before the other side has noticed anything: what it greets with is not
 * answered any more.
 */
TAP_TEST(leave__way_comes_back)
{
	must(begin(1, CONFIG));
	chat(10);
	fake.lose_acks = 2;
	for (int i = 0; i < 4; i++)
		send_one(0);
	send_one(1);
	cut();
	for (int i = 0; i < 20000 && strcmp(device(0), "udp"); i++) {
		take(0);
		verbs_of(0)->clock.now += 1000000;
	}
	is_str(device(0), "udp");
	is_str(device(1), "verbs");
	fake.ports[0].is_cut = false;
	send_one(1);
	chat(100);
	is_str(device(0), "udp");
	is_str(device(1), "udp");
	is_int(pair.dead, 0);
	end();
}

/*
 * Left is the link when receive() has given all that had arrived, also what the device has not told
 * of yet.
 */
TAP_TEST(leave__not_before_all_is_taken)
{
	const struct pm_leave_ops *leaving = pm_verbs_ops.leaving;
	uint64_t next = 0;
	int err;

	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	for (int i = 0; i < 25; i++)
		is_int(links_send(0, 1, 100), 0);
	err = leaving->leave(nodes[1].link, nodes[1].peer[0], &next);
	for (int i = 0; i < 100 && err == -EAGAIN; i++) {
		links_take(1);
		err = leaving->leave(nodes[1].link, nodes[1].peer[0], &next);
	}
	is_int(err, 0);
	is_int(nodes[1].received[0], 26);
	ok(next >= 26);
	is_int(links_take(1), 0);
	is_int(leaving->leave(nodes[1].link, nodes[1].peer[0], &next), 0);
	/* the other side is not answered any more */
	links_turn(100);
	is_int(nodes[1].received[0], 26);
	links_close();
}

/*
 * Messages in the completion queue when the mark of the change arrives are taken before those of
 * the other device.
 */
TAP_TEST(leave__much_is_not_taken_yet)
{
	for (int n = 14; n < 30; n++) {
		must(begin(1, CONFIG));
		chat(10);
		for (int i = 0; i < n; i++)
			is_int(send_one(0), 0);
		cut();
		for (int i = 0; i < 3; i++)
			send_one(0);
		for (int i = 0; i < 20000 && strcmp(device(0), "udp"); i++) {
			take(0);
			verbs_of(0)->clock.now += 1000000;
		}
		for (int i = 0; i < 20; i++)
			take(0);
		/* udp is polled first, and the mark is there */
		composite_look_everywhere(context_get(pair.ctx[1])->c);
		chat(3);
		end();
		if (tap_has_failed())
			return;
	}
}

/*
 * A device that shares receives has acknowledged messages of which it tells when its queue pair has
 * ended.
 */
TAP_TEST(leave__device_tells_late)
{
	for (int course = 0; course < 4; course++) {
		int loser = course & 1;

		must(begin(1, CONFIG));
		fake.is_silent = course & 2;
		chat(10);
		fake.is_late = true;
		for (int i = 0; i < 5; i++)
			send_one(0);
		fake.is_late = false;
		cut();
		send_one(loser);
		for (int i = 0; i < 20000 && strcmp(device(loser), "udp"); i++) {
			take(loser);
			verbs_of(loser)->clock.now += 1000000;
			if (loser)
				fake_run();
		}
		/* the mark comes before the device tells */
		for (int i = 0; i < 20; i++)
			take(loser);
		composite_look_everywhere(context_get(pair.ctx[!loser])->c);
		chat(30);
		is_str(device(0), "udp");
		is_str(device(1), "udp");
		is_int(pair.dead, 0);
		end();
		if (tap_has_failed()) {
			tap_diag("course %d", course);
			return;
		}
	}
}

/*
 * The device took a forged message in place of one, and the ports die before a connection has told
 * so: the other device does not go on behind it.
 */
TAP_TEST(leave__a_message_is_lost_to_a_forged_one)
{
	struct pmv_link *link;
	struct pmv_slot *slot;

	must(begin(1, CONFIG));
	chat(10);
	link = verbs_of(1);
	slot = pmv_slot_get(link);
	slot->data[0] = 0;
	cut();
	pmv_arrived(link, link->peers, slot, 1);
	/* the lost one is acknowledged */
	verbs_of(0)->peers->first++;
	send_one(1);
	for (int i = 0; i < 20000 && !pair.dead; i++)
		turn();
	is_int(pair.dead, 1);
	is_int(send_one(1), EPIPE);
	ok(strstr(pmLastError(), "what it has received cannot be known") != NULL);
	end();
}

/* One that was never reached by verbs. */
TAP_TEST(leave__never_connected)
{
	must(begin(1, CONFIG ",channel.peer_timeout=3000"));
	cut();
	chat(30);
	is_str(device(0), "udp");
	end();
}

/* Each way of breaking, together with the end of all ports. */
TAP_TEST(leave__calls_fail_meanwhile)
{
	static const enum fake_call calls[] = {FAKE_CREATE_QP, FAKE_CREATE_AH, FAKE_POST_SEND,
					       FAKE_POST_RECV};

	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
		for (int nth = 1; nth <= 13; nth += 3) {
			must(begin(1, CONFIG ",channel.peer_timeout=5000"));
			chat(3);
			fake_fail(calls[c], nth, EIO);
			for (int i = 0; i < 5; i++)
				send_one(i % 2);
			turn();
			cut();
			chat(20);
			is_str(device(0), "udp");
			is_int(pair.dead, 0);
			end();
			if (tap_has_failed()) {
				tap_diag("%s failed at its use %d", fake_call_name(calls[c]), nth);
				return;
			}
		}
}

static int finish(bool is_write, pmDesc desc)
{
	uint64_t end = clock_monotonic_ns() + LIMIT_NS;
	int err = ENOBUFS;

	while (err == ENOBUFS && clock_monotonic_ns() < end) {
		turn();
		err = is_write ? pmIsWriteDone(pair.ctx[0], desc) : pmIsReadDone(pair.ctx[0], desc);
	}
	return err;
}

/* One-sided operations that verbs had begun, some with parts done. */
TAP_TEST(leave__operations_under_way)
{
	static uint8_t remote[2][3000000], local[2][3000000];
	pmHandle handle[2];
	pmDesc desc[2];

	must(begin(1, CONFIG));
	chat(3);
	links_fill(remote[0], sizeof(remote[0]), 1);
	links_fill(local[1], sizeof(local[1]), 2);
	memset(remote[1], 0, sizeof(remote[1]));
	memset(local[0], 0, sizeof(local[0]));
	for (int i = 0; i < 2; i++)
		is_int(pmMLock(pair.ctx[1], remote[i], sizeof(remote[i]), &handle[i]), 0);
	fake.is_held = true;
	is_int(pmRead(pair.ctx[0], 1, &handle[0], 0, local[0], sizeof(local[0]), &desc[0]), 0);
	is_int(pmWrite(pair.ctx[0], 1, &handle[1], 0, local[1], sizeof(local[1]), &desc[1]), 0);
	for (int i = 0; i < 3; i++) {
		fake_run();
		turn();
	}
	fake.is_held = false;
	cut();
	fake_run();
	is_int(finish(false, desc[0]), 0);
	is_int(finish(true, desc[1]), 0);
	ok(links_is_filled(local[0], sizeof(local[0]), 1));
	ok(links_is_filled(remote[1], sizeof(remote[1]), 2));
	is_str(device(0), "udp");
	for (int i = 0; i < 2; i++)
		is_int(pmMUnlock(pair.ctx[1], &handle[i]), 0);
	chat(5);
	end();
}

/* Buffers that the program holds at the change: one to send, and one that it has received. */
TAP_TEST(leave__buffers_of_the_program)
{
	pmDesc out, in;
	void *buf, *held;
	size_t len;
	pmNode src;

	must(begin(1, CONFIG));
	is_int(pmPost(pair.ctx[0], 1, "held", 5), 0);
	for (int i = 0; i < 100000; i++) {
		if (!pmReceive(pair.ctx[1], &held, &len, &src, &in))
			break;
		pmReceive(pair.ctx[0], &buf, &len, &src, &out);
	}
	is_int(pmGetSendBuffer(pair.ctx[0], 1, LONGEST, &buf, &out), 0);
	links_fill(buf, length(0), 0);
	cut();
	send_one(1);
	for (int i = 0; i < 20000 && strcmp(device(0), "udp"); i++)
		turn();
	is_str(device(0), "udp");
	is_int(pmTruncateBuffer(pair.ctx[0], out, length(0)), 0);
	is_int(pmSend(pair.ctx[0], out), 0);
	pair.sent[0]++;
	is_str(held, "held");
	is_int(pmReleaseReceiveBuffer(pair.ctx[1], in), 0);
	chat(3);
	end();
}

/* Nodes that have forgotten each other go by verbs again when they can. */
TAP_TEST(leave__removed_and_met_again)
{
	must(begin(1, CONFIG));
	chat(10);
	cut();
	chat(10);
	is_str(device(0), "udp");
	is_str(device(1), "udp");
	for (int i = 0; i < 2; i++)
		is_int(pmRemoveNode(pair.ctx[i], (pmNode)!i), 0);
	fake.ports[0].is_cut = false;
	chat(10);
	is_str(device(0), "verbs");
	is_str(device(1), "verbs");
	is_int(pair.dead, 0);
	end();
}

/* With no other device it is dead, as ever. */
TAP_TEST(leave__no_other_device)
{
	must(begin(1, "devices=self+verbs"));
	chat(3);
	cut();
	send_one(0);
	for (int i = 0; i < 20000 && !pair.dead; i++)
		turn();
	is_int(pair.dead, 1);
	is_int(send_one(0), EPIPE);
	ok(strstr(pmLastError(), "does not answer") != NULL);
	end();
}

/* A link that is stopped, saved and restored after the change. */
TAP_TEST(leave__saved_after_the_change)
{
	static uint8_t blob[2][1 << 16];
	size_t len[2];
	int err = ETIMEDOUT;

	must(begin(1, CONFIG));
	chat(10);
	cut();
	chat(10);
	for (int i = 0; i < 1000 && err == ETIMEDOUT; i++) {
		err = pmQuiesce(pair.ctx[0], 0);
		err = pmQuiesce(pair.ctx[1], 0) ?: err;
	}
	is_int(err, 0);
	for (int i = 0; i < 2; i++)
		okf(!pmSaveContext(pair.ctx[i], blob[i], sizeof(blob[i]), &len[i]), "%s",
		    pmLastError());
	end();
	must(begin(1, CONFIG));
	for (int i = 0; i < 2; i++)
		okf(!pmRestoreContext(pair.ctx[i], blob[i], len[i]), "%s", pmLastError());
	is_str(device(0), "udp");
	chat(10);
	is_str(device(1), "udp");
	end();
}
