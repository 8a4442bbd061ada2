// SPDX-License-Identifier: BSD-3-Clause
/*
 * A context is complete in the maps before its process hears that it is bound, and gone from them
 * before it is free.
 */
#include "pm-ethernet/daemon/contexts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pm-ethernet/daemon/charges.h"
#include "pm-ethernet/daemon/closer.h"
#include "pm-ethernet/daemon/inboxes.h"
#include "pm-ethernet/daemon/jobs.h"
#include "pm-ethernet/daemon/memory.h"
#include "pm-ethernet/daemon/ports.h"
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/rails.h"
#include "pm-ethernet/daemon/sockets.h"
#include "pm-ethernet/daemon/sources.h"
#include "pm-ethernet/daemon/state.h"

/* The parts of an attachment before it becomes a context. */
struct plan {
	const struct ethd_asker *who;
	const struct eth_request *request;
	uint32_t n_rails;
	uint8_t rails[ETH_RAILS]; /* host rails */
	uint16_t context;
	char *why; /* ETH_WHY bytes */
};

uint32_t ethd_contexts_count(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (uint32_t c = 1; c < ETH_CONTEXTS; c++)
		if (d->contexts[c].key && (uid == (uid_t)-1 || d->contexts[c].uid == uid))
			n++;
	return n;
}

/*
 * Contexts that ended but whose sockets are kept count as well. A process that is resumed may still
 * have the memory of before.
 */
static bool is_full(const struct ethd *d, const struct ethd_asker *who)
{
	uint32_t n = ethd_contexts_count(d, who->uid) + ethd_charges_kept(d, who->uid);

	return (!who->resuming && n >= d->uid_contexts) ||
	       ethd_charges_ended(d, who->uid) >= 2 * d->uid_contexts;
}

/* Round robin, so that a late frame to a context that ended meets no new one for long. */
static int choose_number(struct ethd *d, struct plan *p)
{
	uint16_t want = p->request->want_context;

	if (is_full(d, p->who))
		ethd_charges_look(d);
	if (is_full(d, p->who)) {
		snprintf(p->why, ETH_WHY,
			 "user %u has the %u contexts that one may have on this host (%u of them "
			 "ended, but "
			 "programs keep their sockets, %u their memory); end other programs",
			 p->who->uid, d->uid_contexts, ethd_charges_kept(d, p->who->uid),
			 ethd_charges_ended(d, p->who->uid));
		return -EDQUOT;
	}
	if (p->who->resuming) {
		p->context = p->who->resuming;
		return 0;
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
	const struct ethd_job *other = d->jobs;

	while (other && other->is_void)
		other = other->next;
	if (d->options.direct == ETHD_DIRECT_NEVER ||
	    (d->options.direct == ETHD_DIRECT_ROOT && p->who->uid)) {
		snprintf(p->why, ETH_WHY,
			 "direct attachment is not for user %u here (--direct %s); ask for a port",
			 p->who->uid, d->options.direct == ETHD_DIRECT_NEVER ? "never" : "root");
		return -EPERM;
	}
	for (uint32_t i = 0; i < p->n_rails; i++) {
		if (d->rails[p->rails[i]].ifindex)
			continue;
		snprintf(p->why, ETH_WHY, "%s is gone; ask for a port, or for the other rails",
			 d->rails[p->rails[i]].name);
		return -ENODEV;
	}
	if (!job && other) {
		snprintf(p->why, ETH_WHY,
			 "another job (of user %u) has the queues of the NICs; ask for a port",
			 other->uid);
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
			 d->is_one_slot ? "only one process of a job can have the queues of the "
					  "NICs before "
					  "Linux 6.4 (%u handed out); ask for a port"
					: "the job's first process here expected %u contexts, all "
					  "were handed "
					  "out; ask for a port",
			 job->n_slots);
		return -ENOSPC;
	}
	return 0;
}

static void add_fd(struct ethd_answer *a, int fd, bool is_ours)
{
	a->fds[a->granted.n_fds] = fd;
	a->is_ours[a->granted.n_fds++] = is_ours;
}

