// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_suspend - the rank gives its devices back when it is told to, as its memory is to be
 * written to disk, and gets others later. From the first order until SUSPEND_RUN it stands still in
 * its progress function, with the lock. Between two orders it does what others need to get as far:
 * it polls, or is quiet, or sleeps on the order word.
 *
 * Requests of MPI stay as they are. Those that PM takes no more wait in their lists, as if it had
 * no room; what arrives goes to the queues of the matcher. Only one-sided operations of btl/pm are
 * ended before, as they are cut to the datagrams of the device that they were begun on.
 */
#include "mpi-glue/mtl/mtl_pm_suspend.h"
#include "mpi-glue/common/job.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "mpi-glue/mtl/mtl_pm_stage.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "pmcore/util/suspend_page.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* How long one rank waits at a time for acks of the others. */
#define QUIESCE_MS 20
/* All are quiet already: more than enough. */
#define STILL_MS 5000
/* A quiet rank answers those that are not yet so often. */
#define QUIET_NAP_NS 1000000
/* The order word is a futex; this only bounds the wait for one that died after it wrote. */
#define AWAY_NAP_NS 1000000000

static struct {
	bool is_away;
	bool is_unmet; /* it has new devices, and not all ranks were found by them */
	enum suspend_step step;
} suspension;

/* Nothing is tried with ranks that were not found yet: it would end with an error. */
static void poll_once(void)
{
	if (!suspension.is_unmet)
		mtl_pm_poll();
	mtl_pm_release_held();
}

static bool is_drained(void)
{
	return !mtl_pm.client || mtl_pm.client->is_idle();
}

/* All that PM has accepted is acknowledged, and all that we read has come. */
static bool is_sent(void)
{
	return is_drained() && TAILQ_EMPTY(&mtl_pm.readers) && !mtl_pm_stage_is_reading() &&
	       !mtl_pm.kept.is_full && pmIsSendDone(mtl_pm.ctx, PM_NODE_ANY) == PM_SUCCESS;
}

/* PM says why. */
static bool fail(uint32_t order)
{
	return mtl_pm_order_failed(order, "%s", pmLastError());
}

static bool hold(uint32_t order)
{
	poll_once();
	return pmHold(mtl_pm.ctx) ? fail(order) : is_sent();
}

static bool go_away(uint32_t order)
{
	if (suspension.is_away)
		return true;
	mtl_pm_release_held();
	if (pmQuiesce(mtl_pm.ctx, STILL_MS) || pmSuspend(mtl_pm.ctx))
		return fail(order);
	suspension.is_away = true;
	return true;
}

static bool revive(uint32_t order)
{
	char config[MTL_PM_ORDER_CONFIG_MAX], address[PM_ADDRESS_MAX];
	uint64_t key = mtl_pm_order_devices(config);
	size_t length = sizeof(address);

	mtl_pm_order_forget_addresses();
	if (pmRevive(mtl_pm.ctx, *config ? config : NULL, key))
		return fail(order);
	suspension.is_away = false;
	suspension.is_unmet = true;
	if (pmGetAddress(mtl_pm.ctx, address, &length))
		return fail(order);
	mtl_pm_order_tell_address(address, length);
	return true;
}

/*
 * Ranks that were not talked with yet are looked for at first contact. Whether there is a way to
 * any is asked of some: those at the distances 1, 2, 4, ..., as collectives use them.
 */
static bool reaches_others(void)
{
	uint32_t own, n = mtl_pm_order_nodes(&own);
	bool has_others = false;
	size_t mtu;

	for (uint32_t distance = 1; distance < n; distance *= 2) {
		if (!pmGetMtu(mtl_pm.ctx, mtl_pm_order_node((own + distance) % n), &mtu))
			return true;
		has_others = true;
	}
	return !has_others;
}

