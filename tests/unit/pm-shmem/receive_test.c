// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-shmem/links.h"

#define SENDERS 20

static struct node hub, senders[SENDERS];
static struct pm_link_peer *to_hub[SENDERS];

static bool begin(void)
{
	links_begin();
	if (!is_int(node_open(&hub, 1000, NULL), 0))
		return false;
	for (uint32_t i = 0; i < SENDERS; i++)
		if (!is_int(node_open(&senders[i], i, NULL), 0) ||
		    !is_int(node_add(&senders[i], 1000, &hub, &to_hub[i]), 0))
			return false;
	return true;
}

static void end(void)
{
	for (uint32_t i = 0; i < SENDERS; i++)
		node_close(&senders[i]);
	node_close(&hub);
	links_end();
}

TAP_TEST(receive__from_many_in_order_each)
{
	uint32_t next[SENDERS] = {0};
	struct pm_inbound in;

	must(begin());
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t s = 0; s < SENDERS; s++)
			is_int(node_send(&senders[s], to_hub[s], 1 + i * 5, s * 100 + i), 0);
	for (uint32_t n = 0; n < 100 * SENDERS; n++) {
		must(is_int(node_receive(&hub, &in), 1));
		must(in.src < SENDERS);
		is_int(in.len, 1 + next[in.src] * 5);
		ok(is_filled(in.buf, in.len, in.src * 100 + next[in.src]));
		next[in.src]++;
		OPS->release(hub.link, in.cookie);
	}
	is_int(OPS->receive(hub.link, &in), 0);
	end();
}

TAP_TEST(receive__the_second_poll_takes_what_a_first_contact_brought)
{
	struct pm_inbound in;

	must(begin());
	for (uint32_t s = 0; s < SENDERS; s++) {
		is_int(node_send(&senders[s], to_hub[s], 8, s), 0);
		is_int(OPS->receive(hub.link, &in), 0);
		must(is_int(OPS->receive(hub.link, &in), 1));
		is_int(in.src, s);
		OPS->release(hub.link, in.cookie);
	}
	end();
}

TAP_TEST(receive__a_flood_does_not_starve_the_others)
{
	struct pm_inbound in;
	uint32_t others = 0;

	must(begin());
	/* the hub knows all of them */
	for (uint32_t s = 0; s < SENDERS; s++) {
		is_int(node_send(&senders[s], to_hub[s], 8, s), 0);
		must(is_int(node_receive(&hub, &in), 1));
		OPS->release(hub.link, in.cookie);
	}
	for (uint32_t n = 0; n < 2000; n++) {
		if (n == 100)
			for (uint32_t s = 1; s < SENDERS; s++)
				is_int(node_send(&senders[s], to_hub[s], 8, s), 0);
		is_int(node_send(&senders[0], to_hub[0], 8, 0), 0);
		must(is_int(node_receive(&hub, &in), 1));
		others += in.src != 0;
		OPS->release(hub.link, in.cookie);
	}
	is_int(others, SENDERS - 1);
	end();
}

TAP_TEST(release__in_any_order_from_many)
{
	uint64_t random = tap_seed();
	uint64_t held[64];
	struct pm_inbound in;
	uint32_t n_held = 0;

	must(begin());
	for (uint32_t n = 0; n < 20000; n++) {
		uint32_t s = tap_rand(&random) % SENDERS;

		must(is_int(node_send(&senders[s], to_hub[s], 1 + n % 700, n), 0));
		must(is_int(node_receive(&hub, &in), 1));
		must(ok(is_filled(in.buf, 1 + n % 700, n)));
		if (n_held == 64) {
			uint32_t i = tap_rand(&random) % 64;

			OPS->release(hub.link, held[i]);
			held[i] = in.cookie;
		} else {
			held[n_held++] = in.cookie;
		}
	}
	end();
}

TAP_TEST(receive__a_killed_ring_word_is_no_message)
{
	struct pm_inbound in;
	uint64_t cookie;
	void *buf;

	must(begin());
	/* lent and never sent, as by a process killed while it filled the buffer */
	must(is_int(OPS->get_send(senders[0].link, to_hub[0], 5000, &buf, &cookie), 0));
	fill(buf, 5000, 1);
	for (int i = 0; i < 1000; i++)
		is_int(OPS->receive(hub.link, &in), 0);
	is_int(OPS->send(senders[0].link, to_hub[0], cookie, 5000), 0);
	must(is_int(node_receive(&hub, &in), 1));
	ok(is_filled(in.buf, 5000, 1));
	end();
}

/* Those that have come behind a message are lent and given back with it. */
TAP_TEST(receive_more__short_messages_in_a_row)
{
	struct iovec parts[8];
	struct pm_inbound in, next;

	must(begin());
	for (uint32_t i = 0; i < 10; i++)
		is_int(node_send(&senders[0], to_hub[0], 30 + i, i), 0);
	is_int(node_send(&senders[0], to_hub[0], 5000, 10), 0);
	is_int(node_send(&senders[1], to_hub[1], 8, 11), 0);
	/* behind an empty poll nothing is looked for: it has not come yet */
	must(is_int(node_receive(&hub, &in), 1));
	is_int(OPS->receive_more(hub.link, in.cookie, parts, 4), 0);
	OPS->release(hub.link, in.cookie);
	must(is_int(node_receive(&hub, &in), 1));
	must(is_int(OPS->receive_more(hub.link, in.cookie, parts, 4), 4));
	for (uint32_t i = 0; i < 4; i++) {
		is_int(parts[i].iov_len, 32 + i);
		ok(is_filled(parts[i].iov_base, 32 + i, 2 + i));
	}
	must(is_int(node_receive(&hub, &next), 1));
	is_int(next.len, 36);
	is_int(OPS->receive_more(hub.link, in.cookie, parts, 4),
	       0); /* others have come behind it */
	is_int(OPS->receive_more(hub.link, next.cookie, parts, 8), 3); /* not the long one */
	/* out of order: the first row is still lent */
	OPS->release(hub.link, next.cookie);
	ok(is_filled(in.buf, 31, 1));
	OPS->release(hub.link, in.cookie);
	must(is_int(node_receive(&hub, &in), 1));
	is_int(in.len, 5000);
	is_int(OPS->receive_more(hub.link, in.cookie, parts, 8), 0);
	OPS->release(hub.link, in.cookie);
	must(is_int(node_receive(&hub, &in), 1));
	is_int(in.src, 1);
	OPS->release(hub.link, in.cookie);
	is_int(hub.stats.rx_messages, 12);
	end();
}

/* All cells come back, whatever was released with what. */
TAP_TEST(receive_more__the_ring_never_runs_full)
{
	uint32_t sent = 0, got = 0;
	struct iovec parts[16];
	struct pm_inbound in;

	must(begin());
	while (got < 100000) {
		while (sent < got + 200 && !node_send(&senders[0], to_hub[0], 1 + sent % 50, sent))
			sent++;
		must(is_int(node_receive(&hub, &in), 1));
		got += 1 + OPS->receive_more(hub.link, in.cookie, parts, got % 17);
		OPS->release(hub.link, in.cookie);
	}
	end();
}
