// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/show.c and arena.c: what leaves uncopied, and that nobody sees what becomes of
 * its buffers.
 */
#include <sys/resource.h>

#include "pm-udp/device.h"

#include "tests/unit/pm-udp/pair.h"

static void arrive(struct side *s, uint32_t first, uint32_t n, uint32_t len)
{
	struct pm_rx rx[64];
	uint32_t got = 0, seq;

	while (got < n) {
		int r = burst(s, rx, 64, 2000);

		if (!okf(r > 0, "packet %u of %u did not come", got, n))
			return;
		for (int i = 0; i < r; i++, got++) {
			if (check_packet(&rx[i], len, &seq))
				is_int(seq, first + got);
			s->dev->ops->rx_return(s->dev, rx[i].token);
		}
	}
}

/* So many messages in a row that the socket is connected to the peer. */
static void make_connected(struct pair *p)
{
	for (uint32_t i = 0; i < 20; i++) {
		is_int(post(&p->side[0], 0, i, 64), 0);
		p->side[0].dev->ops->tx_kick(p->side[0].dev);
		arrive(&p->side[1], i, 1, 64);
	}
	must(pmu_of(p->side[0].dev)->rails[0].connected);
}

/* Every @each-th packet has @shorter bytes less than fit (0: none has). */
static void post_filled(struct side *s, struct pm_packet **packets, uint32_t first, uint32_t n,
			bool is_past_caches, uint32_t each, uint32_t shorter)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t seq = first + i, len = s->dev->ops->mtu(s->dev, s->peer);
		struct pm_packet *k = packets[i] = s->dev->ops->tx_alloc(s->dev);

		memset(k->data, 0xee, len);
		if (each && seq % each == each - 1)
			len -= shorter;
		for (uint32_t at = 4; at < len; at++)
			k->data[at] = pattern(seq, at);
		memcpy(k->data, &seq, 4);
		k->len = len;
		k->is_kept = true;
		k->is_past_caches = is_past_caches;
		is_int(s->dev->ops->tx_post(s->dev, 0, s->peer, k), 0);
	}
	s->dev->ops->tx_kick(s->dev);
}

/* Full packets @first.. as the channel sends them: kept until they are acked. */
static void post_kept(struct side *s, struct pm_packet **packets, uint32_t first, uint32_t n)
{
	post_filled(s, packets, first, n, false, 0, 0);
}

static void post_past_caches(struct side *s, struct pm_packet **packets, uint32_t first, uint32_t n)
{
	post_filled(s, packets, first, n, true, 0, 0);
}

static bool can_show(const struct pair *p)
{
	if (!p->side[0].dev->can_show)
		tap_skip("this kernel does not send pages without a copy (before Linux 6.5)");
	return p->side[0].dev->can_show;
}

/* A pair whose first side is connected and sends pages uncopied; NULL: not on this machine. */
static struct side *open_showing(struct pair *p)
{
	if (!pair_open_veth(p, 1, 1500, ""))
		return NULL;
	make_connected(p);
	if (can_show(p))
		return &p->side[0];
	pair_close(p);
	return NULL;
}

static void release(struct side *s, struct pm_packet **packets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		packets[i]->is_kept = false;
		s->dev->ops->tx_free(s->dev, packets[i]);
	}
}

TAP_TEST(pmu_show_send__runs_of_kept_packets)
{
	struct pm_packet *packets[128];
	struct pmu_rail *rail;
	struct pair p;
	struct side *a = open_showing(&p);

	if (!a)
		return;
	rail = &pmu_of(a->dev)->rails[0];
	/*
	 * three runs, of which the second goes from one block into the next one; none waits behind
	 * the third
	 */
	post_kept(a, packets, 0, 123);
	is_int(rail->shown, 88);
	arrive(&p.side[1], 0, 123, 1472);
	for (int i = 0; i < 123; i++)
		is_int(packets[i]->is_shown, i < 88);
	release(a, packets, 123);
	is_int(pmu_of(a->dev)->arena.pool.n_held, 0);
	/* a short run is copied, and so is one of packets that nobody keeps */
	post_kept(a, packets, 200, 4);
	is_int(rail->shown, 88);
	arrive(&p.side[1], 200, 4, 1472);
	for (uint32_t i = 0; i < 41; i++)
		is_int(post(a, 0, 300 + i, 1472), 0);
	a->dev->ops->tx_kick(a->dev);
	is_int(rail->shown, 88);
	arrive(&p.side[1], 300, 41, 1472);
	pair_close(&p);
}

