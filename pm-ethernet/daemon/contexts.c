// SPDX-License-Identifier: BSD-3-Clause
/* A context is complete in the maps before its process hears of it, and gone from them before it is free. */
#include "pm-ethernet/daemon/contexts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pm-ethernet/daemon/jobs.h"
#include "pm-ethernet/daemon/loop.h"
#include "pm-ethernet/daemon/ports.h"
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/rails.h"
#include "pm-ethernet/daemon/sockets.h"
#include "pm-ethernet/daemon/state.h"

/* What an attachment is made of before it becomes a context. */
struct plan {
	const struct ethd_asker *who;
	const struct eth_request *request;
	uint32_t n_rails;
	uint8_t rails[ETH_RAILS]; /* host rails */
	uint16_t context;
	char *why; /* ETH_WHY bytes */
};

/* Some of the rails may be gone, and may come back; with none there is nothing to hand out. */
static int check_presence(const struct ethd *d, const struct plan *p)
{
	size_t used;

	for (uint32_t i = 0; i < p->n_rails; i++)
		if (d->rails[p->rails[i]].ifindex)
			return 0;
	used = (size_t)snprintf(p->why, ETH_WHY, "no interface is left for PM, gone:");
	for (uint32_t i = 0; i < p->n_rails && used < ETH_WHY; i++)
		used += (size_t)snprintf(p->why + used, ETH_WHY - used, " %s",
					 d->rails[p->rails[i]].name);
	if (used < ETH_WHY)
		snprintf(p->why + used, ETH_WHY - used, "; see 'ip link'");
	return -ENODEV;
}

static int choose_rails(const struct ethd *d, struct plan *p)
{
	const struct eth_request *r = p->request;
	char names[ETH_RAILS * ETH_NAME];

	p->n_rails = r->n_rails ? r->n_rails : d->n_rails;
	for (uint32_t i = 0; i < p->n_rails; i++) {
		int rail = r->n_rails ? ethd_rail_find(d, r->rails[i]) : (int)i;

		if (rail < 0) {
			ethd_rails_names(d, names, sizeof(names));
			snprintf(p->why, ETH_WHY, "this host has no rail %s; its rails are: %s",
				 r->rails[i], names);
			return rail;
		}
		p->rails[i] = (uint8_t)rail;
	}
	return check_presence(d, p);
}

uint32_t ethd_contexts_count(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (uint32_t c = 1; c < ETH_CONTEXTS; c++)
		if (d->contexts[c].key && (uid == (uid_t)-1 || d->contexts[c].uid == uid))
			n++;
	return n;
}

/* Round robin, so that a late frame to a context that ended meets no new one for long. */
static int choose_number(struct ethd *d, struct plan *p)
{
	uint16_t want = p->request->want_context;

	if (p->who->resuming) {
		p->context = p->who->resuming;
		return 0;
	}
	if (ethd_contexts_count(d, p->who->uid) >= ETHD_UID_CONTEXTS) {
		snprintf(p->why, ETH_WHY,
			 "user %u has %d contexts on this host, the most one may have", p->who->uid,
			 ETHD_UID_CONTEXTS);
		return -EDQUOT;
	}
	if (want && !d->contexts[want].key) {
		p->context = want;
		return 0;
	}
	for (uint32_t i = 0; i < ETH_CONTEXTS; i++) {
		uint16_t c = (uint16_t)((d->last_context + 1 + i) % ETH_CONTEXTS);

		if (!c || d->contexts[c].key)
			continue;
		p->context = d->last_context = c;
		return 0;
	}
	snprintf(p->why, ETH_WHY, "all %d contexts of this host are in use", ETH_CONTEXTS - 1);
	return -ENOSPC;
}

static bool is_same_rails(const struct ethd_job *job, const struct plan *p)
{
	return job->n_rails == p->n_rails && !memcmp(job->rails, p->rails, p->n_rails);
}

/* Does somebody else send or receive here now? */
static bool has_others(const struct ethd *d, const struct plan *p)
{
	for (uint32_t c = 1; c < ETH_CONTEXTS; c++) {
		const struct ethd_context *x = &d->contexts[c];

		if (x->key && x->attachment != ETH_DETACHED && c != p->context &&
		    (x->key != p->request->key || x->uid != p->who->uid))
			return true;
	}
	return false;
}

