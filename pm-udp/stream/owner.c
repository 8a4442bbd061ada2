// SPDX-License-Identifier: BSD-3-Clause
/*
 * owner - connections by which other nodes read this node's memory. Everybody can connect; only who
 * shows the job's key is served, and only from regions that are exported at that moment.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/forked.h"
#include "pmcore/util/region.h"

#define BACKLOG 128
#define ACCEPTS 8 /* of a round */
/* Time in which a reader proves itself, after which it may have to give way to others that wait. */
#define PROOF_NS 1000000000ull
/* Without descriptors or places for more, the next attempt to accept comes after this. */
#define DEAF_NS 100000000ull
/* Bytes given to the kernel by one call: it sends and frees while we do other work between. */
#define SEND_MOST (1u << 20)
#define GATHERED 32 /* requests that are answered by one call */
/* Ports tried from udp.port on, as for datagrams: one for each process of the host. */
#define PORT_SPAN 1024
#define PORT_TRIES 16

/* ---- listening ---- */

static uint16_t port_of(int fd)
{
	struct sockaddr_in sin = {0};
	socklen_t len = sizeof(sin);

	return getsockname(fd, (struct sockaddr *)&sin, &len) ? 0 : ntohs(sin.sin_port);
}

static void stop_listening(struct pmt_link *s)
{
	for (uint32_t r = 0; r < s->n_rails; r++)
		pmt_unwatch(s, &s->listener[r]);
	s->port = 0;
}

/* Rails have one port: @port, or any if that is 0. */
static int listen_at(struct pmt_link *s, uint16_t port)
{
	int err = 0;

	for (uint32_t r = 0; r < s->n_rails && !err; r++) {
		struct pmt_socket *l = &s->listener[r];

		l->kind = PMT_LISTENER;
		l->fd = pmt_socket_make(s->rails[r].address, port);
		if (l->fd < 0)
			err = l->fd;
		else if (listen(l->fd, BACKLOG))
			err = -errno;
		else
			err = pmt_watch(s, l, false);
		if (!err)
			port = port_of(l->fd);
	}
	s->port = port;
	if (err)
		stop_listening(s);
	return err;
}

int pmt_listen(struct pmt_link *s)
{
	uint32_t first = s->env.conf->udp_port, n = first ? PORT_SPAN : PORT_TRIES;
	int err = -EADDRINUSE;

	for (uint32_t i = 0; i < n && err == -EADDRINUSE && (!first || first + i <= 65535); i++)
		err = listen_at(s, first ? (uint16_t)(first + i) : 0);
	return err;
}

/* ---- connections ---- */

static struct pmt_owned_list *list_of(struct pmt_link *s, const struct pmt_owned *o)
{
	return o->state == PMT_SERVE ? &s->owned : &s->strangers;
}

static void drop(struct pmt_link *s, struct pmt_owned *o)
{
	pmt_unwatch(s, &o->socket);
	pmt_lend_close(s, &o->loan);
	TAILQ_REMOVE(list_of(s, o), o, link);
	s->n_proving -= o->state == PMT_PROVE;
	if (o->state == PMT_SERVE)
		s->n_owned--;
	else
		s->n_strangers--;
	if (o->is_serving)
		LIST_REMOVE(o, serving);
	for (; o->count; o->count--, o->head = (o->head + 1) % PMT_PARTS)
		s->serve_bytes -= o->queue[o->head].length;
	TAILQ_INSERT_TAIL(&s->closed, o, link);
}

void pmt_owned_sweep(struct pmt_link *s)
{
	struct pmt_owned *o;

	while ((o = TAILQ_FIRST(&s->closed))) {
		TAILQ_REMOVE(&s->closed, o, link);
		free(o);
	}
}

/* Room for one more of whom nothing is known: one that has had time to prove itself gives way. */
static bool has_room(const struct pmt_link *s, uint64_t now)
{
	return s->n_strangers < s->n_strangers_max ||
	       now - TAILQ_FIRST(&s->strangers)->since_ns >= PROOF_NS;
}

/*
 * For a while connections wait in the kernel: a listener that is ready all the time would keep
 * sleepers awake.
 */
static void be_deaf(struct pmt_link *s, uint64_t now)
{
	s->deaf_until = now + DEAF_NS;
	for (uint32_t r = 0; r < s->n_rails; r++)
		(void)pmt_mute(s, &s->listener[r]);
}

void pmt_hear(struct pmt_link *s)
{
	s->deaf_until = 0;
	for (uint32_t r = 0; r < s->n_rails; r++)
		(void)pmt_watch(s, &s->listener[r], false);
}