/*
 * 44 packets, every @each-th of which is short. So many leave as one segmented message, and without
 * a copy if all do.
 */
static void filled_up(struct pair *p, struct side *a, uint32_t each, uint32_t shorter, uint32_t run)
{
	struct pmu_rail *rail = &pmu_of(a->dev)->rails[0];
	uint32_t len, seq, got = 0;
	struct pm_packet *packets[44];
	struct pm_rx rx[64];

	post_filled(a, packets, 0, 44, true, each, shorter);
	is_int(pmu_of(a->dev)->batch.packets[0], run);
	is_int(rail->shown, run == 44 ? 44 : 0);
	while (got < 44) {
		int r = burst(&p->side[1], rx, 64, 2000);

		must(r > 0);
		for (int i = 0; i < r; i++, got++) {
			len = 1472 - (got % each == each - 1 ? shorter : 0);
			memcpy(&seq, rx[i].data, 4);
			is_int(seq, got);
			ok(rx[i].len >= len);
			for (uint32_t at = 4; at < rx[i].len; at++)
				if (rx[i].data[at] != (at < len ? pattern(seq, at) : 0))
					okf(false, "packet %u: byte %u of %u", seq, at, rx[i].len);
			p->side[1].dev->ops->rx_return(p->side[1].dev, rx[i].token);
		}
	}
	release(a, packets, 44);
}

TAP_TEST(pmu_show_send__short_ends_of_messages_are_filled_up)
{
	struct pair p;
	struct side *a = open_showing(&p);

	if (!a)
		return;
	filled_up(&p, a, 12, 440, 44);
	pair_close(&p);
	/* a sixth of all bytes would be too much */
	a = open_showing(&p);
	filled_up(&p, a, 2, 500, 2);
	pair_close(&p);
}

/*
 * The kernel's copy is the faster one while this core's caches have the bytes, if there is nothing
 * else to be sent.
 */
TAP_TEST(pmu_show_send__a_run_that_is_alone)
{
	struct pm_packet *packets[24], *longer[44], *k;
	struct pmu_rail *rail;
	struct pair p;
	struct side *a = open_showing(&p);

	if (!a)
		return;
	rail = &pmu_of(a->dev)->rails[0];
	post_kept(a, packets, 0, 24);
	is_int(rail->shown, 0);
	arrive(&p.side[1], 0, 24, 1472);
	release(a, packets, 24);
	post_kept(a, longer, 48, 44);
	is_int(rail->shown, 0);
	arrive(&p.side[1], 48, 44, 1472);
	release(a, longer, 44);
	/* its bytes are not in the caches */
	k = a->dev->ops->tx_alloc(a->dev);
	ok(!k->is_past_caches);
	k->is_past_caches = true;
	a->dev->ops->tx_free(a->dev, k);
	ok(!k->is_past_caches);
	post_past_caches(a, packets, 100, 24);
	is_int(rail->shown, 24);
	arrive(&p.side[1], 100, 24, 1472);
	release(a, packets, 24);
	pair_close(&p);
}

/*
 * Those of one message, or of the one before if the peer computes: they are no stream, unless there
 * are too many.
 */
TAP_TEST(pmu_show_send__runs_that_are_not_acked_yet)
{
	struct pm_packet *packets[6][24], *stream[48];
	struct pmu_rail *rail;
	struct pair p;
	struct side *a = open_showing(&p);

	if (!a)
		return;
	rail = &pmu_of(a->dev)->rails[0];
	for (uint32_t i = 0; i < 6; i++) {
		post_kept(a, packets[i], 24 * i, 24);
		is_int(rail->shown, i < 4 ? 0 : 24 * (i - 3));
		arrive(&p.side[1], 24 * i, 24, 1472);
	}
	for (uint32_t i = 0; i < 6; i++)
		release(a, packets[i], 24);
	/* a run behind which others wait */
	post_kept(a, stream, 200, 48);
	is_int(rail->shown, 48 + 44);
	arrive(&p.side[1], 200, 48, 1472);
	release(a, stream, 48);
	pair_close(&p);
}

