// SPDX-License-Identifier: BSD-3-Clause
/* Whole devices: without a daemon, and with one on hosts of namespaces. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "pm-ethernet/device.h"
#include "pm-ethernet/ethernet.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/wire/pm_wire.h"
#include "tests/harness/ethhosts.h"
#include "tests/harness/tap.h"

struct side {
	struct conf conf;
	struct stats_link link;
	struct stats_rail rails[PM_RAILS_MAX];
	struct pm_device_env env;
	struct pm_dev *dev;
	struct pm_dev_peer *peer; /* the other side */
	char why[400];
};

static int side_open_of(struct side *s, const char *config, uint64_t key, uint32_t local)
{
	memset(s, 0, sizeof(*s));
	conf_defaults(&s->conf);
	if (conf_parse(&s->conf, config, s->why, sizeof(s->why)))
		return -EINVAL;
	s->env = (struct pm_device_env){.conf = &s->conf,
					.stats = &s->link,
					.rails = s->rails,
					.job_key = key,
					.local = local,
					.why = s->why,
					.why_size = sizeof(s->why)};
	return pm_ethernet_ops.open(&s->env, NULL, &s->dev);
}

static int side_open(struct side *s, const char *config, uint64_t key)
{
	return side_open_of(s, config, key, 1);
}

/* @s learns to know @other; both rails lead there. */
static bool meet(struct side *s, struct side *other)
{
	uint8_t addr[256];
	uint32_t rails = 0;
	int len = pm_ethernet_ops.address(other->dev, addr, sizeof(addr));

	return is_int(pm_ethernet_ops.peer_add(s->dev, 1, addr, (size_t)len, &s->peer, &rails),
		      0) &&
	       is_int(rails, 3);
}

TAP_TEST(open__no_daemon)
{
	struct side s;

	is_int(side_open(&s, "ethernet.socket=/nonexistent/socket", 1), -ENODEV);
	is_str(s.why,
	       "ethernet: pm-ethernetd does not run on this host (no socket /nonexistent/socket); "
	       "start it as root: pm-ethernetd --nics eth1,eth2");
	is_int(side_open(&s, "ethernet.socket=/nonexistent/socket", 0), -EOPNOTSUPP);
	ok(strstr(s.why, "key") != NULL);
	is_int(side_open(&s, "ethernet.rails=aninterfacewithalongname", 1), -EINVAL);
	ok(strstr(s.why, "aninterfacewithalongname") != NULL);
}

/* Hosts 0 and 1 with a device each that know each other; false: skipped or failed. */
static bool couple_open(struct side s[2], const char *attach)
{
	char configs[ETHHOSTS][ETHHOSTS_CONFIG];
	const char *why = ethhosts_configs(attach, configs);

	s[0].dev = s[1].dev = NULL;
	if (why) {
		tap_skip("%s", why);
		return false;
	}
	for (int i = 0; i < 2; i++)
		if (!okf(!side_open(&s[i], configs[i], 0x1234), "%s", s[i].why))
			return false;
	return meet(&s[0], &s[1]) && meet(&s[1], &s[0]);
}

static void couple_close(struct side s[2])
{
	for (int i = 0; i < 2; i++)
		if (s[i].dev)
			pm_ethernet_ops.close(s[i].dev);
}

/* A packet as the programs of the kernel let it pass. */
static struct pm_packet *packet_of(struct side *s, uint32_t len, uint8_t fill)
{
	struct pm_packet *p = pm_ethernet_ops.tx_alloc(s->dev);
	struct wire_header *h;

	if (!ok(p != NULL))
		return NULL;
	memset(p->data, fill, len);
	h = (struct wire_header *)(void *)p->data;
	h->type = WIRE_DATA;
	h->length = 0;
	h->key = 0x1234;
	p->len = len;
	return p;
}

static void send(struct side *s, uint32_t rail, struct pm_packet *p)
{
	is_int(pm_ethernet_ops.tx_post(s->dev, rail, s->peer, p), 0);
	pm_ethernet_ops.tx_kick(s->dev);
}

static bool receive(struct side *s, struct pm_rx *ret)
{
	uint64_t end = clock_monotonic_ns() + 5000000000ull;

	while (pm_ethernet_ops.rx_burst(s->dev, ret, 1) != 1)
		if (!okf(clock_monotonic_ns() < end, "nothing came"))
			return false;
	return true;
}

static void exchange(const char *attach)
{
	struct side s[2];
	struct pm_rx rx;

	if (couple_open(s, attach))
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t len = 48 + 8 * (i % 180), from = i & 1;
			struct pm_packet *p = packet_of(&s[from], len, (uint8_t)i);

			send(&s[from], i / 2 & 1, p);
			if (!receive(&s[!from], &rx))
				break;
			is_int(rx.len, len);
			is_int(rx.rail, i / 2 & 1);
			okf(!memcmp(rx.data, p->data, len), "packet %u differs", i);
			pm_ethernet_ops.rx_return(s[!from].dev, rx.token);
			pm_ethernet_ops.tx_free(s[from].dev, p);
		}
	couple_close(s);
}

TAP_TEST(device__packets_both_ways_direct)
{
	exchange("direct");
}

TAP_TEST(device__packets_both_ways_port)
{
	exchange("port");
}

/*
 * Packets of both kinds that the channel holds keep place and bytes; the same peer is reached
 * again.
 */
