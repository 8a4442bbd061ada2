// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of how pm-udp/stream answers requests: in copies, in pages that it lends, many together,
 * and to readers that go.
 */
#include "tests/unit/pm-udp/stream_owner.h"

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

/*
 * As many requests as may be under way, none of which the socket takes whole: a sign of life is
 * none more.
 */
TAP_TEST(owner__hears_a_sign_of_life_behind_all_requests)
{
	uint8_t *got = malloc((size_t)PMT_PARTS * LEN);
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		is_int(setsockopt(owned_of(&o)->socket.fd, SOL_SOCKET, SO_SNDBUF, &(int){4096},
				  sizeof(int)),
		       0);
		for (int i = 0; i < PMT_PARTS; i++)
			request(fd, o.rkey, 0, LEN);
		request(fd, o.rkey, 0, 0);
		is_int((long)hear(&o, fd, got, (size_t)PMT_PARTS * LEN), (long)PMT_PARTS * LEN);
		for (size_t i = 0; i < PMT_PARTS; i++)
			ok(is_mem(got + i * LEN, o.data, LEN));
		is_int(pmt_of(o.link)->n_owned, 1);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

/*
 * More requests than are answered by one call, of every kind of length and gap; behind them one
 * that can't be served.
 */
TAP_TEST(owner__answers_many_requests_together)
{
	static const uint64_t lengths[] = {1, 12000, 65536, 40000, LEN};
	static const uint16_t gaps[] = {0, 1, PMT_GAP_MAX};
	struct pmt_request asked[60];
	size_t len = 0, at = 0;
	uint8_t *got = NULL;
	struct owner o;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY);

		for (size_t i = 0; i < 60; i++) {
			enum pmt_how how = i % 17 == 9 ? PMT_LENT : PMT_COPIED;

			asked[i] = (struct pmt_request){o.rkey, 0, lengths[i % 5], how,
							how == PMT_LENT ? 0 : gaps[i % 3]};
			ask_for(fd, &asked[i]);
			len += asked[i].gap + asked[i].length;
		}
		request(fd, o.rkey + 1, 0, 10);
		got = malloc(len);
		is_int((long)hear(&o, fd, got, len), (long)len);
		for (size_t i = 0; i < 60; at += asked[i].gap + asked[i].length, i++)
			ok(is_mem(got + at + asked[i].gap, o.data, asked[i].length));
		ok(is_closed(&o, fd));
		is_int(pmt_of(o.link)->serve_bytes, 0);
		close(fd);
	}
	close_owner(&o);
	free(got);
}

/*
 * A reader that asks for more than the buffers of its connection take: what they don't take is in
 * the pipe.
 */
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

/* A connection that takes little at once breaks off amid data and gaps. */
TAP_TEST(owner__sends_gaps_in_parts)
{
	enum { REQUESTS = 40, EACH = 3000 };
	const size_t len = (size_t)REQUESTS * (PMT_GAP_MAX + EACH);
	uint8_t *got = malloc(len);
	bool was_in_gap = false;
	struct owner o;
	size_t n = 0;

	if (open_owner(&o)) {
		int fd = join(&o, SELF, KEY), little = 4096;
		uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

		is_int(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
		is_int(setsockopt(owned_of(&o)->socket.fd, SOL_SOCKET, SO_SNDBUF, &little,
				  sizeof(little)),
		       0);
		for (int i = 0; i < REQUESTS; i++)
			ask_for(fd,
				&(struct pmt_request){o.rkey, 0, EACH, PMT_COPIED, PMT_GAP_MAX});
		while (n < len && clock_monotonic_ns() < end) {
			const struct pmt_request *first = &owned_of(&o)->queue[owned_of(&o)->head];
			ssize_t some;

			serve(&o);
			was_in_gap |= owned_of(&o)->count && first->gap && first->gap < PMT_GAP_MAX;
			some = recv(fd, got + n, len - n, 0);
			n += some > 0 ? (size_t)some : 0;
		}
		is_int((long)n, (long)len);
		for (size_t i = 0; i < REQUESTS; i++)
			ok(is_mem(got + i * (PMT_GAP_MAX + EACH) + PMT_GAP_MAX, o.data, EACH));
		ok(was_in_gap);
		is_int(pmt_of(o.link)->serve_bytes, 0);
		close(fd);
	}
	close_owner(&o);
	free(got);
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