/*
 * Lost as far as the sender knows, but still to be read: what becomes of the buffers must not show
 * there.
 */
TAP_TEST(pmu_show_send__freed_before_they_are_read)
{
	struct pm_packet *packets[41], *k;
	struct side *a;
	struct pair p;

	if (!pair_open_veth(&p, 1, 1500, ""))
		return;
	a = &p.side[0];
	make_connected(&p);
	if (can_show(&p)) {
		post_past_caches(a, packets, 0, 41);
		is_int(pmu_of(a->dev)->rails[0].shown, 41);
		for (int i = 0; i < 41; i++)
			a->dev->ops->tx_free(a->dev, packets[i]);
		while ((k = a->dev->ops->tx_alloc(a->dev)))
			memset(k->data, 0xee, k->room);
		arrive(&p.side[1], 0, 41, 1472);
	}
	pair_close(&p);
}

/* A send buffer that is full stops the rail, and not the process. */
TAP_TEST(pmu_show_send__full_rail)
{
	struct pm_packet *packets[41];
	struct pmu_rail *rail;
	uint64_t began;
	struct side *a;
	struct pair p;
	int n = 0;

	if (!pair_open_veth(&p, 1, 1500, "channel.send_buffers=1024"))
		return;
	a = &p.side[0];
	rail = &pmu_of(a->dev)->rails[0];
	make_connected(&p);
	if (can_show(&p)) {
		enter(&p.net, 0);
		is_int(sh("tc qdisc add dev t0 root tbf rate 8mbit burst 70000 limit 4m"), 0);
		enter(&p.net, -1);
		began = clock_monotonic_ns();
		while (n < 20 && !rail->is_blocked) {
			post_kept(a, packets, (uint32_t)n * 41, 41);
			n++;
		}
		/* 60 KB take 60 ms on this rail */
		ok(rail->is_blocked);
		ok(rail->shown > 0 && rail->shown < (uint64_t)n * 41);
		ok(clock_monotonic_ns() - began < 50000000);
	}
	pair_close(&p);
}

TAP_TEST(pmu_show_send__other_sizes_of_packets)
{
	struct pm_packet *packets[64];
	struct side *a;
	struct pair p;

	if (!pair_open_veth(&p, 1, 9000, "channel.send_buffers=192"))
		return;
	a = &p.side[0];
	make_connected(&p);
	if (can_show(&p)) {
		for (uint32_t first = 0; first < 640; first += 64) {
			post_kept(a, packets, first, 64);
			arrive(&p.side[1], first, 64, 8968);
			for (int i = 0; i < 64; i++) {
				packets[i]->is_kept = false;
				a->dev->ops->tx_free(a->dev, packets[i]);
			}
		}
		ok(pmu_of(a->dev)->rails[0].shown > 400);
	}
	pair_close(&p);
}

/*
 * A file larger than ulimit -f allows would end the process: the buffers lie in private memory
 * then.
 */
TAP_TEST(pmu_arena_open__limit_on_files)
{
	struct rlimit before, limit = {.rlim_cur = 4096};
	struct pm_packet *packets[41];
	struct pair p;

	is_int(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit.rlim_max = before.rlim_max;
	is_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
	if (pair_open_loopback(&p, "")) {
		ok(!p.side[0].dev->can_show);
		is_int(pmu_of(p.side[0].dev)->arena.fd, -1);
		make_connected(&p);
		post_kept(&p.side[0], packets, 100, 41);
		arrive(&p.side[1], 100, 41, p.side[0].dev->ops->mtu(p.side[0].dev, p.side[0].peer));
	}
	pair_close(&p);
	is_int(setrlimit(RLIMIT_FSIZE, &before), 0);
}
