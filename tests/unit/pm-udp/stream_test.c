// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/stream against those who connect without belonging there, or do not keep to the rules. */
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
static bool open_owner_of(struct owner *o, uint32_t nodes)
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

static bool open_owner(struct owner *o)
{
	return open_owner_of(o, 0);
}

static void close_owner(struct owner *o)
{
	if (o->link)
		pm_stream_ops.close(o->link);
	region_table_destroy(o->env.regions);
	free(o->data);
}

static int knock(const struct owner *o)
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

static void serve(const struct owner *o)
{
	struct pm_inbound in;

	for (int i = 0; i < 300; i++)
		o->link->ops->receive(o->link, &in);
}

/* @len bytes from the owner, or what came before it closed: their number. */
static size_t hear(const struct owner *o, int fd, void *buf, size_t len)
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

static bool is_closed(const struct owner *o, int fd)
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

static void greet(int fd, uint32_t from, uint32_t to)
{
	const struct pmt_greeting greeting = {.from = from, .to = to, .nonce = 99};
	uint8_t bytes[PMT_GREETING];

	pmt_greeting_put(bytes, &greeting);
	is_int(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static void prove(const struct owner *o, int fd, uint32_t from, uint32_t to, uint64_t key)
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
static int join(const struct owner *o, uint32_t to, uint64_t key)
{
	int fd = knock(o);

	greet(fd, 1, to);
	prove(o, fd, 1, to, key);
	return fd;
}

static void ask_for(int fd, const struct pmt_request *r)
{
	uint8_t bytes[PMT_REQUEST];

	pmt_request_put(bytes, r);
	is_int(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static void request(int fd, uint64_t rkey, uint64_t offset, uint64_t length)
{
	const struct pmt_request r = {rkey, offset, length, PMT_COPIED};

	ask_for(fd, &r);
}

static void borrow(int fd, uint64_t rkey, uint64_t offset, uint64_t length)
{
	const struct pmt_request r = {rkey, offset, length, PMT_LENT};

	ask_for(fd, &r);
}

/* The only connection by which others read. */
static struct pmt_owned *owned_of(const struct owner *o)
{
	return TAILQ_FIRST(&pmt_of(o->link)->owned);
}

TAP_TEST(owner__serves_who_has_the_key)
{
	uint8_t *got = malloc(LEN);
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		request(fd, o.rkey, 0, 0);
		request(fd, o.rkey, 5, LEN - 5);
		is_int(hear(&o, fd, got, LEN - 5), LEN - 5);
		ok(is_mem(got, o.data + 5, LEN - 5));
		close(fd);
		serve(&o);
		is_int(pmt_of(o.link)->n_owned, 0);
	}
	close_owner(&o);
	free(got);
}

/* Data that lie across pages, and by turns in copies and in pages: all come in their order. */
TAP_TEST(owner__lends_its_pages)
{
	uint8_t *got = malloc(4ul * LEN);
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		for (int i = 0; i < 2; i++) {
			borrow(fd, o.rkey, 5, LEN - 5);
			request(fd, o.rkey, 9, LEN - 9);
		}
		is_int(hear(&o, fd, got, 4ul * LEN - 28), 4ul * LEN - 28);
		for (int i = 0; i < 2; i++) {
			ok(is_mem(got + (size_t)i * (2ul * LEN - 14), o.data + 5, LEN - 5));
			ok(is_mem(got + (size_t)i * (2ul * LEN - 14) + LEN - 5, o.data + 9,
				  LEN - 9));
		}
		/* for the next one */
		ok(pmt_of(o.link)->spare.is_open && !owned_of(&o)->loan.is_open);
		is_int(pmt_of(o.link)->n_pipes, 1);
		is_int(owned_of(&o)->loan.held, 0);
		is_int(pmt_of(o.link)->serve_bytes, 0);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

/* More requests than are answered by one call, of every kind of length; behind them one that can't be served. */
TAP_TEST(owner__answers_many_requests_together)
{
	static const uint64_t lengths[] = {1, 12000, 65536, 40000, LEN};
	size_t len = 0, at = 0;
	uint8_t *got = NULL;
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		for (size_t i = 0; i < 60; i++) {
			const struct pmt_request r = {o.rkey, 0, lengths[i % 5],
						      i % 17 == 9 ? PMT_LENT : PMT_COPIED};

			ask_for(fd, &r);
			len += lengths[i % 5];
		}
		request(fd, o.rkey + 1, 0, 10);
		got = malloc(len);
		is_int((long)hear(&o, fd, got, len), (long)len);
		for (size_t i = 0; i < 60; at += lengths[i++ % 5])
			ok(is_mem(got + at, o.data, lengths[i % 5]));
		ok(is_closed(&o, fd));
		is_int(pmt_of(o.link)->serve_bytes, 0);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

/* A reader that asks for more than the buffers of its connection take: what they don't take is in the pipe. */
static int borrow_much(const struct owner *o, int n)
{
	int fd = join(o, SELF, KEY);
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	is_int(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){65536}, sizeof(int)), 0);
	for (int i = 0; i < n; i++)
		borrow(fd, o->rkey, 0, LEN);
	while (!owned_of(o)->loan.held && clock_monotonic_ns() < end)
		serve(o);
	ok(owned_of(o)->loan.held > 0);
	return fd;
}

TAP_TEST(owner__lends_to_a_reader_that_is_slow)
{
	enum { PARTS = PMT_PARTS - 4 };
	struct owner o;
	uint8_t *got = malloc(LEN);

	if (open_owner(&o)) {
		int fd = borrow_much(&o, PARTS);

		for (int i = 0; i < PARTS; i++)
			if (is_int(hear(&o, fd, got, LEN), LEN))
				ok(is_mem(got, o.data, LEN));
		is_int(owned_of(&o)->loan.held, 0);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

/* Every reader has been dropped, and nothing of what it asked for is left. */
static void all_dropped(const struct owner *o)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	while (pmt_of(o->link)->n_owned && clock_monotonic_ns() < end)
		serve(o);
	is_int(pmt_of(o->link)->n_owned, 0);
	is_int(pmt_of(o->link)->serve_bytes, 0);
}

/* A reader that goes raises no signal, which would end this program, and takes the pipe along. */
TAP_TEST(owner__lends_to_a_reader_that_goes)
{
	struct owner o;

	if (open_owner(&o)) {
		int before = count_fds();

		for (int i = 0; i < 20; i++) {
			int fd = join(&o, SELF, KEY);

			for (int k = 0; k < PMT_PARTS / 2; k++)
				borrow(fd, o.rkey, 0, LEN);
			if (i % 2)
				serve(&o);
			close(fd);
			all_dropped(&o);
		}
		is_int(pmt_of(o.link)->n_pipes, pmt_of(o.link)->spare.is_open);
		is_int(count_fds(), before + 2 * (int)pmt_of(o.link)->n_pipes);
	}
	close_owner(&o);
}

/* Where no pipe can be had copies are sent. */
TAP_TEST(owner__lends_without_descriptors)
{
	struct rlimit few, before;
	uint8_t *got = malloc(LEN);
	struct owner o;

	if (open_owner(&o) && is_int(getrlimit(RLIMIT_NOFILE, &before), 0)) {
		int fd = join(&o, SELF, KEY), top = dup(fd);

		few = (struct rlimit){(rlim_t)top + 1, before.rlim_max};
		is_int(setrlimit(RLIMIT_NOFILE, &few), 0);
		borrow(fd, o.rkey, 0, LEN);
		is_int(hear(&o, fd, got, LEN), LEN);
		ok(is_mem(got, o.data, LEN));
		is_int(pmt_of(o.link)->n_pipes, 0);
		is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
		close(top);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

TAP_TEST(owner__closes_on_a_loan_of_what_is_withdrawn)
{
	struct owner o;
	uint64_t len;
	void *at;

	if (open_owner(&o)) {
		int fd = borrow_much(&o, PMT_PARTS - 4);

		is_int(region_remove(o.env.regions, o.rkey, &at, &len), 0);
		all_dropped(&o);
		close(fd);
	}
	close_owner(&o);
}

TAP_TEST(owner__refuses_another_key_and_another_node)
{
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY + 1);

		request(fd, o.rkey, 0, 16);
		ok(is_closed(&o, fd));
		close(fd);
		fd = join(&o, SELF + 1, KEY);
		ok(is_closed(&o, fd));
		close(fd);
		is_int(pmt_of(o.link)->n_strangers, 0);
	}
	close_owner(&o);
}

TAP_TEST(owner__closes_on_garbage)
{
	uint8_t noise[4096];
	struct owner o;

	if (open_owner(&o)) {
		int fd = knock(&o);

		memset(noise, 0x5a, sizeof(noise));
		is_int(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
		ok(is_closed(&o, fd));
		close(fd);
	}
	close_owner(&o);
}

TAP_TEST(owner__closes_on_requests_that_it_can_not_serve)
{
	struct owner o;
	int fd;

	if (!open_owner(&o)) {
		close_owner(&o);
		return;
	}
	for (int i = 0; i < 4; i++) {
		const uint64_t rkeys[] = {o.rkey + 1, o.rkey, o.rkey, o.rkey};
		const uint64_t offsets[] = {0, LEN, 1, UINT64_MAX};
		const uint64_t lengths[] = {16, 1, LEN, 2};

		fd = join(&o, SELF, KEY);
		request(fd, rkeys[i], offsets[i], lengths[i]);
		okf(is_closed(&o, fd), "case %d", i);
		close(fd);
	}
	is_int(pmt_of(o.link)->n_owned, 0);
	close_owner(&o);
}

/* More requests at once than a reader may have. */
TAP_TEST(owner__closes_on_too_many_requests)
{
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		for (int i = 0; i <= 3 * PMT_PARTS; i++) {
			const struct pmt_request r = {o.rkey, 0, LEN, PMT_COPIED};
			uint8_t bytes[PMT_REQUEST];

			pmt_request_put(bytes, &r);
			(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		}
		/* the kernel holds back what it takes for the parts of something longer */
		for (uint64_t start = clock_monotonic_ns();
		     pmt_of(o.link)->n_owned && clock_monotonic_ns() - start < PATIENCE_NS;)
			serve(&o);
		is_int(pmt_of(o.link)->n_owned, 0);
		close(fd);
	}
	close_owner(&o);
}

TAP_TEST(owner__has_one_connection_for_a_rail_of_a_node)
{
	struct owner o;

	if (open_owner(&o)) {
		int first = join(&o, SELF, KEY), second;

		is_int(pmt_of(o.link)->n_owned, 1);
		second = join(&o, SELF, KEY);
		ok(is_closed(&o, first));
		is_int(pmt_of(o.link)->n_owned, 1);
		o.link->ops->forget(o.link, 2);
		is_int(pmt_of(o.link)->n_owned, 1);
		o.link->ops->forget(o.link, 1);
		is_int(pmt_of(o.link)->n_owned, 0);
		ok(is_closed(&o, second));
		close(first);
		close(second);
	}
	close_owner(&o);
}

TAP_TEST(owner__many_that_begin_at_once)
{
	enum { READERS = 100 };
	struct owner o;
	int fds[READERS];

	if (open_owner_of(&o, READERS)) {
		for (uint32_t i = 0; i < READERS; i++) {
			fds[i] = knock(&o);
			greet(fds[i], i, SELF);
			serve(&o);
		}
		is_int(pmt_of(o.link)->n_strangers, READERS);
		for (uint32_t i = 0; i < READERS; i++)
			prove(&o, fds[i], i, SELF, KEY);
		is_int(pmt_of(o.link)->n_owned, READERS);
		for (uint32_t i = 0; i < READERS; i++)
			close(fds[i]);
	}
	close_owner(&o);
}

/* It wants to be quiet, and a reader does not take what it has asked for. */
TAP_TEST(quiesce__drops_a_reader_that_does_not_read)
{
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);
		uint64_t start;

		is_int(o.link->ops->quiesce(o.link), 0);
		o.link->ops->resume(o.link);
		/* the kernel's buffers take some */
		for (int i = 0; i < 2000 && LIST_EMPTY(&pmt_of(o.link)->serving); i++) {
			request(fd, o.rkey, 0, LEN);
			serve(&o);
		}
		for (int i = 0; i < PMT_PARTS / 2; i++)
			request(fd, o.rkey, 0, LEN);
		is_int(o.link->ops->quiesce(o.link), -EAGAIN);
		start = clock_monotonic_ns();
		while (o.link->ops->quiesce(o.link) == -EAGAIN &&
		       clock_monotonic_ns() - start < PATIENCE_NS)
			usleep(10000);
		is_int(o.link->ops->quiesce(o.link), 0);
		is_int(pmt_of(o.link)->n_owned, 0);
		close(fd);
	}
	close_owner(&o);
}

/* Attempts to sleep until one succeeds; at most @most. The last timeout. */
static uint64_t fall_asleep(const struct owner *o, int most)
{
	uint64_t timeout_ns = UINT64_MAX;

	while (most-- > 0 && o->link->ops->arm(o->link, &timeout_ns))
		continue;
	ok(most >= 0);
	o->link->ops->disarm(o->link);
	return timeout_ns;
}

/* A connection that can't be accepted keeps nobody awake, and is accepted when it can be. */
TAP_TEST(owner__without_descriptors)
{
	uint8_t got[100];
	struct rlimit few, before;
	struct owner o;
	int fd;

	if (open_owner(&o) && is_int(getrlimit(RLIMIT_NOFILE, &before), 0)) {
		fd = knock(&o);
		greet(fd, 1, SELF);
		few = (struct rlimit){(rlim_t)fd + 1, before.rlim_max};
		is_int(setrlimit(RLIMIT_NOFILE, &few), 0);
		ok(fall_asleep(&o, 4) < 1000000000);
		is_int(pmt_of(o.link)->n_strangers, 0);
		is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
		prove(&o, fd, 1, SELF, KEY);
		request(fd, o.rkey, 0, sizeof(got));
		is_int(hear(&o, fd, got, sizeof(got)), sizeof(got));
		fall_asleep(&o, 4);
		close(fd);
	}
	close_owner(&o);
}

/* Those who connect and say nothing take no place from others, and cost nothing while they stay. */
TAP_TEST(owner__silent_strangers)
{
	uint8_t got[100];
	struct owner o;
	int fds[64];

	if (open_owner(&o)) {
		for (int i = 0; i < 64; i++) {
			fds[i] = knock(&o);
			serve(&o);
		}
		ok(pmt_of(o.link)->n_strangers <= PMT_STRANGERS);
		int fd = join(&o, SELF, KEY);

		request(fd, o.rkey, 0, sizeof(got));
		is_int(hear(&o, fd, got, sizeof(got)), sizeof(got));
		ok(is_mem(got, o.data, sizeof(got)));
		close(fd);
		for (int i = 0; i < 64; i++)
			close(fds[i]);
		serve(&o);
		is_int(pmt_of(o.link)->n_strangers, 0);
	}
	close_owner(&o);
}
