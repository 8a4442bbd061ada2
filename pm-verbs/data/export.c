// SPDX-License-Identifier: BSD-3-Clause
/*
 * export - the owning side of one-sided operations: regions that others have asked for are
 * registered whole, and who was told a key is remembered. When the user takes a region back it is
 * registered no more before unexport returns, so the device refuses whoever still comes; those that
 * were told are told that it is gone. Where the device won't deregister it, the connections of
 * those end instead.
 */
#include <errno.h>
#include <stdlib.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/data/export.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/local.h"
#include "pmcore/util/region.h"

struct grantee {
	struct grantee *next;
	struct pm_link_peer *peer;
};

struct pmv_export {
	struct pmv_export *next;
	uint64_t rkey;
	void *addr;
	uint64_t len;
	bool is_writable;
	struct pmv_registration registrations[PM_RAILS_MAX];
	struct grantee *grantees;
};

static struct pmv_export *find(const struct pmv_link *link, uint64_t rkey)
{
	for (struct pmv_export *e = link->exports; e; e = e->next)
		if (e->rkey == rkey)
			return e;
	return NULL;
}

static int get_export(struct pmv_link *link, uint64_t rkey, struct pmv_export **ret_export)
{
	struct pmv_export *e = find(link, rkey);
	bool is_readonly;
	uint64_t len;
	void *addr;
	int err;

	if (!e) {
		err = region_whole(link->env.regions, rkey, &addr, &len, &is_readonly);
		if (err)
			return err;
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->rkey = rkey;
		e->addr = addr;
		e->len = len;
		e->is_writable = !is_readonly;
		e->next = link->exports;
		link->exports = e;
	}
	*ret_export = e;
	return 0;
}

static int ensure_registered(struct pmv_link *link, struct pmv_export *e,
			     const struct pmv_rail *rail)
{
	struct pmv_registration *r = &e->registrations[rail->index];
	int err = 0;

	if (r->mr)
		return 0;
	if (e->is_writable) {
		err = pmv_register(link, rail, e->addr, e->len,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					   IBV_ACCESS_REMOTE_WRITE,
				   r);
		if (!err || (err != -EFAULT && err != -EACCES))
			return err;
		/* the pages themselves are read-only */
		e->is_writable = false;
	}
	return pmv_register(link, rail, e->addr, e->len, IBV_ACCESS_REMOTE_READ, r);
}

static int note_grantee(struct pmv_export *e, struct pm_link_peer *peer)
{
	struct grantee *g;

	for (g = e->grantees; g; g = g->next)
		if (g->peer == peer)
			return 0;
	g = malloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->peer = peer;
	peer->n_told++;
	g->next = e->grantees;
	e->grantees = g;
	return 0;
}

/* 0 or -errno: the device has not let go of the memory. */
static int free_export(struct pmv_link *link, struct pmv_export *e)
{
	struct pmv_export **at = &link->exports;
	int err = 0;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	for (uint32_t i = 0; i < link->n_rails; i++)
		if (verbs_unregister(link->v, &e->registrations[i]))
			err = -EBUSY;
	if (err)
		pmv_note_refusal(link, "a region of memory is not deregistered", err);
	while (e->grantees) {
		struct grantee *g = e->grantees;

		e->grantees = g->next;
		free(g);
	}
	free(e);
	return err;
}

void pmv_asked(struct pmv_link *link, struct pm_link_peer *peer, const struct pmv_control *control)
{
	struct pmv_control grant = {
		.rkey = control->rkey, .op = control->op, .lane = control->lane};
	struct pmv_export *e = NULL;
	const struct pmv_rail *rail;
	int err;

	/* a connection that is over asks again */
	if (peer->stage != PMV_READY)
		return;
	if (control->lane > peer->n_pairs) {
		pmv_peer_kill(link, peer, "it speaks of a queue pair that can't be");
		return;
	}
	rail = control->lane ? &link->rails[peer->pairs[control->lane - 1].ours] : peer->qp->rail;
	err = get_export(link, control->rkey, &e);
	if (!err)
		err = ensure_registered(link, e, rail);
	if (!err)
		err = note_grantee(e, peer);
	if (!err) {
		grant.addr = (uintptr_t)e->addr;
		grant.len = e->len;
		grant.key = e->registrations[rail->index].rkey;
		grant.is_writable = e->is_writable;
	} else if (e && !e->grantees) {
		free_export(link, e);
	}
	grant.error = (uint32_t)-err;
	pmv_send_control(link, peer, PMV_GRANT, &grant);
}

void pmv_unexport(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len)
{
	struct pmv_link *link = pmv_of(base);
	struct pmv_export *e = find(link, rkey);
	const struct pmv_control revoke = {.rkey = rkey};
	struct grantee *told, *next;
	int err;

	if (!e)
		return;
	told = e->grantees;
	e->grantees = NULL;
	err = free_export(link, e);
	for (struct grantee *g = told; g; g = next) {
		next = g->next;
		g->peer->n_told--;
		/* one that has lost its connection has lost the key with it */
		if (err)
			pmv_connection_lost(link, g->peer, UINT64_MAX,
					    "a region of memory could not be taken back");
		else if (g->peer->stage == PMV_READY)
			pmv_send_control(link, g->peer, PMV_REVOKE, &revoke);
		free(g);
	}
}

void pmv_export_forget(struct pmv_link *link, struct pm_link_peer *peer)
{
	for (struct pmv_export *e = link->exports; e; e = e->next)
		for (struct grantee **at = &e->grantees; *at; at = &(*at)->next)
			if ((*at)->peer == peer) {
				struct grantee *g = *at;

				*at = g->next;
				peer->n_told--;
				free(g);
				break;
			}
}

void pmv_export_fini(struct pmv_link *link)
{
	while (link->exports)
		free_export(link, link->exports);
}
