// SPDX-License-Identifier: BSD-3-Clause
/* Two-sided messages: what every device promises of pmGetSendBuffer, pmSend and pmReceive. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/variant.h"

#define OPEN_MAX 16

static size_t mtu_to(const struct crew *crew, unsigned int from, unsigned int to)
{
	size_t mtu = 0;

	is_int(pmGetMtu(crew->ctx[from], crew_node(crew, to), &mtu), PM_SUCCESS);
	return mtu;
}

CONFORMS(send__every_size)
{
	for (unsigned int to = 0; to < crew->n; to++) {
		size_t mtu = mtu_to(crew, 0, to);
		size_t step = mtu > 3000 ? 37 : 1;

		must(mtu >= 512);
		for (size_t len = 1; len <= mtu; len += len < 200 || len + 200 > mtu ? 1 : step)
			if (!crew_send_hard(crew, 0, to, len))
				return;
		must(crew_send_hard(crew, 0, to, mtu));
	}
	crew_drain(crew);
}

CONFORMS(pmPost__every_size)
{
	static uint8_t data[65536 + 3];

	for (unsigned int to = 0; to < crew->n; to++) {
		size_t mtu = mtu_to(crew, 0, to);

		for (size_t len = 1; len <= mtu; len += len < 200 || len + 200 > mtu ? 1 : 97) {
			/* any alignment */
			must(crew_post_hard(crew, 0, to, data + len % 4, len));
		}
		is_int(pmPost(crew->ctx[0], crew_node(crew, to), data, mtu + 1), EINVAL);
		is_int(pmPost(crew->ctx[0], crew_node(crew, to), data, 0), EINVAL);
		is_int(pmPost(crew->ctx[0], crew_node(crew, to), NULL, 8), EINVAL);
	}
	is_int(pmPost(PM_CONTEXT_NONE, crew_node(crew, 1), data, 8), EBADF);
	crew_drain(crew);
}

/* Rows of one datagram and of many more than windows hold, corked and not, among other messages. */
CONFORMS(pmPostRow__all_arrives_in_order)
{
	static uint8_t data[200 * 4096];
	size_t done = 1;

	for (unsigned int round = 0; round < 24; round++) {
		unsigned int to = round % crew->n;
		size_t mtu = mtu_to(crew, 0, to), part = mtu > 4096 ? 4096 - round : mtu - round;
		size_t len = round % 4 ? (1 + round * round / 4) * part - round : 1 + round;

		must(pmCork(crew->ctx[0], round & 1) == PM_SUCCESS);
		must(crew_send_hard(crew, 0, to, 1 + 5 * round));
		must(crew_row_hard(crew, 0, to, data, len, part, round & 2));
		must(crew_send_hard(crew, 0, to, 1 + 3 * round));
		is_int(pmPostRow(crew->ctx[0], crew_node(crew, to), NULL, 0, data, 8, mtu + 1,
				 &done),
		       EINVAL);
		is_int(done, 0);
	}
	must(pmCork(crew->ctx[0], 0) == PM_SUCCESS);
	is_int(pmPostRow(PM_CONTEXT_NONE, crew_node(crew, 1), NULL, 0, data, 8, 8, &done), EBADF);
	crew_drain(crew);
}

/*
 * Messages that come while the program asks for something else are kept, and are in front of later
 * ones.
 */
CONFORMS(pmReceiveRow__after_messages_came_meanwhile)
{
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 20; i++)
			must(crew_send_hard(crew, 0, 1, 1000 + i));
		must(crew_send_hard(crew, 1, 0, 1 + round));
		for (unsigned int i = 0; i < round % 12; i++) {
			int err = pmIsSendDone(crew->ctx[1], crew_node(crew, 0));

			must(err == PM_SUCCESS || err == ENOBUFS);
		}
		must(crew_drain(crew));
	}
}

/* Bursts while corked: all arrives in order, and the end of the cork needs no further call. */
CONFORMS(pmCork__bursts)
{
	for (unsigned int round = 0; round < 20; round++) {
		must(pmCork(crew->ctx[0], 1) == PM_SUCCESS);
		for (unsigned int i = 0; i < 50; i++)
			must(crew_send_hard(crew, 0, 1 + i % 2, 1 + (i * 37 + round) % 300));
		if (round % 2)
			must(pmCork(crew->ctx[0], 0) == PM_SUCCESS);
		must(crew_drain(crew));
		is_int(pmIsSendOut(crew->ctx[0], crew_node(crew, 1)), PM_SUCCESS);
	}
	is_int(pmCork(PM_CONTEXT_NONE, 1), EBADF);
}

