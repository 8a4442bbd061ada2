// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random courses of links with several rails. Ports go down and come back with and without a word,
 * queue pairs stop, and completions of rails overtake each other. Processes compute, links are
 * quiesced, peers are removed and added, regions taken back. Meanwhile messages and one-sided
 * operations of many sizes are under way. When all is well again, all of it must have arrived once
 * and in order, in bounded time, and nobody that lives is called dead.
 */
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/fake_private.h"
#include "tests/unit/pm-verbs/traffic.h"

#define OPS (&pm_verbs_ops)
#define MS 1000000ull
#define COURSES 4 /* of each kind: a fraction of a second */

struct member {
	bool is_stopped;
	uint64_t busy_until;              /* it computes */
	uint64_t out_until[FAKE_DEVICES]; /* its port is out of order */
};

/* The size of a course, and the events that may happen in it. */
struct course {
	int n_nodes, n_rails;
	bool is_safe;      /* one rail is always well, and time-outs count */
	bool has_lives;    /* peers are removed and added */
	bool has_refusals; /* calls of the provider fail */
};

static struct member members[TRAFFIC_NODES];
static struct course course;
static uint64_t seed, now, held_until;

static uint64_t draw(uint64_t n)
{
	return tap_rand(&seed) % n;
}

static bool chance(uint64_t in)
{
	return draw(in) == 0;
}

/* ---- what happens ---- */

static struct fake_context *context_of(int node, int rail)
{
	return (struct fake_context *)links_of(node)->rails[rail].context;
}

static void end_outage(int node, int rail)
{
	struct fake_context *c = context_of(node, rail);

	if (c->is_down)
		fake_say(&c->base, IBV_EVENT_PORT_ACTIVE);
	c->is_down = c->is_cut = false;
	members[node].out_until[rail] = 0;
}

static void begin_outage(int node, int rail)
{
	struct fake_context *c = context_of(node, rail);

	if ((course.is_safe && rail == 0) || members[node].out_until[rail])
		return;
	members[node].out_until[rail] = now + (chance(4) ? 9000 : 400) * MS * (1 + draw(100)) / 100;
	if (chance(3)) {
		c->is_cut = true;
		return;
	}
	c->is_down = true;
	fake_say(&c->base, IBV_EVENT_PORT_ERR);
}

/* The next send on any queue pair ends so. */
static void spoil(void)
{
	static const enum ibv_wc_status statuses[] = {
		IBV_WC_RETRY_EXC_ERR,  IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_OP_ERR,
		IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_QP_OP_ERR,     IBV_WC_LOC_PROT_ERR,
		IBV_WC_FATAL_ERR,      IBV_WC_GENERAL_ERR,       IBV_WC_REM_INV_REQ_ERR,
	};

	fake.spoil = statuses[draw(sizeof(statuses) / sizeof(*statuses))];
	traffic_excuse(-1);
}

/* A call that nobody has to die of fails once. */
static void refuse(void)
{
	static const enum fake_call calls[] = {FAKE_POST_SEND, FAKE_POST_SRQ_RECV, FAKE_CREATE_AH,
					       FAKE_POST_SEND};

	fake_fail(calls[draw(sizeof(calls) / sizeof(*calls))], 1 + (int)draw(20), ENOMEM);
}

static void add_again(int from, int to)
{
	struct node *n = &nodes[from];

	OPS->peer_del(n->link, n->peer[to]);
	n->peer[to] = NULL;
	links_add(from, to);
	traffic_renew(from, to);
	traffic_renew(to, from);
	traffic_excuse(from);
	traffic_excuse(to);
}

static void break_something(int node)
{
	uint64_t n = draw(links_of(node)->n_qps + 1);

	for (struct pmv_qp *qp = links_of(node)->qps; qp; qp = qp->next)
		if (!n--)
			fake_break_qp(qp->qp);
}

