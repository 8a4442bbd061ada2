/* SPDX-License-Identifier: BSD-3-Clause */
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

static int side_open(struct side *s, const char *config, uint64_t key)
{
	memset(s, 0, sizeof(*s));
	conf_defaults(&s->conf);
	if (conf_parse(&s->conf, config, s->why, sizeof(s->why)))
		return -EINVAL;
	s->env = (struct pm_device_env){.conf = &s->conf,
					.stats = &s->link,
					.rails = s->rails,
					.job_key = key,
					.local = 1,
					.why = s->why,
					.why_size = sizeof(s->why)};
	return pm_ethernet_ops.open(&s->env, NULL, &s->dev);
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
	uint8_t addr[256];
	uint32_t rails;

	s[0].dev = s[1].dev = NULL;
	if (why) {
		tap_skip("%s", why);
		return false;
	}
	for (int i = 0; i < 2; i++)
		if (!okf(!side_open(&s[i], configs[i], 0x1234), "%s", s[i].why))
			return false;
	for (int i = 0; i < 2; i++) {
		int len = pm_ethernet_ops.address(s[!i].dev, addr, sizeof(addr));

		if (!is_int(pm_ethernet_ops.peer_add(s[i].dev, (uint32_t)!i, addr, (size_t)len,
						     &s[i].peer, &rails),
			    0) ||
		    !is_int(rails, 3))
			return false;
	}
	return true;
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

/* Packets of both kinds that the channel holds keep place and bytes; the same peer is reached again. */
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
