// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/stream against those who connect without belonging there, or do not keep to the
 * rules.
 */
#include "tests/harness/setclock.h"
#include "tests/unit/pm-udp/stream_owner.h"

#define STUCK_S 2 /* a reader that takes nothing for so long is dropped */

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
			const struct pmt_request r = {o.rkey, 0, LEN, PMT_COPIED, 0};
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
		/* The kernel may still take some bytes, and then its time begins again. */
		for (int i = 0; i < 10 && o.link->ops->quiesce(o.link) == -EAGAIN; i++)
			setclock_passed_s += STUCK_S;
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