CONFORMS(send__all_to_all_random_sizes)
{
	uint64_t rng = tap_seed();
	int rounds = variant->is_faulted ? 700 : 4000;

	for (int i = 0; i < rounds; i++) {
		unsigned int from = tap_rand(&rng) % crew->n, to = tap_rand(&rng) % crew->n;
		size_t mtu = mtu_to(crew, from, to);
		size_t len = tap_rand(&rng) % 4 ? 1 + tap_rand(&rng) % 100
						: 1 + tap_rand(&rng) % mtu;

		if (!crew_send_hard(crew, from, to, len))
			return;
		if (tap_rand(&rng) % 8 == 0)
			crew_turn(crew);
	}
	crew_drain(crew);
}

/* Order is the order of pmSend, whatever the order of reservation. */
CONFORMS(send__many_buffers_open)
{
	pmDesc descs[OPEN_MAX];
	void *bufs[OPEN_MAX];
	uint64_t rng = tap_seed();

	for (int round = 0; round < 20; round++) {
		unsigned int to = 1 + (unsigned int)round % 2;
		int n = 0, order[OPEN_MAX];

		while (n < OPEN_MAX &&
		       !pmGetSendBuffer(crew->ctx[0], crew_node(crew, to), 64, &bufs[n], &descs[n]))
			order[n] = n, n++;
		must(n >= 2);
		for (int i = n - 1; i > 0; i--) {
			int j = (int)(tap_rand(&rng) % (uint64_t)(i + 1)), t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		for (int i = 0; i < n; i++) {
			if (i == 1) {
				is_int(pmDiscardSendBuffer(crew->ctx[0], descs[order[i]]),
				       PM_SUCCESS);
				continue;
			}
			crew_fill(bufs[order[i]], 40, 0, crew->sent[0][to]);
			is_int(pmTruncateBuffer(crew->ctx[0], descs[order[i]], 40), PM_SUCCESS);
			is_int(pmSend(crew->ctx[0], descs[order[i]]), PM_SUCCESS);
			crew->sent[0][to]++;
		}
		must(crew_drain(crew));
	}
}

/* A receiver that holds buffers slows the sender down with ENOBUFS; nothing is lost, and the held
 * contents stay as they were. */
CONFORMS(receive__buffers_held)
{
	enum { HELD = 8 };
	struct {
		uint8_t *buf;
		size_t len;
		pmDesc desc;
		uint64_t number;
	} held[HELD];
	uint8_t want[256];
	int n = 0;

	for (int i = 0; i < HELD; i++)
		must(crew_send_hard(crew, 0, 1, 100 + (size_t)i));
	while (n < HELD) {
		pmNode src;
		void *buf;
		int err = pmReceive(crew->ctx[1], &buf, &held[n].len, &src, &held[n].desc);

		crew_receive(crew, 0);
		if (err == ENOBUFS)
			continue;
		must(err == PM_SUCCESS);
		held[n].buf = buf;
		held[n].number = crew->received[0][1]++;
		n++;
	}
	for (int i = 0; i < 2000; i++)
		if (crew_send(crew, 0, 1, 200) == ENOBUFS)
			crew_turn(crew);
	for (int i = HELD - 1; i >= 0; i--) {
		int k = (i * 5) % HELD;

		crew_fill(want, held[k].len, 0, held[k].number);
		is_mem(held[k].buf, want, held[k].len);
		is_int(pmReleaseReceiveBuffer(crew->ctx[1], held[k].desc), PM_SUCCESS);
	}
	crew_drain(crew);
}

/* A receiver that never takes anything bounds what the sender can queue. */
CONFORMS(send__to_a_receiver_that_does_not_take)
{
	int sent = 0, err = 0;

	while (sent < 200000 && !(err = crew_send(crew, 0, 1, 300)))
		sent++;
	is_int(err, ENOBUFS);
	okf(sent >= 4, "only %d messages could be queued", sent);
	crew_drain(crew);
}

CONFORMS(pmIsSendDone__after_drain)
{
	for (int i = 0; i < 50; i++)
		must(crew_send_hard(crew, 0, 1 + (unsigned int)i % 2, 500));
	must(crew_drain(crew));
	for (int i = 0; i < 10000000; i++) {
		if (pmIsSendDone(crew->ctx[0], PM_NODE_ANY) == PM_SUCCESS)
			break;
		crew_turn(crew);
	}
	is_int(pmIsSendDone(crew->ctx[0], PM_NODE_ANY), PM_SUCCESS);
	is_int(pmIsSendDone(crew->ctx[0], crew_node(crew, 1)), PM_SUCCESS);
}

CONFORMS(arguments__bad_ones_are_refused)
{
	size_t mtu = mtu_to(crew, 0, 1), len;
	pmNode src, node1 = crew_node(crew, 1);
	pmDesc desc = 77, first;
	void *buf = &mtu, *b;

	is_int(pmGetSendBuffer(crew->ctx[0], node1, 0, &buf, &desc), EINVAL);
	is_int(pmGetSendBuffer(crew->ctx[0], node1, mtu + 1, &buf, &desc), EINVAL);
	is_int(pmGetSendBuffer(crew->ctx[0], node1, (size_t)-1, &buf, &desc), EINVAL);
	is_int(pmGetSendBuffer(crew->ctx[0], node1, 8, NULL, &desc), EINVAL);
	is_int(pmGetSendBuffer(crew->ctx[0] + 1, node1, 8, &buf, &desc), EBADF);
	is_int(pmGetSendBuffer(PM_CONTEXT_NONE, node1, 8, &buf, &desc), EBADF);
	ok(desc == 77 && buf == &mtu);
	ok(strlen(pmLastError()) > 10);
	is_int(pmGetSendBuffer(crew->ctx[0], node1, 8, &b, &first), PM_SUCCESS);
	is_int(pmTruncateBuffer(crew->ctx[0], first, 9), EINVAL);
	is_int(pmTruncateBuffer(crew->ctx[0], first, 0), EINVAL);
	is_int(pmSend(crew->ctx[1], first), EBADF);
	is_int(pmSend(crew->ctx[0], first + 1), EBADF);
	is_int(pmDiscardSendBuffer(crew->ctx[0], first), PM_SUCCESS);
	is_int(pmSend(crew->ctx[0], first), EBADF);
	is_int(pmDiscardSendBuffer(crew->ctx[0], first), EBADF);
	is_int(pmReleaseReceiveBuffer(crew->ctx[0], 0), EBADF);
	is_int(pmReleaseReceiveBuffer(crew->ctx[0], ~0ull), EBADF);
	is_int(pmReceive(crew->ctx[0], &buf, &len, &src, NULL), EINVAL);
	is_int(pmReceive(crew->ctx[0], &buf, &len, &src, &desc), ENOBUFS);
	must(crew_send_hard(crew, 0, 1, 8));
	crew_drain(crew);
}

/* The device that carries a member's traffic to others. */
static const char *device_of(const char *config)
{
	static const char *const names[] = {"shmem", "verbs", "ethernet"};

	if (strstr(config, "verbs.path=datagram"))
		return "verbs-datagram";
	for (int i = 0; i < 3; i++)
		if (strstr(config, names[i]))
			return names[i];
	return "udp";
}

CONFORMS(node__attributes)
{
	const char *name = NULL;
	uint64_t value;
	pmNode self;

	must(crew_send_hard(crew, 0, 1, 8) && crew_send_hard(crew, 0, 0, 8) && crew_drain(crew));
	is_int(pmGetSelf(crew->ctx[1], &self), PM_SUCCESS);
	is_int(self, crew_node(crew, 1));
	is_int(pmGetAttribute(crew->ctx[0], PM_ATTR_PEERS, &value), PM_SUCCESS);
	is_int(value, 2);
	is_int(pmGetAttribute(crew->ctx[0], PM_ATTR_MEMORY, &value), PM_SUCCESS);
	ok(value > 0);
	is_int(pmGetAttribute(crew->ctx[0], (enum pmAttribute)999, &value), EINVAL);
	is_int(pmGetDeviceName(crew->ctx[0], crew_node(crew, 0), &name), PM_SUCCESS);
	is_str(name, "self");
	is_int(pmGetDeviceName(crew->ctx[0], crew_node(crew, 1), &name), PM_SUCCESS);
	is_str(name, device_of(variant->configs[1]));
	is_int(pmGetDeviceName(crew->ctx[0], crew_node(crew, 2), &name), PM_SUCCESS);
	is_str(name, device_of(variant->configs[2]));
}

CONFORMS(pmCloseContext__twice)
{
	pmContext old = crew->ctx[2];
	pmDesc desc;
	void *buf;

	must(crew_send_hard(crew, 0, 2, 8) && crew_drain(crew));
	is_int(pmCloseContext(old), PM_SUCCESS);
	crew->ctx[2] = PM_CONTEXT_NONE;
	is_int(pmCloseContext(old), EBADF);
	is_int(pmGetSendBuffer(old, crew_node(crew, 0), 8, &buf, &desc), EBADF);
	is_int(pmWait(old, 0), EBADF);
	(void)variant;
}
