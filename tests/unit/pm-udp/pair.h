/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two udp devices in one process, for the tests of pm-udp: over loopback, or (root) over veth pairs
 * between two anonymous network namespaces that vanish with the process.
 */
#ifndef TESTS_UNIT_PM_UDP_PAIR_H
#define TESTS_UNIT_PM_UDP_PAIR_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-udp/udp.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"

#define UNUSED __attribute__((unused))

/* Namespaces of the two sides; -1 = none was made. */
struct net {
	int home, ns[2];
};

struct side {
	struct conf conf;
	struct stats_link link;
	struct stats_rail rails[PM_RAILS_MAX];
	struct pm_device_env env;
	struct pm_dev *dev;
	struct pm_dev_peer *peer; /* the other side */
	uint32_t mask;            /* rails that lead to it */
	char why[400];
};

struct pair {
	struct net net;
	struct side side[2];
};

static int own_ns(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static UNUSED void enter(const struct net *net, int which)
{
	if (net->ns[0] >= 0 && setns(which < 0 ? net->home : net->ns[which], CLONE_NEWNET))
		abort();
}

__attribute__((format(printf, 1, 2))) static UNUSED int sh(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

/* The kernel tells no event about operstate that a shell command could wait for. */
static UNUSED bool wait_for(const char *command)
{
	for (int ms = 0; ms < 3000; ms += 10) {
		if (!sh("{ %s; } 2>/dev/null", command))
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

static bool wait_carrier(int n_rails)
{
	char command[100];

	snprintf(command, sizeof(command),
		 "[ $(ip -o link show | grep -c 't[0-9]@.*state UP') = %d ]", n_rails);
	return wait_for(command);
}

/* Interfaces t0.. in both namespaces, 10.9.R.1/24 and 10.9.R.2/24. False: cannot run here. */
static UNUSED bool net_make(struct net *net, int n_rails, int mtu)
{
	*net = (struct net){own_ns(), {-1, -1}};
	for (int i = 0; i < 2; i++) {
		if (unshare(CLONE_NEWNET))
			return false;
		net->ns[i] = own_ns();
		if (sh("ip link set lo up"))
			return false;
	}
	for (int r = 0; r < n_rails; r++) {
		if (sh("ip link add t%d mtu %d type veth peer name t%d mtu %d netns /proc/%d/fd/%d "
		       "&& "
		       "ip addr add 10.9.%d.2/24 dev t%d && ip link set t%d up",
		       r, mtu, r, mtu, getpid(), net->ns[0], r, r, r))
			return false;
	}
	enter(net, 0);
	for (int r = 0; r < n_rails; r++)
		if (sh("ip addr add 10.9.%d.1/24 dev t%d && ip link set t%d up", r, r, r))
			return false;
	if (!wait_carrier(n_rails))
		return false;
	enter(net, 1);
	if (!wait_carrier(n_rails))
		return false;
	enter(net, -1);
	return true;
}

static UNUSED void net_drop(struct net *net)
{
	enter(net, -1);
	for (int i = 0; i < 2; i++)
		if (net->ns[i] >= 0)
			close(net->ns[i]);
	if (net->home >= 0)
		close(net->home);
}

static UNUSED int side_open(struct pair *p, int i, const char *options)
{
	struct side *s = &p->side[i];
	int err;

	conf_defaults(&s->conf);
	s->conf.send_buffers = 256;
	if (options[0] && conf_parse(&s->conf, options, s->why, sizeof(s->why)))
		return -EINVAL;
	s->env = (struct pm_device_env){
		.conf = &s->conf,
		.stats = &s->link,
		.rails = s->rails,
		.self = (uint32_t)i + 1,
		.why = s->why,
		.why_size = sizeof(s->why),
	};
	enter(&p->net, i);
	err = pm_udp_ops.open(&s->env, NULL, &s->dev);
	enter(&p->net, -1);
	if (err)
		tap_diag("open: %s", s->why);
	return err;
}

static UNUSED int side_meet(struct pair *p, int i)
{
	char address[PM_RAILS_MAX * 8 + 12];
	struct pm_dev *other = p->side[!i].dev;
	int len = other->ops->address(other, address, sizeof(address)), err;

	if (len < 0)
		return len;
	enter(&p->net, i);
	err = p->side[i].dev->ops->peer_add(p->side[i].dev, (uint32_t)!i + 1, address, (size_t)len,
					    &p->side[i].peer, &p->side[i].mask);
	enter(&p->net, -1);
	return err;
}

static UNUSED void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		if (p->side[i].dev)
			p->side[i].dev->ops->close(p->side[i].dev);
	net_drop(&p->net);
}

static UNUSED bool pair_open_loopback(struct pair *p, const char *options)
{
	char text[200];

	*p = (struct pair){.net = {-1, {-1, -1}}};
	snprintf(text, sizeof(text), "udp.rails=lo%s%s", options[0] ? "," : "", options);
	return is_int(side_open(p, 0, text), 0) && is_int(side_open(p, 1, text), 0) &&
	       is_int(side_meet(p, 0), 0) && is_int(side_meet(p, 1), 0);
}

/* Over veth; skips the test without root. */
static UNUSED bool pair_open_veth(struct pair *p, int n_rails, int mtu, const char *options)
{
	*p = (struct pair){.net = {-1, {-1, -1}}};
	if (geteuid() || !net_make(&p->net, n_rails, mtu)) {
		net_drop(&p->net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return false;
	}
	if (is_int(side_open(p, 0, options), 0) && is_int(side_open(p, 1, options), 0) &&
	    is_int(side_meet(p, 0), 0) && is_int(side_meet(p, 1), 0))
		return true;
	pair_close(p);
	return false;
}

/* Byte @at of packet @seq. */
static inline uint8_t pattern(uint32_t seq, uint32_t at)
{
	return (uint8_t)(seq * 31 + at * 7 + (at >> 8));
}

/* Packet @seq of @len >= 4 bytes on a rail. -EAGAIN. */
static UNUSED int post(struct side *s, uint32_t rail, uint32_t seq, uint32_t len)
{
	struct pm_packet *k = s->dev->ops->tx_alloc(s->dev);
	int err;

	if (!k)
		return -ENOBUFS;
	for (uint32_t i = 4; i < len; i++)
		k->data[i] = pattern(seq, i);
	memcpy(k->data, &seq, 4);
	k->len = len;
	err = s->dev->ops->tx_post(s->dev, rail, s->peer, k);
	s->dev->ops->tx_free(s->dev, k);
	return err;
}

/*
 * A packet of @len bytes may hold so many that are no data: up to a multiple of 8, or to the length
 * of those before it.
 */
static uint32_t pad_most(uint32_t len)
{
	uint32_t alike = len / 16 < 64 ? len / 16 : 64;

	return alike > 7 ? alike : 7;
}

/*
 * Checks the bytes of a received packet, of which @len are data and the rest is padding; gives its
 * number.
 */
static UNUSED bool check_packet(const struct pm_rx *rx, uint32_t len, uint32_t *ret_seq)
{
	memcpy(ret_seq, rx->data, 4);
	if (!okf(!((uintptr_t)rx->data & 7), "data of packet %u is not aligned", *ret_seq) ||
	    !okf(rx->len >= len && rx->len - len <= pad_most(rx->len),
		 "packet %u: %u bytes, sent %u", *ret_seq, rx->len, len))
		return false;
	for (uint32_t i = 4; i < len; i++)
		if (rx->data[i] != pattern(*ret_seq, i))
			return okf(false, "packet %u of %u bytes: byte %u is wrong", *ret_seq, len,
				   i);
	return true;
}

/* One burst within @ms; the number received. */
static UNUSED int burst(struct side *s, struct pm_rx *rx, int n, int ms)
{
	uint64_t until = clock_monotonic_ns() + (uint64_t)ms * 1000000;
	int got;

	do {
		got = s->dev->ops->rx_burst(s->dev, rx, n);
	} while (!got && clock_monotonic_ns() < until);
	return got;
}

/* Polls the device's descriptor; true when readable within @ms. */
static UNUSED bool is_readable(struct side *s, int ms)
{
	struct pollfd fd = {.events = POLLIN};

	return s->dev->ops->poll_fds(s->dev, &fd.fd, 1) == 1 && poll(&fd, 1, ms) == 1;
}

/* Open descriptors of the process. */
static UNUSED int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
