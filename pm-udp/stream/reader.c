// SPDX-License-Identifier: BSD-3-Clause
/*
 * reader - connections by which this node reads the memory of others, one per rail that leads
 * there, made at the first read. Data go straight into the program's memory. When one of a peer's
 * connections breaks all are closed, as parts of one read may be under way by each: then nothing
 * touches the memory of its reads any more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/stats.h"

#define PARTS_AT_ONCE 8
/* Shorter reads behind others are asked for together, at the next poll. */
#define ASKED_AT_ONCE (128u << 10)
/* After a failure, doubled each time. */
#define RETRY_NS 1000000000ull
#define RETRY_MOST_NS 64000000000ull
/*
 * An owner that computes says nothing, but its kernel acks. So one that is silent for this long is
 * sent a sign of life, and the connection breaks if that stays unacked for the second time.
 */
#define QUIET_NS 100000000ull
#define UNACKED_MS 400
#define IDLE_LOOKS 256u
/*
 * Between two looks at what a connection has lost, which cost a system call: a part of the bound,
 * from so many bytes up.
 */
#define JUDGED_PART 8u
#define JUDGED_BYTES 16384u

/* ---- connections ---- */

static uint64_t next_step(uint64_t step)
{
	if (!step)
		return RETRY_NS;
	return 2 * step < RETRY_MOST_NS ? 2 * step : RETRY_MOST_NS;
}

static void try_later(struct pmt_reading *r)
{
	r->retry_step_ns = next_step(r->retry_step_ns);
	r->retry_ns = clock_monotonic_ns() + r->retry_step_ns;
}

static void close_reading(struct pmt_link *s, struct pmt_reading *r)
{
	if (r->state == PMT_CLOSED)
		return;
	if (r->state == PMT_OPEN)
		r->peer->n_open--;
	else
		s->n_joining--;
	pmt_unwatch(s, &r->socket);
	free(r->parts);
	r->parts = NULL;
	s->n_readers--;
	r->state = PMT_CLOSED;
	r->count = 0;
	r->peer->outstanding -= r->outstanding;
	r->outstanding = 0;
	r->out_len = 0;
	r->in_len = 0;
	r->unjudged = 0;
	r->is_judged = false;
}

static struct pmt_load load_of(const struct pmt_link *s)
{
	return (struct pmt_load){.bytes = s->read_bytes + s->serve_bytes,
				 .is_both_ways = s->both_ways};
}

/* Is the owner to lend pages for the read, or to copy? The bytes of the read are in read_bytes. */
static void agree(struct pmt_link *s, struct pmt_peer *peer, struct pmt_read *read)
{
	struct pmt_load load;

	if (s->serve_bytes)
		s->both_ways = PMT_BOTH_WAYS;
	else if (s->both_ways)
		s->both_ways--;
	/* copied, and without a look at the clock */
	if (read->len < PMT_LENT_LEAST)
		return;
	peer->long_reads = PMT_BOTH_WAYS;
	load = load_of(s);
	read->terms = pmt_lending_begin(&peer->lending, read->len, &load, clock_monotonic_ns());
}

/* Tells how fast a measured read was. Its bytes are not in read_bytes any more. */
static void settle(const struct pmt_link *s, struct pmt_peer *peer, const struct pmt_read *read,
		   int status)
{
	struct pmt_load load = load_of(s);

	pmt_lending_end(&peer->lending, &read->terms, read->len, !status, &load,
			clock_monotonic_ns());
}

static void end_read(struct pmt_link *s, struct pmt_read *read, int status)
{
	struct pmt_peer *peer = read->peer;

	TAILQ_REMOVE(&peer->reads, read, link);
	s->n_unasked -= read->asked < read->len;
	read->peer = NULL;
	read->status = status;
	s->n_reads--;
	s->read_bytes -= read->len;
	if (read->terms.is_measured)
		settle(s, peer, read, status);
	s->has_news = true;
	if (!status)
		s->env.stats->read_bytes += read->len;
	if (TAILQ_EMPTY(&peer->reads)) {
		TAILQ_REMOVE(&s->busy, peer, busy);
		peer->is_busy = false;
		s->n_busy--;
	}
}

