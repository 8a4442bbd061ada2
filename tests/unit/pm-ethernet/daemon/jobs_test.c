// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/jobs.c: sizes of memory and rings, and their limits. No socket is
 * made.
 */
#include "pm-ethernet/daemon/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define USER 1000

static char why[ETH_WHY];

static struct ethd *make(uint32_t chunk_bytes, uint32_t per_packet)
{
	struct ethd *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->chunk_bytes = chunk_bytes;
	d->chunks_per_packet = per_packet;
	d->is_frags = per_packet > 1;
	return d;
}

static struct eth_request request_of(uint32_t tx, uint32_t rx)
{
	return (struct eth_request){.key = 5, .tx_packets = tx, .rx_packets = rx};
}

/* A layout that is granted to a process must pass the check that the process makes. */
static void check(struct ethd *d, uint32_t tx, uint32_t rx, uint32_t slots, uint32_t rails)
{
	struct eth_request r = request_of(tx, rx);
	struct eth_granted g = {.magic = ETH_ATTACH_MAGIC,
				.version = ETH_ATTACH_VERSION,
				.context = 1,
				.type = 1,
				.attachment = ETH_DIRECT,
				.n_rails = (uint8_t)rails,
				.n_fds = 3 + 2 * rails};

	must(ethd_layout(d, &r, USER, slots, rails, &g, why, sizeof(why)) == 0);
	for (uint32_t i = 0; i < rails; i++) {
		snprintf(g.rails[i].name, ETH_NAME, "eth%u", i);
		g.rails[i].host_rail = (uint8_t)i;
		g.rails[i].mtu = 1500;
	}
	okf(eth_granted_check(&g, sizeof(g), g.n_fds) == 0, "tx %u rx %u slots %u rails %u", tx, rx,
	    slots, rails);
	okf(g.memory_bytes <= ETHD_JOB_BYTES && g.rx_chunks >= 1024 &&
		    g.fill_entries >= g.rx_chunks && g.completion_entries >= 1024 &&
		    g.completion_entries <= 2048,
	    "limits: tx %u rx %u slots %u rails %u", tx, rx, slots, rails);
}

TAP_TEST(ethd_layout__all_sizes_that_fit)
{
	static const uint32_t packets[] = {64, 100, 1024, 4096}, slots[] = {1, 2, 3, 16},
			      rails[] = {1, 2, 7, 8};
	struct ethd *small = make(2048, 1), *large = make(4096, 3);

	for (int p = 0; p < 4; p++)
		for (int s = 0; s < 4; s++)
			for (int r = 0; r < 4; r++) {
				check(small, packets[p], packets[3 - p], slots[s], rails[r]);
				if (packets[p] * slots[s] <= 4096)
					check(large, packets[p], packets[3 - p], slots[s],
					      rails[r]);
			}
	free(small);
	free(large);
}

TAP_TEST(ethd_layout__receive_chunks_cover_what_may_be_held)
{
	struct ethd *d = make(4096, 3);
	struct eth_request r = request_of(256, 300);
	struct eth_granted g = {0};

	must(ethd_layout(d, &r, USER, 4, 2, &g, why, sizeof(why)) == 0);
	ok(g.rx_chunks >= 4 * 300 * 3);
	is_int((long long)g.memory_bytes, (4 * 256 * 3 + 2 * g.rx_chunks) * 4096ll);
	free(d);
}

/* Where frames come by inboxes, hardly any of the packet memory is for receiving. */
TAP_TEST(ethd_layout__with_inboxes)
{
	static const uint32_t chunks[] = {2048, 4096}, per_packet[] = {1, 3}, packets[] = {64, 300};

	for (int i = 0; i < 2; i++) {
		struct ethd *d = make(chunks[i], per_packet[i]);
		struct eth_request r = request_of(256, packets[i]);
		struct eth_granted g = {0};

		must(ethd_layout(d, &r, USER, 1, 1, &g, why, sizeof(why)) == 0);
		is_int(g.inbox_bytes, 0);
		d->mode = ETHD_MODE_TC;
		must(ethd_layout(d, &r, USER, 4, 2, &g, why, sizeof(why)) == 0);
		ok(g.inbox_bytes >= 1u << 20 && g.inbox_bytes <= ETH_INBOX_MAX &&
		   !(g.inbox_bytes & (g.inbox_bytes - 1)));
		ok(g.rx_chunks * g.chunk_bytes % 4096 == 0);
		ok(g.rx_chunks <= 4);
		free(d);
	}
}

TAP_TEST(ethd_layout__too_much_for_one_job)
{
	struct ethd *d = make(2048, 1);
	struct eth_request r = request_of(65536, 64);
	struct eth_granted g = {0};

	is_int(ethd_layout(d, &r, USER, 64, 1, &g, why, sizeof(why)), -E2BIG);
	ok(strstr(why, "64 contexts") && strstr(why, "channel.send_buffers"));
	is_int((long long)g.memory_bytes, 0);
	free(d);
}

TAP_TEST(ethd_layout__too_much_for_one_user)
{
	struct ethd *d = make(2048, 1);
	struct eth_request r = request_of(1024, 1024);
	struct eth_granted g = {0};

	d->contexts[7].key = 1;
	d->contexts[7].uid = USER;
	d->contexts[7].memory_bytes = ETHD_UID_BYTES;
	is_int(ethd_layout(d, &r, USER, 1, 1, &g, why, sizeof(why)), -EDQUOT);
	ok(strstr(why, "user 1000 holds 2048 MiB"));
	is_int(ethd_layout(d, &r, USER + 1, 1, 1, &g, why, sizeof(why)), 0);
	is_int(ethd_layout(d, &r, 0, 1, 1, &g, why, sizeof(why)), 0);
	free(d);
}
