// SPDX-License-Identifier: BSD-3-Clause
/*
 * stress - the loop of a node. Its life:
 *
 *   TRAFFIC --time or count is up--> DRAIN --own operations done, END said to and heard from all-->
 *   REPORT --node 0: all totals are in; others: theirs are sent--> over
 *
 * If nothing at all happens for the time limit, the nodes that something is awaited from are named.
 */
#include "pmcore/tools/scstest/stress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/pattern.h"
#include "pmcore/util/clock.h"

#define PROGRESS_NS 500000000u
#define FAULTY_NS 1000000000u /* longest silence once data are known to be wrong */

enum phase { TRAFFIC, DRAIN, REPORT, OVER };

static uint32_t choose_node(struct stress *st)
{
	uint32_t n = st->session->nodes, node;

	if (n == 1)
		return 0;
	node = (uint32_t)(pattern_random(&st->random) % (n - 1));
	return node < st->session->self ? node : node + 1;
}

/* One random operation with @node, if there is room for it: 1, 0 or -errno. */
static int begin_with(struct stress *st, uint32_t node)
{
	uint64_t percent = pattern_random(&st->random) % 100;
	int rc;

	if (percent < st->settings->reads)
		rc = operate_begin(st, node, false);
	else if (percent < st->settings->reads + st->settings->writes)
		rc = operate_begin(st, node, true);
	else
		rc = send_data(st, node);
	if (rc > 0)
		st->begun++;
	return rc;
}

/* With one of those whose turn it is, the first that has room. */
static int begin_due(struct stress *st)
{
	struct exchange *ex = &st->exchange;
	int rc = 0;

	for (uint32_t n = ex->left; n && !rc; n--) {
		uint32_t place = exchange_due(ex);

		rc = begin_with(st, ex->node[place]);
		if (rc > 0)
			exchange_done(ex, place);
	}
	return rc;
}

static int begin_one(struct stress *st)
{
	if (st->settings->pattern == PATTERN_RANDOM)
		return begin_with(st, choose_node(st));
	return begin_due(st);
}

static void show_progress(struct stress *st, uint64_t start, uint64_t now)
{
	static uint64_t shown;

	if (st->session->self || now - shown < PROGRESS_NS)
		return;
	shown = now;
	message_progress("%.0f s: node 0 began %llu operations, %llu datagrams came",
			 (double)(now - start) / 1e9, (unsigned long long)st->begun,
			 (unsigned long long)st->totals.received);
}

static bool is_traffic_over(struct stress *st, uint64_t start)
{
	uint64_t now;

	if (st->settings->count)
		return st->begun >= st->settings->count;
	if (st->begun % 32)
		return false;
	now = clock_monotonic_ns();
	show_progress(st, start, now);
	return (double)(now - start) >= st->settings->seconds * 1e9;
}

static bool is_drained(const struct stress *st)
{
	return !st->n_open && !st->n_writing && !st->n_debts;
}

static void owe_all(struct stress *st, enum debt debt)
{
	for (uint32_t node = 0; node < st->session->nodes; node++)
		if (node != st->session->self || st->session->nodes == 1)
			send_owe(st, node, debt);
}

static void sum_up(struct stress *st, uint64_t start)
{
	for (uint32_t node = 0; node < st->session->nodes; node++) {
		st->totals.missing += st->peers[node].ledger.missing;
		st->totals.late += st->peers[node].ledger.late;
		st->totals.duplicates += st->peers[node].ledger.duplicates;
	}
	st->totals.elapsed_ns = clock_monotonic_ns() - start;
}

static uint32_t others(const struct stress *st)
{
	return st->session->nodes == 1 ? 1 : st->session->nodes - 1;
}

/* The phase after @phase, if it is time. */
static enum phase next_phase(struct stress *st, enum phase phase, uint64_t start,
			     bool *has_said_end)
{
	switch (phase) {
	case TRAFFIC:
		return is_traffic_over(st, start) ? DRAIN : TRAFFIC;
	case DRAIN:
		if (is_drained(st) && !*has_said_end) {
			*has_said_end = true;
			owe_all(st, OWE_END);
		}
		if (!*has_said_end || st->n_ended < others(st) || !is_drained(st))
			return DRAIN;
		sum_up(st, start);
		if (st->session->self == 0)
			st->all[0] = st->totals;
		else
			send_owe(st, 0, OWE_TOTALS);
		return REPORT;
	case REPORT:
		if (st->session->self == 0)
			return st->n_totals + 1 == st->session->nodes ? OVER : REPORT;
		return st->n_debts ? REPORT : OVER;
	default:
		return OVER;
	}
}

/* Whether @node leaves something of ours undone. */
static bool is_stuck(const struct stress *st, uint32_t node)
{
	if (st->peers[node].debts || st->peers[node].is_writing)
		return true;
	for (int i = 0; i < STRESS_OPERATIONS; i++)
		if (st->operations[i].is_open && st->operations[i].node == node)
			return true;
	return false;
}

/* Whether something is awaited from @node: it may itself wait for one that is stuck. */
static bool is_awaited(const struct stress *st, uint32_t node, enum phase phase)
{
	if (phase == REPORT)
		return st->session->self == 0 && node && !st->all[node].elapsed_ns;
	return phase == DRAIN && !st->peers[node].has_ended;
}

