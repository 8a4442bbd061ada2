// SPDX-License-Identifier: BSD-3-Clause
/*
 * device - the operations of a verbs link, its opening and its closing. The link has three rooms;
 * hw/link.h has its state:
 *
 *   hw/     library, port, discover, rail: ports and what is opened of them    qp, shared, cq: queue pairs and their queues
 *           events, watch: what ports and devices say                          greeter: the queue pair for greetings
 *           pool, local, pinned, regcache, unmap: memory
 *   conn/   peer, life: the records of peers, their death and parting          connection, pair, lanes, closing
 *           greeting, wireup: how connections are made                         places, evict: the bound of connections
 *           silence, stall: peers that do not answer                           wire: every byte
 *   data/   tx, rx: messages                                                   rma, grants, export: one-sided operations
 *           traffic: what connections tell these                               takeover: by another device
 *
 * progress.c turns it all, state.c stops it and shows it.
 */
#include "pm-verbs/conn/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/peer.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/data/export.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/data/takeover.h"
#include "pm-verbs/data/traffic.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/discover.h"
#include "pm-verbs/hw/local.h"
#include "pm-verbs/hw/opening.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/qp.h"
#include "pm-verbs/hw/rail.h"
#include "pm-verbs/hw/watch.h"
#include "pm-verbs/progress.h"
#include "pm-verbs/state.h"

#define CLOSE_NS 100000000ull /* longest wait for goodbyes to leave: 100 ms */

static void tell_address(struct pmv_link *link)
{
	struct pmv_address *a = &link->address;

	a->n_rails = link->n_rails;
	a->buffer_bytes = link->buffer_bytes;
	for (uint32_t i = 0; i < link->n_rails; i++) {
		const struct pmv_rail *rail = &link->rails[i];
		const struct pmv_gid *gid = &rail->port.gids[rail->gid];

		memcpy(a->rails[i].gid, gid->raw, sizeof(gid->raw));
		a->rails[i].qp = rail->greeter->qp_num;
		a->rails[i].mtu = rail->port.mtu;
		a->rails[i].lid = rail->port.lid;
		a->rails[i].protocol = (uint8_t)gid->protocol;
		a->rails[i].skipped = rail->port.skipped;
	}
}

static void fini(struct pmv_link *link)
{
	pmv_rma_fini(link);
	pmv_export_fini(link);
	pmv_pool_fini(link);
	for (uint32_t i = 0; i < PM_RAILS_MAX; i++)
		if (link->rails[i].context)
			pmv_rail_close(link, &link->rails[i]);
	nodemap_fini(&link->nodes);
	free(link);
}

static void port_changed(struct pmv_link *link, struct pmv_rail *rail)
{
	pmv_silence_of_rail(link, rail);
	pmv_watch_rail(link, rail);
}

static const struct pmv_hw_callbacks from_hw = {
	.qp_ended = pmv_connection_qp_ended,
	.qp_lost = pmv_connection_qp_lost,
	.port_changed = port_changed,
	.greeted = pmv_greeting_arrived,
};

static int init(struct pmv_link *link, const struct pm_device_env *env)
{
	link->env = *env;
	link->stats = env->stats;
	link->from_hw = &from_hw;
	link->from_conn = &pmv_traffic;
	link->buffer_bytes = env->conf->verbs_mtu;
	link->n_credits = env->conf->verbs_credit + PMV_RESERVE;
	pmv_list_init(&link->arrived);
	job_clock_init(&link->clock);
	if (getrandom(&link->rng, sizeof(link->rng), 0) != sizeof(link->rng))
		return -errno;
	link->v = pmv_load(env->why, env->why_size);
	return link->v ? 0 : -ENODEV;
}