/* 0, or why the queues of the NICs are not for this process. */
static int check_direct(const struct ethd *d, const struct plan *p)
{
	const struct ethd_job *job = ethd_job_find(d, p->request->key, p->who->uid);

	if (d->options.direct == ETHD_DIRECT_NEVER ||
	    (d->options.direct == ETHD_DIRECT_ROOT && p->who->uid)) {
		snprintf(p->why, ETH_WHY,
			 "direct attachment is not for user %u here (--direct %s); ask for a port",
			 p->who->uid, d->options.direct == ETHD_DIRECT_NEVER ? "never" : "root");
		return -EPERM;
	}
	if (!job && d->jobs) {
		snprintf(p->why, ETH_WHY,
			 "another job (of user %u) has the queues of the NICs; ask for a port",
			 d->jobs->uid);
		return -EAGAIN;
	}
	if (!job)
		return 0;
	if (job->is_adopted) {
		snprintf(p->why, ETH_WHY,
			 "the job runs since before pm-ethernetd was started again and takes no "
			 "more "
			 "direct contexts; ask for a port");
		return -EAGAIN;
	}
	if (!is_same_rails(job, p)) {
		snprintf(p->why, ETH_WHY, "the job's other processes on this host use other rails");
		return -EINVAL;
	}
	if (job->next_slot >= job->n_slots) {
		snprintf(p->why, ETH_WHY,
			 "the job's first process here expected %u contexts, all were handed out; "
			 "ask for a port",
			 job->n_slots);
		return -ENOSPC;
	}
	return 0;
}

/* The job, with its queues bound. */
static int ready_job(struct ethd *d, struct plan *p, struct ethd_job **ret)
{
	struct ethd_job *job = ethd_job_find(d, p->request->key, p->who->uid);
	bool was_zero_copy;
	int err = 0;

	if (!job)
		err = ethd_job_create(d, p->request, p->who->uid, p->rails, p->n_rails, &job,
				      p->why, ETH_WHY);
	if (err)
		return err;
	err = ethd_job_bind(d, job);
	if (!err) {
		*ret = job;
		return 0;
	}
	snprintf(p->why, ETH_WHY, "queue 0 of %s can't be had: %s",
		 d->rails[job->rails[job->n_bound]].name, strerror(-err));
	if (err == -EBUSY && !p->who->is_last_try)
		return ETHD_WAIT;
	/* One NIC can do without copies and another can't: then none does. */
	was_zero_copy = job->is_zero_copy;
	if (!job->n_contexts)
		ethd_job_destroy(d, job);
	if (!was_zero_copy || p->who->is_last_try)
		return err;
	d->is_copy_only = true;
	return ETHD_WAIT;
}

static void add_fd(struct ethd_answer *a, int fd, bool is_ours)
{
	a->fds[a->granted.n_fds] = fd;
	a->is_ours[a->granted.n_fds++] = is_ours;
}

static int attach_direct(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	struct ethd_context *c = &d->contexts[p->context];
	struct ethd_job *job;
	int sockets[ETH_RAILS], err = ready_job(d, p, &job);
	uint32_t slot;

	if (err)
		return err;
	err = ethd_job_join(d, job, sockets, &slot);
	if (err) {
		snprintf(p->why, ETH_WHY, "no socket on the NICs' queues: %s", strerror(-err));
		if (!job->n_contexts)
			ethd_job_destroy(d, job);
		return err;
	}
	c->job = job;
	c->slot = slot;
	c->attachment = ETH_DIRECT;
	ret->granted = job->layout;
	ret->granted.slot = slot;
	add_fd(ret, job->memory, true);
	add_fd(ret, job->share, true);
	add_fd(ret, d->board_fd, true);
	for (uint32_t r = 0; r < p->n_rails; r++) {
		uint32_t key = p->context * ETH_RAILS + p->rails[r];

		add_fd(ret, sockets[r], false);
		if (!err)
			err = bpf_map_update_elem(d->maps.sockets, &key, &sockets[r], BPF_ANY);
	}
	return err;
}