static int name_the_silent(const struct stress *st, enum phase phase)
{
	uint32_t n = st->session->nodes, stuck = 0;
	char list[256] = "";
	size_t used = 0;

	for (uint32_t node = 0; node < n; node++)
		stuck += is_stuck(st, node);
	for (uint32_t node = 0; node < n && used + 16 < sizeof(list); node++)
		if (stuck ? is_stuck(st, node) : is_awaited(st, node, phase))
			used += (size_t)snprintf(list + used, sizeof(list) - used, " %u", node);
	message_error("nothing happens for %.3g s (--limit allows more); silent nodes:%s",
		      st->settings->limit, used ? list : " none in particular");
	return -ETIMEDOUT;
}

/* One round of everything; the number of things that happened or -errno. */
static int round_of(struct stress *st, enum phase phase)
{
	int came, ended, paid = 0, begun = 0;

	came = arrive_some(st);
	if (came < 0)
		return came;
	ended = operate_reap(st);
	if (ended < 0)
		return ended;
	if (st->n_debts)
		paid = send_debts(st);
	if (paid < 0)
		return paid;
	if (phase == TRAFFIC)
		begun = begin_one(st);
	return begun < 0 ? begun : came + ended + paid + begun;
}

/*
 * A damaged message may be one that a node waits for: after damage no node waits for long. Node 0
 * gives up first: it has the result, and a node that ends with a failure ends the others too.
 */
static void lose_patience(const struct stress *st)
{
	uint64_t limit_ns = st->session->self ? 2 * FAULTY_NS : FAULTY_NS;

	if (!totals_are_clean(&st->totals) && st->session->wait.limit_ns > limit_ns)
		st->session->wait.limit_ns = limit_ns;
}

static int loop(struct stress *st, uint64_t start)
{
	enum phase phase = TRAFFIC, next;
	bool has_said_end = false;
	int rc, n;

	while (phase != OVER) {
		n = round_of(st, phase);
		if (n < 0)
			return n;
		next = next_phase(st, phase, start, &has_said_end);
		if (n > 0 || next != phase) {
			wait_busy(&st->session->wait);
			rc = wait_is_interrupted() ? -EINTR : 0;
		} else {
			lose_patience(st);
			rc = wait_idle(&st->session->wait, WAIT_ROOM);
		}
		if (rc == -ETIMEDOUT)
			return name_the_silent(st, phase);
		if (rc)
			return rc;
		phase = next;
	}
	return 0;
}

static int open_exchange(struct stress *st)
{
	switch (st->settings->pattern) {
	case PATTERN_RANDOM:
		return 0;
	case PATTERN_ALL_TO_ALL:
		return exchange_open_all(&st->exchange, st->session->self, st->session->nodes);
	case PATTERN_NEIGHBOUR:
		return exchange_open_neighbours(&st->exchange, &st->settings->grid,
						st->session->self);
	}
	return -EINVAL;
}

static int prepare(struct stress *st)
{
	uint32_t n = st->session->nodes;
	/* Every node makes its own choices, all from the one seed that is printed. */
	uint64_t mix = st->settings->seed + st->session->self;
	int rc;

	st->random = pattern_random(&mix);
	st->peers = calloc(n, sizeof(*st->peers));
	st->all = st->session->self == 0 ? calloc(n, sizeof(*st->all)) : NULL;
	if (!st->peers || (st->session->self == 0 && !st->all))
		return -ENOMEM;
	rc = open_exchange(st);
	return rc ? rc : operate_open(st);
}

/* Prints the result; without @is_complete, the counts so far. */
static void report(struct stress *st, uint64_t start, bool is_complete)
{
	message_progress_end();
	if (!st->all)
		return;
	if (!st->all[0].elapsed_ns) {
		sum_up(st, start);
		st->all[0] = st->totals;
	}
	totals_print(st->all, st->session->nodes, st->settings, is_complete);
}

static bool is_clean(const struct stress *st)
{
	struct totals sum = st->totals;

	for (uint32_t node = 1; st->all && node < st->session->nodes; node++)
		totals_add(&sum, &st->all[node]);
	return totals_are_clean(&sum);
}

int stress_run(struct session *session, const struct settings *settings)
{
	struct stress st = {.session = session, .settings = settings};
	uint64_t start;
	int rc = prepare(&st);

	if (rc == -ENOMEM)
		message_error("no memory for %u nodes with operations of %llu bytes",
			      session->nodes, (unsigned long long)settings->max_size);
	if (!rc) {
		owe_all(&st, OWE_HELLO);
		start = clock_monotonic_ns();
		rc = loop(&st, start);
		report(&st, start, rc == 0);
	}
	/*
	 * A node may wait in vain, or lose others, because of what went wrong; then the others are
	 * not waited for.
	 */
	if ((!rc || message_exit_code(rc) == MESSAGE_LOST) && !is_clean(&st))
		rc = rc ? -EILSEQ : -EBADMSG;
	operate_close(&st);
	exchange_close(&st.exchange);
	free(st.peers);
	free(st.all);
	return rc;
}