/* A descriptor of memory that others can tell from ours. */
static int lend(struct ethd_answer *a, int memory)
{
	int fd = ethd_memory_lend(memory);

	if (fd < 0)
		return fd;
	add_fd(a, fd, false);
	return 0;
}

/* In mode tc the frames of a context come by an inbox and not by its sockets: makes the inbox. */
static int add_inbox(struct ethd_context *c, struct ethd_answer *ret, char *why)
{
	uint32_t bytes = ret->granted.inbox_bytes;

	if (!bytes)
		return 0;
	c->inbox = ethd_inbox_make(bytes);
	if (c->inbox < 0) {
		snprintf(why, ETH_WHY, "an inbox of %u bytes can't be made: %s", bytes,
			 strerror(-c->inbox));
		return c->inbox;
	}
	c->charge->is_freed_late = true;
	add_fd(ret, c->inbox, true);
	return 0;
}

static int attach_direct(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	struct ethd_context *c = &d->contexts[p->context];
	struct ethd_job *job = ethd_job_find(d, p->request->key, p->who->uid);
	int err = 0;

	if (!job)
		err = ethd_job_create(d, p->request, p->who->uid, p->rails, p->n_rails, &job,
				      p->why, ETH_WHY);
	if (err)
		return err;
	err = ethd_job_join(d, job, c->sockets, &c->slot);
	if (err) {
		snprintf(p->why, ETH_WHY, "no socket for the NICs' queues: %s", strerror(-err));
		if (!job->n_contexts)
			ethd_job_destroy(d, job);
		return err;
	}
	c->n_sockets = p->n_rails;
	c->is_pending = true;
	c->job = job;
	c->charge = job->charge;
	c->attachment = ETH_DIRECT;
	c->memory_bytes = job->charge->bytes / job->n_slots;
	ret->granted = job->layout;
	ret->granted.slot = c->slot;
	err = lend(ret, job->charge->memory);
	if (!err)
		err = lend(ret, job->charge->share);
	if (err)
		return err;
	add_fd(ret, d->board_fd, true);
	err = add_inbox(c, ret, p->why);
	if (err)
		return err;
	for (uint32_t r = 0; r < p->n_rails; r++)
		add_fd(ret, c->sockets[r], true);
	for (uint32_t r = 0; r < p->n_rails; r++)
		add_fd(ret, job->base[r], true);
	return 0;
}