static int make_port(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	struct eth_granted *l = &ret->granted;
	int memory, fd, port,
		err = ethd_layout(d, p->request, p->who->uid, 1, 1, l, p->why, ETH_WHY);
	uint64_t first = (uint64_t)l->tx_packets * l->chunks_per_packet;

	if (err)
		return err;
	snprintf(p->why, ETH_WHY, "packet memory of %llu bytes can't be made",
		 (unsigned long long)l->memory_bytes);
	memory = xsk_memory("pm-ethernet-packets", l->memory_bytes);
	if (memory < 0)
		return memory;
	fd = xsk_owner(memory, l);
	err = fd < 0 ? fd : xsk_fill(fd, l, first * l->chunk_bytes, l->rx_chunks);
	if (!err) {
		port = ethd_port_take(d, p->context, fd, p->why, ETH_WHY);
		err = port < 0 ? port : 0;
	}
	if (err) {
		close(memory);
		if (fd >= 0)
			close(fd);
		return err;
	}
	add_fd(ret, memory, false);
	add_fd(ret, d->board_fd, true);
	add_fd(ret, fd, false);
	return port;
}

static int attach_port(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	struct ethd_context *c = &d->contexts[p->context];
	struct eth_grant grant = {.key = p->request->key, .context = p->context};
	uint32_t key = p->context;
	int port = make_port(d, p, ret), err;

	if (port < 0)
		return port;
	c->port = port;
	c->attachment = ETH_PORT;
	c->memory_bytes = ret->granted.memory_bytes;
	err = bpf_map_update_elem(d->maps.doors, &key, &ret->fds[2], BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(d->maps.ports, &key, &d->ports[port].switch_ifindex,
					  BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(d->maps.grants, &d->ports[port].switch_ifindex, &grant,
					  BPF_ANY);
	return err;
}

/* Tries what was wished for, and the port where anything will do. */
static int attach_somehow(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	uint32_t wish = p->request->wish;
	int err = 0;

	if (wish == ETH_WISH_AUTO && has_others(d, p) &&
	    !ethd_job_find(d, p->request->key, p->who->uid))
		wish = ETH_WISH_PORT;
	if (wish != ETH_WISH_PORT) {
		err = check_direct(d, p);
		if (!err)
			err = attach_direct(d, p, ret);
		if (err >= 0 || wish == ETH_WISH_DIRECT)
			return err;
		ethd_context_suspend(d, p->context);
		ethd_answer_close(ret);
	}
	return attach_port(d, p, ret);
}

static void describe(const struct ethd *d, const struct plan *p, struct eth_granted *g)
{
	const struct ethd_context *c = &d->contexts[p->context];

	g->magic = ETH_ATTACH_MAGIC;
	g->version = ETH_ATTACH_VERSION;
	g->host = d->host;
	g->context = p->context;
	g->type = __builtin_bswap16(d->options.type);
	g->attachment = (uint8_t)c->attachment;
	g->n_rails = (uint8_t)p->n_rails;
	for (uint32_t i = 0; i < p->n_rails; i++) {
		const struct ethd_rail *rail = &d->rails[p->rails[i]];

		snprintf(g->rails[i].name, ETH_NAME, "%s", rail->name);
		memcpy(g->rails[i].mac, rail->mac, ETH_MAC);
		g->rails[i].host_rail = p->rails[i];
		g->rails[i].is_zero_copy = c->attachment == ETH_DIRECT && c->job->is_zero_copy;
		g->rails[i].mtu = rail->mtu;
	}
}

static void settle(struct ethd *d, const struct plan *p)
{
	struct ethd_context *c = &d->contexts[p->context];

	c->key = p->request->key;
	c->client = p->who->client;
	c->uid = p->who->uid;
	c->pid = p->who->pid;
	c->n_rails = p->n_rails;
	memcpy(c->rails, p->rails, sizeof(c->rails));
	if (p->who->resuming)
		return;
	c->start_time = ethd_process_start(c->pid);
	c->pidfd = p->who->pidfd < 0 ? -1 : fcntl(p->who->pidfd, F_DUPFD_CLOEXEC, 0);
	ethd_process_watch(d, p->context);
}

int ethd_context_attach(struct ethd *d, const struct ethd_asker *who, const struct eth_request *r,
			struct ethd_answer *ret)
{
	struct plan p = {.who = who, .request = r, .why = ret->granted.why};
	struct eth_context entry = {.key = r->key};
	char why[ETH_WHY] = "";
	uint32_t key;
	int err;

	p.why = why;
	if (d->duplicate[0]) {
		snprintf(ret->granted.why, ETH_WHY, "%s", d->duplicate);
		return -EADDRINUSE;
	}
	err = choose_rails(d, &p);
	if (!err)
		err = choose_number(d, &p);
	if (!err) {
		err = attach_somehow(d, &p, ret);
		if (!err) {
			key = p.context;
			entry.attachment = d->contexts[key].attachment;
			err = bpf_map_update_elem(d->maps.contexts, &key, &entry, BPF_ANY);
			if (err)
				snprintf(why, sizeof(why), "kernel programs can't be told: %s",
					 strerror(-err));
		}
		if (err) {
			ethd_context_suspend(d, p.context);
			ethd_answer_close(ret);
		}
	}
	if (err) {
		snprintf(ret->granted.why, ETH_WHY, "%s", why[0] ? why : strerror(-err));
		return err;
	}
	settle(d, &p);
	describe(d, &p, &ret->granted);
	ethd_state_save(d);
	return 0;
}

void ethd_answer_close(struct ethd_answer *answer)
{
	for (uint32_t i = 0; i < answer->granted.n_fds; i++)
		if (!answer->is_ours[i])
			close(answer->fds[i]);
	memset(answer, 0, sizeof(*answer));
}

/*
 * Nothing goes to the context any more. While it has its key, probes to it are not answered that it is no
 * more. Deletions of what isn't there fail and are meant to.
 */
static void detach(struct ethd *d, uint32_t context)
{
	struct ethd_context *c = &d->contexts[context];
	struct eth_context rest = {.key = c->key, .attachment = ETH_DETACHED};

	bpf_map_update_elem(d->maps.contexts, &context, &rest, BPF_ANY);
	for (uint32_t r = 0; r < ETH_RAILS; r++) {
		uint32_t key = context * ETH_RAILS + r;

		bpf_map_delete_elem(d->maps.sockets, &key);
	}
	bpf_map_delete_elem(d->maps.doors, &context);
	bpf_map_delete_elem(d->maps.ports, &context);
	if (c->port >= 0)
		bpf_map_delete_elem(d->maps.grants, &d->ports[c->port].switch_ifindex);
}

void ethd_context_suspend(struct ethd *d, uint16_t context)
{
	struct ethd_context *c = &d->contexts[context];

	detach(d, context);
	if (c->port >= 0)
		ethd_port_give(d, c->port);
	if (c->job)
		ethd_job_leave(d, c->job);
	c->port = -1;
	c->job = NULL;
	c->memory_bytes = 0;
	c->attachment = ETH_DETACHED;
}

void ethd_context_release(struct ethd *d, uint16_t context)
{
	struct ethd_context *c = &d->contexts[context];

	c->key = 0;
	ethd_context_suspend(d, context);
	/* a copy of the descriptor may stay open, so the loop would not forget it by itself */
	if (c->pidfd >= 0) {
		ethd_loop_remove(d, c->pidfd);
		close(c->pidfd);
	}
	*c = (struct ethd_context){.pidfd = -1, .port = -1};
	ethd_state_save(d);
}

void ethd_contexts_sweep(struct ethd *d)
{
	uint32_t ifindex, next;
	int more = bpf_map_get_next_key(d->maps.grants, NULL, &next);

	for (uint32_t c = 1; c < ETH_CONTEXTS; c++)
		if (!d->contexts[c].key || d->contexts[c].attachment == ETH_DETACHED)
			detach(d, c);
	while (!more) {
		struct eth_grant grant = {0};
		int port;

		ifindex = next;
		more = bpf_map_get_next_key(d->maps.grants, &ifindex, &next);
		if (bpf_map_lookup_elem(d->maps.grants, &ifindex, &grant) ||
		    grant.context >= ETH_CONTEXTS)
			continue;
		port = d->contexts[grant.context].port;
		if (port < 0 || d->ports[port].switch_ifindex != ifindex)
			bpf_map_delete_elem(d->maps.grants, &ifindex);
	}
}