static void sleep_and_wake(const char *attach)
{
	struct side s[2];
	struct pm_packet *kept;
	uint8_t *data;
	struct pm_rx held, rx;

	if (couple_open(s, attach)) {
		send(&s[1], 0, packet_of(&s[1], 200, 'h'));
		kept = packet_of(&s[0], 300, 'k');
		data = kept->data;
		if (receive(&s[0], &held)) {
			send(&s[0], 1, kept);
			is_int(pm_ethernet_ops.suspend(s[0].dev), 0);
			is_int(kept->busy, 0);
			is_int(held.data[199], 'h');
			is_int(pm_ethernet_ops.tx_post(s[0].dev, 0, s[0].peer, kept), -EAGAIN);
			if (okf(!pm_ethernet_ops.resume(s[0].dev), "%s", s[0].why)) {
				ok(kept->data == data);
				is_int(kept->data[299], 'k');
				is_int(held.data[199], 'h');
				pm_ethernet_ops.rx_return(s[0].dev, held.token);
				if (receive(&s[1], &rx)) /* what was sent before */
					pm_ethernet_ops.rx_return(s[1].dev, rx.token);
				send(&s[0], 0, kept);
				if (receive(&s[1], &rx))
					is_int(rx.data[299], 'k');
				send(&s[1], 1, packet_of(&s[1], 100, 'x'));
				if (receive(&s[0], &rx))
					is_int(rx.data[99], 'x');
			}
		}
	}
	couple_close(s);
}

TAP_TEST(suspend__and_resume_direct)
{
	sleep_and_wake("direct");
}

TAP_TEST(suspend__and_resume_port)
{
	sleep_and_wake("port");
}

TAP_TEST(arm__wakes_for_an_arrival)
{
	struct side s[2];
	struct pollfd fd = {.events = POLLIN};
	struct pm_rx rx;

	if (couple_open(s, "direct")) {
		is_int(pm_ethernet_ops.poll_fds(s[0].dev, &fd.fd, 1), 1);
		is_int(pm_ethernet_ops.arm(s[0].dev), 0);
		is_int(poll(&fd, 1, 0), 0);
		send(&s[1], 0, packet_of(&s[1], 100, 'w'));
		is_int(poll(&fd, 1, 5000), 1);
		is_int(pm_ethernet_ops.arm(s[0].dev), 1);
		pm_ethernet_ops.disarm(s[0].dev);
		ok(receive(&s[0], &rx));
		is_int(pm_ethernet_ops.arm(s[0].dev), 0);
		is_int(poll(&fd, 1, 0), 0);
		pm_ethernet_ops.disarm(s[0].dev);
	}
	couple_close(s);
}

/*
 * Two processes' worth of contexts share the queue of host 0; each talks to one of its own on host
 * 1. Far more packets than chunks go by, so both give chunks back and reap what the other sent.
 */
TAP_TEST(direct__two_slots_share_the_rings)
{
	char configs[ETHHOSTS][ETHHOSTS_CONFIG];
	const char *why = ethhosts_configs("direct", configs);
	struct side s[2][2] = {0};
	uint32_t sent[2][2] = {0}, got[2][2] = {0};
	uint64_t rand = tap_seed(), end = clock_monotonic_ns() + 10000000000ull;
	bool is_open = true;

	if (why) {
		tap_skip("%s", why);
		return;
	}
	for (int h = 0; h < 2; h++)
		for (int i = 0; i < 2; i++)
			is_open &= okf(!side_open_of(&s[h][i], configs[h], 0x1234, 2), "%s",
				       s[h][i].why);
	for (int h = 0; is_open && h < 2; h++)
		for (int i = 0; is_open && i < 2; i++)
			is_open = meet(&s[h][i], &s[!h][i]);
	while (is_open && (sent[0][0] + sent[0][1] + sent[1][0] + sent[1][1] < 40000) &&
	       !tap_has_failed()) {
		uint32_t h = tap_rand(&rand) & 1, i = tap_rand(&rand) & 1;
		struct pm_rx rx[8];
		int n;

		if (sent[h][i] - got[!h][i] < 32) {
			struct pm_packet *p = packet_of(&s[h][i], 100, (uint8_t)i);

			/* never further ahead than the smallest queue on the way */
			if (!pm_ethernet_ops.tx_post(s[h][i].dev, sent[h][i] & 1, s[h][i].peer, p))
				sent[h][i]++;
			pm_ethernet_ops.tx_free(s[h][i].dev, p);
		}
		pm_ethernet_ops.tx_kick(s[h][i].dev);
		h = tap_rand(&rand) & 1;
		i = tap_rand(&rand) & 1;
		n = pm_ethernet_ops.rx_burst(s[h][i].dev, rx, 8);
		for (int k = 0; k < n; k++) {
			okf(rx[k].data[99] == i, "for another context");
			pm_ethernet_ops.rx_return(s[h][i].dev, rx[k].token);
			got[h][i]++;
		}
		if (!okf(clock_monotonic_ns() < end, "stuck"))
			break;
	}
	for (int k = 0; k < 4; k++)
		okf(sent[k / 2][k & 1] - got[!(k / 2)][k & 1] <= 32, "lost %u",
		    sent[k / 2][k & 1] - got[!(k / 2)][k & 1]);
	for (int k = 0; k < 4; k++)
		if (s[k / 2][k & 1].dev)
			pm_ethernet_ops.close(s[k / 2][k & 1].dev);
}
