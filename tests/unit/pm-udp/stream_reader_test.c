// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/stream/reader.c and requests.c: a link reads from an owner that is played here,
 * byte by byte.
 */
#include "tests/unit/pm-udp/stream_owner.h"

#define OWNER 3 /* less than SELF: it leads */

struct reading_of {
	struct owner own; /* the link, which could be read from as well */
	struct pm_link_peer *peer;
	int listener, fd;
};

static void step(const struct reading_of *r)
{
	serve(&r->own);
}

/* @len bytes that the link sends. */
static bool take(const struct reading_of *r, void *buf, size_t len)
{
	return is_int((long)hear(&r->own, r->fd, buf, len), (long)len);
}

static void give(const struct reading_of *r, const void *data, size_t len)
{
	is_int(send(r->fd, data, len, MSG_NOSIGNAL), (long)len);
	step(r);
}

static bool listen_at_loopback(struct reading_of *r, uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!is_int(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0) ||
	    !is_int(listen(r->listener, 1), 0) ||
	    !is_int(getsockname(r->listener, (struct sockaddr *)&at, &len), 0))
		return false;
	*ret_port = ntohs(at.sin_port);
	return true;
}

/* Makes the played owner known to the link: it has the link's own address with another port. */
static bool add_owner(struct reading_of *r, uint16_t port)
{
	struct pmu_address address;
	uint8_t packed[1024];
	int len = r->own.link->ops->address(r->own.link, packed, sizeof(packed));

	if (!ok(len > 0) || !is_int(pmu_addr_unpack(packed, (size_t)len, &address), 0))
		return false;
	address.port = port;
	len = pmu_addr_pack(&address, packed, sizeof(packed));
	return ok(len > 0) &&
	       is_int(r->own.link->ops->peer_add(r->own.link, OWNER, packed, (size_t)len, &r->peer),
		      0);
}

static struct pmt_peer *peer_of(const struct reading_of *r)
{
	return (struct pmt_peer *)r->peer;
}

static int begin_read(const struct reading_of *r, uint8_t *local, uint64_t len, uint32_t *ret_op)
{
	return r->own.link->ops->read(r->own.link, r->peer, 77, 0, local, len, ret_op);
}

static bool answer_greeting(struct reading_of *r)
{
	uint8_t in[PMT_GREETING], out[PMT_ANSWER], proof[PMT_PROOF];
	struct pmt_answer answer = {.nonce = 5};
	struct pmt_greeting greeting;

	if (!take(r, in, sizeof(in)) || !is_int(pmt_greeting_get(in, &greeting), 0))
		return false;
	answer.tag = pmt_tag(KEY, PMT_OWNER, &greeting, answer.nonce);
	pmt_answer_put(out, &answer);
	give(r, out, sizeof(out));
	return take(r, proof, sizeof(proof)) &&
	       ok(pmt_proof_get(proof) == pmt_tag(KEY, PMT_READER, &greeting, answer.nonce));
}

static bool open_reading(struct reading_of *r)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	uint16_t port;
	uint8_t byte;
	uint32_t op;

	memset(r, 0, sizeof(*r));
	r->listener = r->fd = -1;
	if (!open_owner(&r->own) || !listen_at_loopback(r, &port) || !add_owner(r, port))
		return false;
	/* the first read begins the connection, and goes another way */
	is_int(begin_read(r, &byte, 1, &op), -EHOSTUNREACH);
	while ((r->fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0 &&
	       clock_monotonic_ns() < end)
		step(r);
	return ok(r->fd >= 0) &&
	       is_int(setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0) &&
	       answer_greeting(r) && is_int(peer_of(r)->n_open, 1);
}

static void close_reading(struct reading_of *r)
{
	if (r->peer)
		r->own.link->ops->peer_del(r->own.link, r->peer);
	close(r->fd);
	close(r->listener);
	close_owner(&r->own);
}

static bool take_request(const struct reading_of *r, struct pmt_request *ret)
{
	uint8_t bytes[PMT_REQUEST];

	return take(r, bytes, sizeof(bytes)) && is_int(pmt_request_get(bytes, ret), 0);
}

/*
 * Long copied reads are asked for with a gap; it comes in parts, its last one with the first data.
 */
TAP_TEST(read__gap_comes_in_parts)
{
	uint8_t *sent = malloc(PMT_GAP_MAX + LEN), *local = malloc(LEN);
	struct pmt_request request = {0};
	struct reading_of r;
	uint32_t op = 0;

	if (open_reading(&r) && is_int(begin_read(&r, local, LEN, &op), 0) &&
	    take_request(&r, &request)) {
		size_t all = request.gap + LEN;

		ok(request.gap > 0);
		is_int(request.length, LEN);
		is_int(request.how, PMT_COPIED);
		memset(sent, 0xee, request.gap);
		memcpy(sent + request.gap, r.own.data, LEN);
		is_int((long)peer_of(&r)->outstanding, (long)all);
		give(&r, sent, 3);
		give(&r, sent + 3, request.gap - 5u);
		is_int((long)peer_of(&r)->outstanding, (long)all - request.gap + 2);
		is_int(r.own.link->ops->rma_done(r.own.link, op), -EAGAIN);
		give(&r, sent + request.gap - 2, 100);
		is_int((long)peer_of(&r)->outstanding, LEN - 98);
		give(&r, sent + request.gap + 98, LEN - 98);
		is_int(r.own.link->ops->rma_done(r.own.link, op), 0);
		ok(is_mem(local, r.own.data, LEN));
		is_int((long)peer_of(&r)->outstanding, 0);
	}
	close_reading(&r);
	free(sent);
	free(local);
}

/*
 * The owner, which has the smaller number, reads from here while we read from it: we ask as it
 * does.
 */
TAP_TEST(read__asks_as_it_is_asked)
{
	enum { LONG = PMT_LENT_LEAST };
	uint8_t *local = malloc(LONG), *data = calloc(1, LONG);
	struct pmt_request request = {0};
	struct reading_of r;
	uint64_t rkey;
	uint32_t op;

	if (open_reading(&r) && is_int(region_add(r.own.env.regions, data, LONG, &rkey), 0)) {
		int fd = knock(&r.own);

		greet(fd, OWNER, SELF);
		prove(&r.own, fd, OWNER, SELF, KEY);
		is_int(begin_read(&r, local, LONG, &op), 0);
		ok(take_request(&r, &request));
		is_int(request.how, PMT_LENT);
		ask_for(fd, &(struct pmt_request){rkey, 0, LONG, PMT_COPIED, 0});
		step(&r);
		is_int(begin_read(&r, local, LONG, &op), 0);
		step(&r);
		ok(take_request(&r, &request));
		is_int(request.how, PMT_COPIED);
		close(fd);
	}
	close_reading(&r);
	free(data);
	free(local);
}
