/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream_owner - a stream link whose memory is read, and its readers: bare sockets that say what a
 * test wants.
 */
#ifndef TESTS_UNIT_PM_UDP_STREAM_OWNER_H
#define TESTS_UNIT_PM_UDP_STREAM_OWNER_H

#include "pm-udp/stream/stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/region.h"
#include "tests/unit/pm-udp/pair.h"

#define KEY 0x1234567890abcdefull
#define SELF 7
#define LEN 100000u
#define PATIENCE_NS 20000000000ull

struct owner {
	struct conf conf;
	struct stats_link stats;
	struct pm_device_env env;
	struct pm_link *link;
	uint8_t *data;
	uint64_t rkey;
	char why[400];
};

/* In a job of so many nodes, 0 = nobody has said how many. */
static inline bool open_owner_of(struct owner *o, uint32_t nodes)
{
	memset(o, 0, sizeof(*o));
	conf_defaults(&o->conf);
	snprintf(o->conf.udp_rails[0], sizeof(o->conf.udp_rails[0]), "lo");
	o->conf.n_udp_rails = 1;
	o->env = (struct pm_device_env){.conf = &o->conf,
					.regions = region_table_create(1),
					.stats = &o->stats,
					.job_key = KEY,
					.self = SELF,
					.nodes = nodes,
					.why = o->why,
					.why_size = sizeof(o->why)};
	o->data = malloc(LEN);
	for (uint32_t i = 0; i < LEN; i++)
		o->data[i] = (uint8_t)(i * 7);
	return okf(!pm_stream_ops.open(&o->env, &o->link), "%s", o->why) &&
	       is_int(region_add(o->env.regions, o->data, LEN, &o->rkey), 0);
}

static inline bool open_owner(struct owner *o)
{
	return open_owner_of(o, 0);
}

static inline void close_owner(struct owner *o)
{
	if (o->link)
		pm_stream_ops.close(o->link);
	region_table_destroy(o->env.regions);
	free(o->data);
}

static inline int knock(const struct owner *o)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(pmt_of(o->link)->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	is_int(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	is_int(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static inline void serve(const struct owner *o)
{
	struct pm_inbound in;

	for (int i = 0; i < 300; i++)
		o->link->ops->receive(o->link, &in);
}

/* @len bytes from the owner, or what came before it closed: their number. */
static inline size_t hear(const struct owner *o, int fd, void *buf, size_t len)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	size_t got = 0;

	while (got < len && clock_monotonic_ns() < end) {
		ssize_t n;

		serve(o);
		n = recv(fd, (uint8_t *)buf + got, len - got, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		got += n > 0 ? (size_t)n : 0;
	}
	return got;
}

static inline bool is_closed(const struct owner *o, int fd)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	uint8_t byte;
	ssize_t n;

	do {
		serve(o);
		n = recv(fd, &byte, 1, 0);
	} while (n < 0 && errno == EAGAIN && clock_monotonic_ns() < end);
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static inline void greet(int fd, uint32_t from, uint32_t to)
{
	const struct pmt_greeting greeting = {.from = from, .to = to, .nonce = 99};
	uint8_t bytes[PMT_GREETING];

	pmt_greeting_put(bytes, &greeting);
	is_int(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static inline void prove(const struct owner *o, int fd, uint32_t from, uint32_t to, uint64_t key)
{
	const struct pmt_greeting greeting = {.from = from, .to = to, .nonce = 99};
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	uint8_t answer_bytes[PMT_ANSWER], proof[PMT_PROOF];
	struct pmt_answer answer;
	uint32_t strangers;

	if (hear(o, fd, answer_bytes, sizeof(answer_bytes)) != sizeof(answer_bytes))
		return;
	pmt_answer_get(answer_bytes, &answer);
	ok((answer.tag == pmt_tag(key, PMT_OWNER, &greeting, answer.nonce)) == (key == KEY));
	pmt_proof_put(proof, pmt_tag(key, PMT_READER, &greeting, answer.nonce));
	strangers = pmt_of(o->link)->n_strangers;
	is_int(send(fd, proof, sizeof(proof), MSG_NOSIGNAL), sizeof(proof));
	do
		serve(o);
	while (pmt_of(o->link)->n_strangers == strangers && clock_monotonic_ns() < end);
}

/* Greets with @to and shows a tag made with @key: the connection, after the proof. */
static inline int join(const struct owner *o, uint32_t to, uint64_t key)
{
	int fd = knock(o);

	greet(fd, 1, to);
	prove(o, fd, 1, to, key);
	return fd;
}

static inline void ask_for(int fd, const struct pmt_request *r)
{
	uint8_t bytes[PMT_REQUEST];

	pmt_request_put(bytes, r);
	is_int(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static inline void request(int fd, uint64_t rkey, uint64_t offset, uint64_t length)
{
	const struct pmt_request r = {rkey, offset, length, PMT_COPIED, 0};

	ask_for(fd, &r);
}

static inline void borrow(int fd, uint64_t rkey, uint64_t offset, uint64_t length)
{
	const struct pmt_request r = {rkey, offset, length, PMT_LENT, 0};

	ask_for(fd, &r);
}

/* The only connection by which others read. */
static inline struct pmt_owned *owned_of(const struct owner *o)
{
	return TAILQ_FIRST(&pmt_of(o->link)->owned);
}

#endif