/* Other devices may take datagrams of other sizes, or none to that node. */
static bool meet(uint32_t order)
{
	const struct table *peers = &mtl_pm.peers;

	mtl_pm_order_take_addresses();
	for (uint32_t i = 0; peers->slots && i <= peers->mask; i++) {
		struct mtl_pm_peer *peer = peers->slots[i].value;

		/* those that are not there have ended in order, and are not talked with again */
		if (!peer || peer->is_dead || !mtl_pm_order_knows(peer->node) ||
		    mtl_pm_peer_meet_again(peer))
			continue;
		return mtl_pm_order_failed(
			order, "rank %u%s cannot be reached: %s", job_node_rank(peer->node),
			job_node_job(peer->node) > 1 ? " of a spawned world" : "", pmLastError());
	}
	if (!reaches_others())
		return mtl_pm_order_failed(order, "no other rank can be reached: %s",
					   pmLastError());
	suspension.is_unmet = false;
	return true;
}

static bool go_on(uint32_t order)
{
	if (suspension.is_away || suspension.is_unmet)
		return mtl_pm_order_failed(order, "the program can't go on without devices by "
						  "which all ranks were found");
	pmResume(mtl_pm.ctx);
	__atomic_store_n(&mtl_pm.watch_ns, 0, __ATOMIC_RELAXED);
	return true;
}

/* True: it was carried out at once. False: it is not done yet, or has failed. */
static bool begin(uint32_t order)
{
	switch (suspension.step) {
	case SUSPEND_RUN:
		return go_on(order);
	case SUSPEND_DRAIN:
		return is_drained();
	case SUSPEND_HOLD:
		return hold(order);
	case SUSPEND_QUIESCE:
		mtl_pm_release_held();
		return false;
	case SUSPEND_AWAY:
		return go_away(order);
	case SUSPEND_REVIVE:
		return go_away(order) && revive(order);
	case SUSPEND_MEET:
		return meet(order);
	default:
		return mtl_pm_order_failed(order, "mtl/pm does not know step %d", suspension.step);
	}
}

/* Goes on with the step, or with what others need. True: it is done from here on. */
static bool go_on_with(uint32_t order)
{
	int rc;

	switch (suspension.step) {
	case SUSPEND_DRAIN:
	case SUSPEND_HOLD:
		poll_once();
		sched_yield();
		return suspension.step == SUSPEND_DRAIN ? is_drained() : is_sent();
	case SUSPEND_QUIESCE:
		rc = pmQuiesce(mtl_pm.ctx, QUIESCE_MS);
		if (rc == ETIMEDOUT)
			return false;
		if (rc && mtl_pm_orders.failed != order)
			return fail(order);
		mtl_pm_order_sleep(order, QUIET_NAP_NS);
		return !rc;
	default:
		mtl_pm_order_sleep(order, AWAY_NAP_NS);
		return false;
	}
}

static bool is_standing(void)
{
	return suspension.step != SUSPEND_RUN || suspension.is_away || suspension.is_unmet;
}

/* Until the next order is there. */
static void obey(uint32_t order)
{
	bool is_done;

	suspension.step = suspend_order_step(order);
	is_done = begin(order);
	if (is_done)
		mtl_pm_order_done(order);
	mtl_pm_orders.seen = order;
	while (is_standing() && mtl_pm_order() == order) {
		if (!go_on_with(order) || is_done || mtl_pm_orders.failed == order)
			continue;
		mtl_pm_order_done(order);
		is_done = true;
	}
}

void mtl_pm_suspend(void)
{
	bool is_ours;

	mtl_pm_enter();
	/* the progress thread takes it even where the program does not */
	is_ours = !mtl_pm.has_lock;
	if (is_ours)
		pthread_mutex_lock(&mtl_pm.lock);
	mtl_pm_disarm();
	while (mtl_pm_order_is_due())
		obey(mtl_pm_order());
	if (is_ours)
		pthread_mutex_unlock(&mtl_pm.lock);
	mtl_pm_leave();
}