static int take_port(void *arg, const struct pmv_port *port, int gid, struct ibv_device *device)
{
	struct pmv_link *link = arg;
	struct pmv_rail *rail = &link->rails[link->n_rails];
	int err;

	rail->index = (uint8_t)link->n_rails;
	rail->port = *port;
	rail->gid = gid;
	err = pmv_rail_open(link, rail, device);
	link->n_rails += !err;
	return err;
}

static int open_rails(struct pmv_link *link)
{
	const struct pmv_discovery discovery = {.v = link->v,
						.conf = link->env.conf,
						.why = link->env.why,
						.why_size = link->env.why_size,
						.note = link->env.note,
						.note_size = link->env.note_size,
						.take = take_port,
						.arg = link};

	return pmv_discover(&discovery);
}

static int first_buffers(struct pmv_link *link)
{
	int err = pmv_pool_grow(link);

	if (!err)
		return 0;
	errno = -err;
	return pmv_rail_explain(link, &link->rails[0], "memory for messages");
}

static int device_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct pmv_link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return -ENOMEM;
	err = init(link, env);
	if (!err)
		err = open_rails(link);
	if (!err)
		err = pmv_local_open(link);
	if (!err)
		err = first_buffers(link);
	if (err) {
		fini(link);
		return err;
	}
	pmv_places_init(link);
	tell_address(link);
	link->base.can_leave = true;
	*ret_link = &link->base;
	return 0;
}

/* Whether something that others wait for has not left yet. */
static bool is_leaving(const struct pmv_link *link)
{
	for (uint32_t i = 0; i < link->n_rails; i++)
		if (link->rails[i].n_out)
			return true;
	for (const struct pm_link_peer *p = link->peers; p; p = p->next)
		if ((p->stage == PMV_READY || p->stage == PMV_CLOSING) && p->posted.n)
			return true;
	return false;
}

static void say_goodbye(struct pmv_link *link)
{
	uint64_t end = clock_monotonic_ns() + CLOSE_NS;

	while (is_leaving(link) && clock_monotonic_ns() < end)
		pmv_progress(link);
	for (struct pm_link_peer *p = link->peers; p; p = p->next)
		if ((pmv_peer_is_open(p) || p->state == PMV_PEER_DELETED) && p->epoch)
			pmv_greet(link, p, PMV_GOODBYE);
	while (is_leaving(link) && clock_monotonic_ns() < end)
		pmv_progress(link);
}

static void device_close(struct pm_link *base)
{
	struct pmv_link *link = pmv_of(base);

	say_goodbye(link);
	while (link->peers)
		pmv_peer_free(link, link->peers);
	while (link->qps)
		pmv_qp_destroy(link, link->qps);
	fini(link);
}

static int device_address(struct pm_link *base, void *buf, size_t room)
{
	return pmv_address_encode(&pmv_of(base)->address, buf, room);
}

static uint32_t device_mtu(struct pm_link *base, struct pm_link_peer *peer)
{
	return pmv_of(base)->buffer_bytes - PMV_HEADER;
}

const struct pm_link_ops pm_verbs_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "verbs",
	.open = device_open,
	.close = device_close,
	.address = device_address,
	.peer_add = pmv_peer_add,
	.peer_del = pmv_peer_del,
	.mtu = device_mtu,
	.get_send = pmv_get_send,
	.send = pmv_send,
	.carry = pmv_carry,
	.is_gone = pmv_is_gone,
	.probe = pmv_probe,
	.send_out = pmv_send_out,
	.send_done = pmv_send_done,
	.receive = pmv_receive,
	.release = pmv_release,
	.read = pmv_read,
	.write = pmv_write,
	.rma_done = pmv_rma_done,
	.unexport = pmv_unexport,
	.poll_fds = pmv_poll_fds,
	.arm = pmv_arm,
	.disarm = pmv_disarm,
	.quiesce = pmv_quiesce,
	.resume = pmv_resume,
	.save = pmv_save,
	.restore = pmv_restore,
	.dump = pmv_dump,
	.memory = pmv_memory,
	.leaving = &pmv_leave_ops,
};