void pmt_peer_break(struct pmt_link *s, struct pmt_peer *peer)
{
	for (uint32_t r = 0; r < s->n_rails; r++)
		close_reading(s, &peer->reading[r]);
	while (!TAILQ_EMPTY(&peer->reads))
		end_read(s, TAILQ_FIRST(&peer->reads), -ENETUNREACH);
}

void pmt_reading_fail(struct pmt_link *s, struct pmt_reading *r)
{
	struct pmt_peer *peer = r->peer;

	/* one that never opened is no loss for the others */
	if (r->state == PMT_OPEN)
		pmt_peer_break(s, peer);
	else
		close_reading(s, r);
	try_later(r);
}

static void begin(struct pmt_link *s, struct pmt_peer *peer, uint32_t rail)
{
	struct pmt_reading *r = &peer->reading[rail];
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(peer->port),
				 .sin_addr.s_addr = htonl(peer->address[rail])};
	int fd = s->n_readers < PMT_READERS ? pmt_socket_make(s->rails[rail].address, 0) : -EMFILE;

	if (fd < 0) {
		try_later(r);
		return;
	}
	r->socket = (struct pmt_socket){.kind = PMT_READING, .fd = fd};
	r->peer = peer;
	r->state = PMT_CONNECT;
	r->parts = calloc(PMT_PARTS, sizeof(*r->parts) + PMT_REQUEST);
	r->out = r->parts ? (uint8_t *)(r->parts + PMT_PARTS) : NULL;
	s->n_readers++;
	s->n_joining++;
	s->join_looks = 0;
	if (!r->parts ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){UNACKED_MS}, sizeof(int)) ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS) ||
	    pmt_watch(s, &r->socket, true))
		pmt_reading_fail(s, r);
}

/* Opens what is not open, if it is time. */
static void begin_all(struct pmt_link *s, struct pmt_peer *peer)
{
	uint64_t now = s->is_quiet ? 0 : clock_monotonic_ns();

	for (uint32_t r = 0; r < s->n_rails && now; r++)
		if (peer->rails >> r & 1 && peer->reading[r].state == PMT_CLOSED &&
		    now >= peer->reading[r].retry_ns)
			begin(s, peer, r);
}

int pmt_say(const struct pmt_reading *r, const void *bytes, size_t len)
{
	return send(r->socket.fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -EPIPE;
}

static int greet(struct pmt_link *s, struct pmt_reading *r)
{
	uint8_t out[PMT_GREETING];
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(r->socket.fd, SOL_SOCKET, SO_ERROR, &error, &len) || error)
		return -ENETUNREACH;
	r->greeting = (struct pmt_greeting){.from = s->env.self, .to = r->peer->node};
	if (getrandom(&r->greeting.nonce, sizeof(r->greeting.nonce), 0) !=
	    sizeof(r->greeting.nonce))
		return -EAGAIN;
	pmt_greeting_put(out, &r->greeting);
	r->state = PMT_ANSWERED;
	return pmt_say(r, out, sizeof(out)) ? -EPIPE : pmt_watch(s, &r->socket, false);
}

static int on_answer(struct pmt_link *s, struct pmt_reading *r)
{
	struct pmt_answer answer;
	uint8_t out[PMT_PROOF];

	pmt_answer_get(r->in, &answer);
	if (answer.tag != pmt_tag(s->env.job_key, PMT_OWNER, &r->greeting, answer.nonce))
		return -EACCES;
	pmt_proof_put(out, pmt_tag(s->env.job_key, PMT_READER, &r->greeting, answer.nonce));
	if (pmt_say(r, out, sizeof(out)))
		return -EPIPE;
	r->state = PMT_OPEN;
	s->n_joining--;
	r->peer->n_open++;
	return 0;
}