/* The socket of a port, its fill ring full, without memory yet. */
static int make_socket(const struct eth_granted *l, uint32_t ifindex, uint32_t n_rails)
{
	uint64_t first = (uint64_t)l->tx_packets * l->chunks_per_packet;
	int fd = xsk_plain(l, true), err = fd < 0 ? fd : xsk_tie(fd, ifindex);

	/* Rails do not fill evenly: with twice the room of each none of them runs dry. */
	if (!err)
		err = xsk_scale_room(fd, n_rails == 1 ? 1 : 2 * n_rails);
	if (!err)
		err = xsk_fill(fd, l, first * l->chunk_bytes, l->rx_chunks);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* The charge, the memory and the socket of a port that was taken. */
static int make_port(struct ethd *d, struct ethd_context *c, const struct plan *p,
		     const struct eth_granted *l)
{
	int fd;

	c->charge = ethd_charge_begin(d, p->who->uid, ethd_layout_bytes(l, 1));
	if (!c->charge)
		return -ENOMEM;
	c->charge->own_bytes = c->charge->bytes - l->memory_bytes;
	c->charge->memory = ethd_memory_make("pm-ethernet-packets", l->memory_bytes);
	if (c->charge->memory < 0)
		return c->charge->memory;
	fd = make_socket(l, d->ports[c->port].user_ifindex, p->n_rails);
	if (fd < 0)
		return fd;
	c->n_sockets = 1;
	c->is_pending = true;
	c->sockets[0] = fd;
	c->attachment = ETH_PORT;
	c->memory_bytes = c->charge->bytes;
	return 0;
}

static int attach_port(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	struct ethd_context *c = &d->contexts[p->context];
	struct eth_granted *l = &ret->granted;
	int err = ethd_layout(d, p->request, p->who->uid, 1, 1, l, p->why, ETH_WHY);

	if (err)
		return err;
	c->port = ethd_port_take(d, p->context, p->why, ETH_WHY);
	if (c->port < 0)
		return c->port;
	err = make_port(d, c, p, l);
	if (!err)
		err = lend(ret, c->charge->memory);
	if (err) {
		snprintf(p->why, ETH_WHY, "packet memory of %llu bytes can't be made: %s",
			 (unsigned long long)l->memory_bytes, strerror(-err));
		return err;
	}
	add_fd(ret, d->board_fd, true);
	err = add_inbox(c, ret, p->why);
	if (!err)
		add_fd(ret, c->sockets[0], true);
	return err;
}

/* Tries what was asked for, and the port where anything will do. */
static int attach_somehow(struct ethd *d, struct plan *p, struct ethd_answer *ret)
{
	uint32_t attach = p->request->attach;
	int err = 0;

	if (attach == ETH_ATTACH_AUTO && has_others(d, p) &&
	    !ethd_job_find(d, p->request->key, p->who->uid))
		attach = ETH_ATTACH_PORT;
	if (attach != ETH_ATTACH_PORT) {
		err = check_direct(d, p);
		if (!err)
			err = attach_direct(d, p, ret);
		if (!err || attach == ETH_ATTACH_DIRECT)
			return err;
		ethd_context_suspend(d, p->context);
		ethd_answer_close(ret);
	}
	return attach_port(d, p, ret);
}

static void describe(const struct ethd *d, uint16_t context, struct eth_granted *g)
{
	const struct ethd_context *c = &d->contexts[context];

	g->magic = ETH_ATTACH_MAGIC;
	g->version = ETH_ATTACH_VERSION;
	g->host = d->host;
	g->context = context;
	g->type = __builtin_bswap16(d->options.type);
	g->attachment = (uint8_t)c->attachment;
	g->n_rails = (uint8_t)c->n_rails;
	for (uint32_t i = 0; i < c->n_rails; i++) {
		const struct ethd_rail *rail = &d->rails[c->rails[i]];

		snprintf(g->rails[i].name, ETH_NAME, "%s", rail->name);
		memcpy(g->rails[i].mac, rail->mac, ETH_MAC);
		g->rails[i].host_rail = c->rails[i];
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
	c->is_new = true;
	c->start_time = ethd_process_start(c->pid);
	c->pidfd = p->who->pidfd < 0 ? -1 : fcntl(p->who->pidfd, F_DUPFD_CLOEXEC, 0);
	ethd_process_watch(d, p->context);
}

int ethd_context_attach(struct ethd *d, const struct ethd_asker *who, const struct eth_request *r,
			struct ethd_answer *ret)
{
	char why[ETH_WHY] = "";
	struct plan p = {.who = who, .request = r, .why = why};
	int err;

	if (d->duplicate[0]) {
		snprintf(ret->granted.why, ETH_WHY, "%s", d->duplicate);
		return -EADDRINUSE;
	}
	err = ethd_rails_choose(d, r, p.rails, &p.n_rails, why);
	if (!err)
		err = choose_number(d, &p);
	if (!err) {
		err = attach_somehow(d, &p, ret);
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
	describe(d, p.context, &ret->granted);
	return 0;
}

static int bind_direct(struct ethd *d, uint16_t context, bool is_last_try, char *why)
{
	struct ethd_context *c = &d->contexts[context];
	int err = ethd_job_bind(d, c->job, c->sockets, is_last_try, why, ETH_WHY);

	for (uint32_t r = 0; r < c->n_sockets && !err && c->inbox < 0; r++) {
		uint32_t key = context * ETH_RAILS + c->rails[r];

		err = bpf_map_update_elem(d->maps.sockets, &key, &c->sockets[r], BPF_ANY);
	}
	return err;
}

static int bind_port(struct ethd *d, uint16_t context, const struct eth_granted *g, char *why)
{
	struct ethd_context *c = &d->contexts[context];
	struct eth_grant grant = {.key = c->key, .context = context};
	struct ethd_port *port = &d->ports[c->port];
	uint32_t key = context;
	int err = ethd_layout_check(g, c->charge->memory, why, ETH_WHY);

	if (err)
		return err;
	c->charge->is_freed_late = true;
	err = xsk_register(c->sockets[0], c->charge->memory, g);
	if (!err)
		err = ethd_port_bind(d, c->port, c->sockets[0]);
	if (err) {
		snprintf(why, ETH_WHY, "no socket on pepu%d: %s", c->port, strerror(-err));
		return err == -EBUSY ? -ESTALE : err;
	}
	if (c->inbox < 0)
		err = bpf_map_update_elem(d->maps.doors, &key, &c->sockets[0], BPF_ANY);
	if (!err && c->inbox < 0)
		err = bpf_map_update_elem(d->maps.ports, &key, &port->switch_ifindex, BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(d->maps.grants, &port->switch_ifindex, &grant, BPF_ANY);
	return err;
}

/*
 * Others may keep some of it, which is watched. The kernel does not wait at sockets that were never
 * bound.
 */
static void close_files(struct ethd *d, struct ethd_context *c)
{
	for (uint32_t i = 0; i < c->n_sockets; i++)
		ethd_charge_watch(d, c->charge, c->sockets[i]);
	if (c->inbox >= 0) {
		ethd_charge_watch(d, c->charge, c->inbox);
		close(c->inbox);
	}
	if (!c->is_pending)
		ethd_closer_take(d, c->charge, c->sockets, c->n_sockets);
	else
		for (uint32_t i = 0; i < c->n_sockets; i++)
			close(c->sockets[i]);
	c->n_sockets = 0;
	c->inbox = -1;
	c->is_pending = false;
}

int ethd_context_bind(struct ethd *d, uint16_t context, bool is_last_try, struct eth_granted *g)
{
	struct ethd_context *c = &d->contexts[context];
	struct eth_context entry = {.key = c->key, .attachment = c->attachment};
	uint32_t key = context;
	char why[ETH_WHY] = "";
	int err = c->job ? bind_direct(d, context, is_last_try, why)
			 : bind_port(d, context, g, why);

	if (err == -EBUSY && c->job && !is_last_try)
		return ETHD_WAIT;
	if (!err && c->inbox >= 0)
		err = ethd_inbox_put(d, context, c->inbox);
	if (!err)
		err = bpf_map_update_elem(d->maps.contexts, &key, &entry, BPF_ANY);
	if (err) {
		if (why[0])
			snprintf(g->why, ETH_WHY, "%s", why);
		else
			snprintf(g->why, ETH_WHY, "kernel programs can't be told: %s",
				 strerror(-err));
		if (c->is_new)
			ethd_context_release(d, context);
		else
			ethd_context_suspend(d, context);
		return err;
	}
	c->is_pending = false;
	c->is_new = false;
	g->n_fds = 0;
	g->is_bound = 1;
	for (uint32_t r = 0; r < c->n_rails; r++)
		g->rails[r].is_zero_copy = c->job && c->job->is_zero_copy;
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
 * Nothing goes to the context any more. While it has its key, probes to it are not answered that it
 * is no more. Deletions of what isn't there fail and are meant to.
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
	ethd_inbox_remove(d, context);
	bpf_map_delete_elem(d->maps.doors, &context);
	bpf_map_delete_elem(d->maps.ports, &context);
	if (c->port >= 0)
		bpf_map_delete_elem(d->maps.grants, &d->ports[c->port].switch_ifindex);
}

void ethd_context_suspend(struct ethd *d, uint16_t context)
{
	struct ethd_context *c = &d->contexts[context];

	detach(d, context);
	if (c->charge)
		close_files(d, c);
	if (c->job)
		ethd_job_leave(d, c->job);
	else if (c->charge)
		ethd_charge_end(d, c->charge, c->port);
	else if (c->port >= 0)
		ethd_port_give(d, c->port);
	c->job = NULL;
	c->charge = NULL;
	c->port = -1;
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
		ethd_source_remove(d, c->pidfd);
		close(c->pidfd);
	}
	*c = (struct ethd_context){.pidfd = -1, .inbox = -1, .port = -1};
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