static void happen(void)
{
	int node = (int)draw((uint64_t)course.n_nodes), rail = (int)draw((uint64_t)course.n_rails);
	int other = (node + 1 + (int)draw((uint64_t)course.n_nodes - 1)) % course.n_nodes;

	switch (draw(24)) {
	case 0:
	case 1:
	case 2:
		begin_outage(node, rail);
		break;
	case 3:
		break_something(node);
		break;
	case 4:
		spoil();
		break;
	case 5:
		fake.lose_acks = (int)draw(3);
		break;
	case 6:
	case 7:
		fake.is_held = true;
		held_until = now + draw(300) * MS;
		break;
	case 8:
		members[node].busy_until = now + draw(700) * MS;
		break;
	case 9:
		members[node].is_stopped = true;
		break;
	case 10:
		if (course.has_lives && chance(3))
			add_again(node, other);
		break;
	case 11:
		if (chance(3))
			traffic_take_back(node);
		break;
	case 12:
		fake.drop_ud = (int)draw(6);
		break;
	case 13:
		fake_break_ud(rail);
		break;
	case 15:
		fake.lose_shared = (int)draw(3);
		break;
	case 14:
		if (course.has_refusals)
			refuse();
		break;
	default:
		break;
	}
}

/* ---- the course of it ---- */

static void run_some_queue_pairs(void)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (chance(3))
			fake_qp_run(qp);
}

/* The time in which a process computes is not of the job. */
static void pass(uint64_t ns)
{
	now += ns;
	for (int n = 0; n < course.n_nodes; n++)
		if (members[n].busy_until <= now)
			links_of(n)->clock.now += ns;
	if (fake.is_held && held_until <= now) {
		fake.is_held = false;
		fake_run();
	}
	for (int n = 0; n < course.n_nodes; n++)
		for (int r = 0; r < course.n_rails; r++)
			if (members[n].out_until[r] && members[n].out_until[r] <= now)
				end_outage(n, r);
}

static void poll(int turns)
{
	while (turns-- > 0)
		for (int n = 0; n < course.n_nodes; n++)
			if (members[n].busy_until <= now)
				traffic_take(n);
}

static void stop_or_go(int node)
{
	if (members[node].is_stopped && chance(10)) {
		members[node].is_stopped = false;
		OPS->resume(nodes[node].link);
	} else if (members[node].is_stopped) {
		OPS->quiesce(nodes[node].link);
	}
}

static void work(bool may_begin)
{
	for (int from = 0; from < course.n_nodes; from++)
		for (int to = 0; to < course.n_nodes; to++) {
			if (from == to)
				continue;
			for (int k = may_begin ? (int)draw(4) : 0; k > 0; k--)
				traffic_send(from, to);
			traffic_operate(from, to, may_begin);
		}
}

static void show(void)
{
	char dump[8192];

	for (int n = 0; n < course.n_nodes; n++) {
		OPS->dump(nodes[n].link, dump, sizeof(dump));
		for (char *line = strtok(dump, "\n"); line; line = strtok(NULL, "\n"))
			tap_diag("%d: %s", n, line);
	}
}

/* All is well from now on: what was begun ends within @seconds of job time. */
static void settle(int seconds)
{
	uint64_t end = now + (uint64_t)seconds * 1000 * MS;

	fake.is_held = false;
	fake.spoil = IBV_WC_SUCCESS;
	fake.lose_acks = fake.lose_shared = fake.drop_ud = 0;
	fake_fail(0, 0, 0);
	for (int n = 0; n < course.n_nodes; n++) {
		for (int r = 0; r < course.n_rails; r++)
			end_outage(n, r);
		members[n].busy_until = 0;
		members[n].is_stopped = false;
		OPS->resume(nodes[n].link);
	}
	fake_run();
	links_hear();
	while (now < end && !traffic_is_done() && !tap_has_failed()) {
		fake_shared_run();
		poll(2 * PMV_IDLE_CHORES);
		work(false);
		pass(5 * MS);
	}
	if (!okf(traffic_is_done(), "not done %d s later", seconds))
		show();
}

static void send_some(void)
{
	for (int from = 0; from < course.n_nodes; from++)
		for (int to = 0; to < course.n_nodes; to++) {
			traffic_renew(from, to);
			for (int i = 0; i < 10 && from != to; i++)
				traffic_send(from, to);
		}
}

/*
 * Messages that are sent before the other side knows of a new record may be lost. When all know,
 * none is lost.
 */
static void check_lives(void)
{
	send_some();
	for (int i = 0; i < 1000; i++) {
		fake_shared_run();
		poll(2 * PMV_IDLE_CHORES);
		pass(5 * MS);
	}
	traffic_rules.may_lose = false;
	send_some();
	settle(1);
}