static void take_in(struct pmt_link *s, int fd, uint32_t address, uint64_t now)
{
	struct pmt_owned *o = calloc(1, sizeof(*o));

	if (!o || forked_close(fd)) {
		free(o);
		close(fd);
		return;
	}
	if (s->n_strangers >= s->n_strangers_max)
		drop(s, TAILQ_FIRST(&s->strangers));
	o->socket.kind = PMT_OWNED;
	o->socket.fd = fd;
	o->address = address;
	o->since_ns = now;
	TAILQ_INSERT_TAIL(&s->strangers, o, link);
	s->n_strangers++;
	if (pmt_watch(s, &o->socket, false))
		drop(s, o);
}

static int accept_one(const struct pmt_socket *listener, struct sockaddr_in *ret_from)
{
	socklen_t len = sizeof(*ret_from);
	int fd = accept4(listener->fd, (struct sockaddr *)ret_from, &len,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void pmt_accept(struct pmt_link *s, const struct pmt_socket *listener)
{
	uint64_t now = clock_monotonic_ns();

	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_in from = {0};
		int fd = has_room(s, now) ? accept_one(listener, &from) : -EMFILE;

		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
			be_deaf(s, now);
		if (fd < 0)
			return;
		take_in(s, fd, from.sin_addr.s_addr, now);
	}
}

/* ---- messages ---- */

static int on_greeting(struct pmt_link *s, struct pmt_owned *o)
{
	struct pmt_answer answer;
	uint8_t out[PMT_ANSWER];

	if (pmt_greeting_get(o->in, &o->greeting) || o->greeting.to != s->env.self ||
	    getrandom(&o->nonce, sizeof(o->nonce), 0) != sizeof(o->nonce))
		return -EPROTO;
	answer.nonce = o->nonce;
	answer.tag = pmt_tag(s->env.job_key, PMT_OWNER, &o->greeting, o->nonce);
	pmt_answer_put(out, &answer);
	o->state = PMT_PROVE;
	s->n_proving++;
	return send(o->socket.fd, out, sizeof(out), MSG_NOSIGNAL) == sizeof(out) ? 0 : -EPIPE;
}

/* The one before of the same rail of the node: its reader is gone, or has given it up. */
static void replace(struct pmt_link *s, const struct pmt_owned *o)
{
	struct pmt_owned *old, *next;

	for (old = TAILQ_FIRST(&s->owned); old; old = next) {
		next = TAILQ_NEXT(old, link);
		if (old->greeting.from == o->greeting.from && old->address == o->address)
			drop(s, old);
	}
}

static int on_proof(struct pmt_link *s, struct pmt_owned *o)
{
	if (pmt_proof_get(o->in) != pmt_tag(s->env.job_key, PMT_READER, &o->greeting, o->nonce))
		return -EACCES;
	replace(s, o);
	if (s->n_owned == PMT_OWNERS)
		return -EMFILE;
	TAILQ_REMOVE(&s->strangers, o, link);
	s->n_strangers--;
	s->n_proving--;
	o->state = PMT_SERVE;
	TAILQ_INSERT_TAIL(&s->owned, o, link);
	s->n_owned++;
	return 0;
}

/* Of two nodes that read from each other the one with the smaller number leads: lending.h. */
static void follow(struct pmt_link *s, uint32_t node, const struct pmt_request *request)
{
	struct pmt_peer *peer;

	if (node > s->env.self || request->length < PMT_LENT_LEAST)
		return;
	LIST_FOREACH(peer, &s->peers, link) {
		if (peer->node != node)
			continue;
		if (peer->long_reads) {
			peer->long_reads--;
			pmt_lending_led(&peer->lending, request->length, request->how);
		}
		break;
	}
}

static int on_request(struct pmt_link *s, struct pmt_owned *o)
{
	struct pmt_request request;

	if (pmt_request_get(o->in, &request))
		return -EPROTO;
	if (!request.length)
		return 0;
	if (o->count == PMT_PARTS)
		return -EPROTO;
	o->queue[(o->head + o->count++) % PMT_PARTS] = request;
	s->serve_bytes += request.length;
	if (s->n_reads)
		s->both_ways = PMT_BOTH_WAYS;
	if (s->both_ways)
		follow(s, o->greeting.from, &request);
	if (!o->is_serving)
		LIST_INSERT_HEAD(&s->serving, o, serving);
	o->is_serving = true;
	return 0;
}

/* All messages that are complete. */
static int take_messages(struct pmt_link *s, struct pmt_owned *o)
{
	static const struct {
		size_t len;
		int (*take)(struct pmt_link *s, struct pmt_owned *o);
	} messages[] = {[PMT_GREET] = {PMT_GREETING, on_greeting},
			[PMT_PROVE] = {PMT_PROOF, on_proof},
			[PMT_SERVE] = {PMT_REQUEST, on_request}};
	int err = 0;

	while (!err && o->in_len >= messages[o->state].len) {
		size_t len = messages[o->state].len;

		err = messages[o->state].take(s, o);
		o->in_len -= len;
		memmove(o->in, o->in + len, o->in_len);
	}
	return err;
}

void pmt_owned_input(struct pmt_link *s, struct pmt_owned *o)
{
	ssize_t n = recv(o->socket.fd, o->in + o->in_len, sizeof(o->in) - o->in_len, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		o->in_len += (size_t)n;
	if (n <= 0 || take_messages(s, o))
		drop(s, o);
}

/* ---- data ---- */

/*
 * The memory of the first request, or of the first ones whose data are copied, with their gaps:
 * parts, or -EACCES.
 */
static int gather(const struct pmt_link *s, const struct pmt_owned *o, struct iovec *iovs)
{
	static uint8_t nothing[PMT_GAP_MAX];
	uint64_t left = SEND_MOST;
	uint32_t requests = 0;
	int n = 0;

	do {
		const struct pmt_request *r = &o->queue[(o->head + requests) % PMT_PARTS];
		uint64_t len = r->length < left ? r->length : left;
		void *data;

		if (requests && r->how != PMT_COPIED)
			break;
		if (region_find(s->env.regions, r->rkey, r->offset, r->length, &data))
			return n ? n : -EACCES;
		if (r->gap)
			iovs[n++] = (struct iovec){nothing, r->gap};
		iovs[n++] = (struct iovec){data, len};
		left -= r->gap + len < left ? r->gap + len : left;
		requests++;
		if (r->how != PMT_COPIED)
			break;
	} while (left && requests < GATHERED && requests < o->count);
	return n;
}

static ssize_t send_copies(const struct pmt_owned *o, struct iovec *iovs, int parts)
{
	struct msghdr h = {.msg_iov = iovs, .msg_iovlen = (size_t)parts};
	ssize_t n = sendmsg(o->socket.fd, &h, MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

/* The first @n bytes of all that is asked for have gone. */
static void sent(struct pmt_link *s, struct pmt_owned *o, uint64_t n)
{
	while (n) {
		struct pmt_request *r = &o->queue[o->head];
		uint64_t gap = n < r->gap ? n : r->gap;
		uint64_t len = n - gap < r->length ? n - gap : r->length;

		r->gap -= (uint16_t)gap;
		r->offset += len;
		r->length -= len;
		s->serve_bytes -= len;
		n -= gap + len;
		if (r->length)
			break;
		o->head = (o->head + 1) % PMT_PARTS;
		o->count--;
	}
}

/*
 * Sends of the first requests what the socket takes: bytes, or -errno. Regions are looked up each
 * time, as they may go.
 */
static ssize_t send_some(struct pmt_link *s, struct pmt_owned *o)
{
	struct iovec iovs[2 * GATHERED];
	int parts = gather(s, o, iovs);
	ssize_t n = -ENOTSUP;

	if (parts < 0)
		return parts;
	if (o->queue[o->head].how == PMT_LENT)
		n = pmt_lend(s, &o->loan, o->socket.fd, iovs[0].iov_base, iovs[0].iov_len);
	if (n == -ENOTSUP)
		n = send_copies(o, iovs, parts);
	if (n > 0)
		sent(s, o, (uint64_t)n);
	return n;
}

bool pmt_serve(struct pmt_link *s)
{
	struct pmt_owned *o, *next;
	bool did = false;

	for (o = LIST_FIRST(&s->serving); o; o = next) {
		ssize_t n = send_some(s, o);

		next = LIST_NEXT(o, serving);
		did |= n > 0;
		if (n < 0 && n != -EAGAIN) {
			drop(s, o);
		} else if (!o->count) {
			LIST_REMOVE(o, serving);
			o->is_serving = false;
		}
	}
	pmt_owned_sweep(s);
	return did;
}

bool pmt_is_read_by(struct pm_link *link, uint32_t node)
{
	const struct pmt_owned *o;

	TAILQ_FOREACH(o, &pmt_of(link)->owned, link) {
		if (o->greeting.from == node)
			return true;
	}
	return false;
}

void pmt_owned_forget(struct pmt_link *s, uint32_t node)
{
	struct pmt_owned *o, *next;

	for (o = TAILQ_FIRST(&s->owned); o; o = next) {
		next = TAILQ_NEXT(o, link);
		if (o->greeting.from == node)
			drop(s, o);
	}
}

void pmt_owned_drop_stuck(struct pmt_link *s)
{
	while (!LIST_EMPTY(&s->serving))
		drop(s, LIST_FIRST(&s->serving));
}

void pmt_owner_close(struct pmt_link *s)
{
	struct pmt_owned *o;

	stop_listening(s);
	while ((o = TAILQ_FIRST(&s->strangers)) || (o = TAILQ_FIRST(&s->owned)))
		drop(s, o);
	pmt_owned_sweep(s);
	pmt_lend_close(s, &s->spare);
}