static int receive_answer(struct pmt_link *s, struct pmt_reading *r)
{
	ssize_t n = recv(r->socket.fd, r->in + r->in_len, sizeof(r->in) - r->in_len, 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -EPIPE;
	r->in_len += (size_t)n;
	return r->in_len == sizeof(r->in) ? on_answer(s, r) : 0;
}

/* ---- data ---- */

/*
 * Was something lost on the way? Then what came behind it came out of order. A tail that is lost is
 * not seen, and nothing is by Linux before 5.4, which does not count.
 */
static void judge_loss(struct pmt_link *s, struct pmt_reading *r, uint64_t n)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	r->unjudged += n;
	if ((r->is_judged &&
	     (r->unjudged < JUDGED_BYTES || r->unjudged < s->bound.bytes / JUDGED_PART)) ||
	    getsockopt(r->socket.fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return;
	/* what was lost before is no matter of several owners */
	if (r->is_judged)
		pmt_bound_arrived(&s->bound, r->unjudged, info.tcpi_rcv_ooopack != r->disordered);
	r->is_judged = true;
	r->disordered = info.tcpi_rcv_ooopack;
	r->unjudged = 0;
}

/* The next @n bytes of a part with its gap, as far as they are of it; how many that are. */
static uint64_t part_arrived(struct pmt_reading *r, struct pmt_part *part, uint64_t n)
{
	uint32_t gap = n < part->gap ? (uint32_t)n : part->gap;
	uint64_t len = n - gap < part->left ? n - gap : part->left;

	part->gap -= gap;
	part->at += len;
	part->left -= len;
	part->read->arrived += len;
	r->outstanding -= gap + len;
	r->peer->outstanding -= gap + len;
	return gap + len;
}

/* The bytes that came belong to the first parts, in their order. */
static void arrived(struct pmt_link *s, struct pmt_reading *r, uint64_t n)
{
	r->idle = 0;
	r->quiet_ns = 0;
	/* not earlier: an owner with too many connections lets us open one, and ends it */
	r->retry_step_ns = 0;
	r->is_judged = r->is_judged && s->n_busy > 1;
	if (s->n_busy > 1) {
		r->peer->heard_ns = clock_monotonic_ns();
		judge_loss(s, r, n);
	}
	while (n) {
		struct pmt_part *part = &r->parts[r->head];

		n -= part_arrived(r, part, n);
		if (part->left)
			break;
		r->head = (r->head + 1) % PMT_PARTS;
		r->count--;
		if (part->read->arrived == part->read->len)
			end_read(s, part->read, 0);
	}
}

/* Nothing comes: is the owner's host still there? */
static int doubt(struct pmt_link *s, struct pmt_reading *r)
{
	static const struct pmt_request alive = {0};
	uint8_t out[PMT_REQUEST];
	uint64_t now;

	if (r->idle++ % IDLE_LOOKS && !s->is_woken)
		return 0;
	now = clock_monotonic_ns();
	if (!r->quiet_ns)
		r->quiet_ns = now;
	if (now - r->quiet_ns < QUIET_NS)
		return 0;
	r->quiet_ns = now;
	pmt_request_put(out, &alive);
	return pmt_say(r, out, sizeof(out));
}

/* 1: something came. 0, or -errno: the connection is no good. */
static int receive(struct pmt_link *s, struct pmt_reading *r)
{
	uint32_t parts = r->count < PARTS_AT_ONCE ? r->count : PARTS_AT_ONCE;
	struct iovec iovs[2 * PARTS_AT_ONCE];
	struct msghdr h = {.msg_iov = iovs};
	ssize_t n;

	for (uint32_t i = 0; i < parts; i++) {
		struct pmt_part *part = &r->parts[(r->head + i) % PMT_PARTS];

		if (part->gap)
			iovs[h.msg_iovlen++] = (struct iovec){s->gaps, part->gap};
		iovs[h.msg_iovlen++] = (struct iovec){part->at, part->left};
	}
	n = recvmsg(r->socket.fd, &h, 0);
	if (n < 0 && errno == EAGAIN)
		return doubt(s, r);
	if (n <= 0)
		return -EPIPE;
	arrived(s, r, (uint64_t)n);
	return 1;
}

/* Without a part under way nothing may come but the end. */
static bool is_over(const struct pmt_reading *r)
{
	uint8_t byte;

	return !(recv(r->socket.fd, &byte, 1, 0) < 0 && errno == EAGAIN);
}

void pmt_reading_event(struct pmt_link *s, struct pmt_reading *r)
{
	int err = 0;

	if (r->state == PMT_CONNECT)
		err = greet(s, r);
	else if (r->state == PMT_ANSWERED)
		err = receive_answer(s, r);
	else if (!r->count && is_over(r))
		err = -EPIPE;
	if (err)
		pmt_reading_fail(s, r);
}

/* ---- reads ---- */

static void collect_from(struct pmt_link *s, struct pmt_peer *peer, bool *did)
{
	for (uint32_t i = 0; i < s->n_rails; i++) {
		struct pmt_reading *r = &peer->reading[i];
		int got = r->state == PMT_OPEN && r->count ? receive(s, r) : 0;

		*did |= got > 0;
		if (got < 0) {
			pmt_reading_fail(s, r);
			return;
		}
	}
}

bool pmt_collect(struct pmt_link *s)
{
	struct pmt_peer *peer, *next;
	bool did = false;

	for (peer = TAILQ_FIRST(&s->busy); peer; peer = next) {
		next = TAILQ_NEXT(peer, busy);
		collect_from(s, peer, &did);
	}
	pmt_ask(s);
	s->is_woken = false;
	return did;
}

static int make_reads(struct pmt_link *s)
{
	if (s->reads)
		return 0;
	s->reads = calloc(PMT_READS, sizeof(*s->reads));
	if (!s->reads)
		return -ENOMEM;
	for (uint32_t i = PMT_READS; i-- > 0;) {
		s->reads[i].id = i;
		s->reads[i].next_free = s->free_read;
		s->free_read = i + 1;
	}
	return 0;
}

int pmt_read(struct pm_link *link, struct pm_link_peer *link_peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op)
{
	struct pmt_peer *peer = (struct pmt_peer *)link_peer;
	struct pmt_link *s = pmt_of(link);
	struct pmt_read *read;

	if (s->is_quiet)
		return -EAGAIN;
	if (peer->n_open < (uint32_t)__builtin_popcount(peer->rails))
		begin_all(s, peer);
	if (!peer->n_open)
		return -EHOSTUNREACH;
	if (make_reads(s) || !s->free_read)
		return -EAGAIN;
	read = &s->reads[s->free_read - 1];
	s->free_read = read->next_free;
	*read = (struct pmt_read){.peer = peer,
				  .id = read->id,
				  .is_open = true,
				  .status = -EAGAIN,
				  .rkey = rkey,
				  .offset = roffset,
				  .len = len,
				  .local = local};
	TAILQ_INSERT_TAIL(&peer->reads, read, link);
	if (!peer->is_busy) {
		TAILQ_INSERT_HEAD(&s->busy, peer, busy);
		s->n_busy++;
	}
	peer->is_busy = true;
	s->n_reads++;
	s->n_unasked++;
	s->read_bytes += len;
	agree(s, peer, read);
	*ret_op = read->id;
	if (len >= ASKED_AT_ONCE || read == TAILQ_FIRST(&peer->reads))
		pmt_ask(s);
	return 0;
}

int pmt_read_done(struct pm_link *link, uint32_t op)
{
	struct pmt_link *s = pmt_of(link);
	struct pmt_read *read = &s->reads[op % PMT_READS];
	int status;

	if (!s->reads || read->id != op || !read->is_open)
		return -ENOENT;
	status = read->status;
	if (status == -EAGAIN)
		return status;
	read->is_open = false;
	read->id += PMT_READS;
	read->next_free = s->free_read;
	s->free_read = op % PMT_READS + 1;
	return status;
}