static void check_quiesce(void)
{
	int n_quiet = 0;

	for (int i = 0; i < 2000 && n_quiet < course.n_nodes; i++) {
		fake_shared_run();
		poll(2 * PMV_IDLE_CHORES);
		pass(5 * MS);
		n_quiet = 0;
		for (int n = 0; n < course.n_nodes; n++)
			n_quiet += !OPS->quiesce(nodes[n].link);
	}
	if (!is_int(n_quiet, course.n_nodes))
		show();
	for (int n = 0; n < course.n_nodes; n++)
		OPS->resume(nodes[n].link);
}

/* Whatever has happened, what is counted is there, and no buffer has got lost. */
static void check_counts(const struct pmv_link *link)
{
	uint32_t n_qps = 0, n_watched = 0, n_greeting = 0, n_closing = 0, n_buffers = link->n_free;

	for (const struct pmv_qp *qp = link->qps; qp; qp = qp->next) {
		n_qps++;
		n_watched += qp->stall_ns != 0;
		n_buffers += qp->n_receives;
	}
	for (const struct pm_link_peer *p = link->peers; p; p = p->next) {
		n_greeting += p->stage == PMV_GREETING;
		n_closing += p->stage == PMV_CLOSING;
		n_buffers += p->control.n + p->queue.n + p->posted.n + p->n_lent;
	}
	for (uint32_t r = 0; r < link->n_rails; r++)
		n_buffers += link->rails[r].shared.posted;
	is_int(link->n_qps, n_qps);
	is_int(link->n_stalling, n_watched);
	is_int(link->n_greeting, n_greeting);
	is_int(link->n_closing, n_closing);
	is_int(link->n_slots, n_buffers);
}

static void draw_options(char *ret_options, size_t size)
{
	static const char *const shapes[] = {"",
					     ",verbs.credit=32",
					     ",verbs.connections=1",
					     ",verbs.connections=2",
					     ",verbs.connections=4,verbs.credit=24",
					     ",verbs.shared=16"};

	snprintf(ret_options, size, "channel.peer_timeout=%s%s", course.is_safe ? "600000" : "0",
		 shapes[draw(sizeof(shapes) / sizeof(*shapes))]);
	if (!course.is_safe)
		strcat(ret_options, ",verbs.lost_timeout=0");
}

static void open_course(const struct course *want)
{
	char options[200];

	course = *want;
	memset(members, 0, sizeof(members));
	now = 0;
	draw_options(options, sizeof(options));
	fake_begin(course.n_rails);
	fake.max_srq = chance(3) ? 0 : fake.max_srq;
	fake.is_silent = chance(4);
	fake.is_late = chance(4);
	must(links_open_still(course.n_nodes, options));
	traffic_open(course.n_nodes, &seed);
	traffic_rules.may_lose = traffic_rules.may_fail = course.has_lives;
}

static void run_course(const struct course *want)
{
	open_course(want);
	for (int i = 0; i < 150 && !tap_has_failed(); i++) {
		happen();
		if (fake.is_held)
			run_some_queue_pairs();
		if (chance(2))
			fake_shared_run();
		if (chance(8))
			links_hear();
		work(true);
		for (int n = 0; n < course.n_nodes; n++)
			stop_or_go(n);
		poll((int)draw(200));
		pass(draw(40) * MS);
	}
	settle(20);
	if (course.has_lives)
		check_lives();
	check_quiesce();
	for (int n = 0; n < course.n_nodes; n++)
		check_counts(links_of(n));
	links_close();
	traffic_close();
}

static void run_courses(struct course want)
{
	seed = tap_seed();
	for (int i = 0; i < COURSES && !tap_has_failed(); i++) {
		want.n_nodes = 2 + (int)draw(2);
		want.n_rails = 2 + (int)draw(2);
		run_course(&want);
	}
}

TAP_TEST(course__ports_fail_at_will)
{
	run_courses((struct course){.is_safe = false});
}

TAP_TEST(course__one_rail_is_well)
{
	run_courses((struct course){.is_safe = true});
}

TAP_TEST(course__peers_are_removed_and_added)
{
	run_courses((struct course){.has_lives = true});
}

TAP_TEST(course__calls_fail)
{
	run_courses((struct course){.is_safe = true, .has_refusals = true});
}
