// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/tx.c: every size and mix arrives, rails stay in order, a full rail says so. */
#include "pm-udp/device.h"

#include "tests/unit/pm-udp/pair.h"

/* Sends packets of the given lengths in groups of up to @group, checks them and their order. */
static void exchange(struct pair *p, const uint32_t *lens, uint32_t n, uint32_t group)
{
	struct side *from = &p->side[0], *to = &p->side[1];
	uint32_t sent = 0, got = 0, seq;
	struct pm_rx rx[64];

	while (got < n && !tap_has_failed()) {
		int r;

		for (uint32_t i = 0; i < group && sent < n; i++, sent++)
			is_int(post(from, 0, sent, lens[sent]), 0);
		from->dev->ops->tx_kick(from->dev);
		while (got < sent) {
			r = burst(to, rx, 64, 2000);
			if (!okf(r > 0, "packet %u of %u did not come", got, n))
				return;
			for (int i = 0; i < r; i++) {
				if (check_packet(&rx[i], lens[got], &seq))
					is_int(seq, got);
				got++;
				to->dev->ops->rx_return(to->dev, rx[i].token);
			}
		}
	}
}

/*
 * Packets of which the second half lies elsewhere arrive as those in one piece: alone and in a run,
 * odd ones too.
 */
static void in_two_parts(struct pair *p, uint32_t n, uint32_t len)
{
	struct side *from = &p->side[0], *to = &p->side[1];
	uint8_t *elsewhere = malloc((size_t)n * len);
	struct pm_packet *packets[64];
	uint32_t got = 0, seq;
	struct pm_rx rx[64];

	for (uint32_t i = 0; i < n; i++) {
		struct pm_packet *k = packets[i] = from->dev->ops->tx_alloc(from->dev);
		uint32_t first = len / 2 & ~7u;

		for (uint32_t at = 4; at < len; at++)
			*(at < first ? &k->data[at] : &elsewhere[i * len + at]) = pattern(i, at);
		memcpy(k->data, &i, 4);
		k->len = first;
		k->more = elsewhere + i * len + first;
		k->more_len = len - first;
		is_int(from->dev->ops->tx_post(from->dev, 0, from->peer, k), 0);
	}
	from->dev->ops->tx_kick(from->dev);
	for (uint32_t i = 0; i < n; i++) {
		packets[i]->more_len = 0;
		from->dev->ops->tx_free(from->dev, packets[i]);
	}
	while (got < n) {
		int r = burst(to, rx, 64, 2000);

		if (!okf(r > 0, "packet %u of %u did not come", got, n))
			break;
		for (int i = 0; i < r; i++) {
			if (check_packet(&rx[i], len, &seq))
				is_int(seq, got);
			got++;
			to->dev->ops->rx_return(to->dev, rx[i].token);
		}
	}
	free(elsewhere);
}

static void all_sizes(struct pair *p)
{
	uint32_t mtu = p->side[0].dev->ops->mtu(p->side[0].dev, p->side[0].peer), n = 0;
	uint32_t *lens = calloc(4000, sizeof(*lens));

	for (uint32_t len = 4; len < 200; len++)
		lens[n++] = len;
	for (uint32_t len = mtu - 40; len <= mtu; len++)
		lens[n++] = len;
	exchange(p, lens, n, 1);
	exchange(p, lens, n, 16);
	/* runs of one length, odd ones too, closed by a shorter and by a longer packet */
	n = 0;
	for (uint32_t len = 61; len < 75; len++) {
		for (int i = 0; i < 70; i++)
			lens[n++] = len;
		lens[n++] = 9;
		lens[n++] = mtu;
	}
	exchange(p, lens, n, 100);
	for (uint32_t i = 0; i < 1000; i++)
		lens[i] = i % 45 == 44 ? mtu - 9 : mtu;
	exchange(p, lens, 1000, 100);
	in_two_parts(p, 1, 333);
	in_two_parts(p, 40, 1024);
	in_two_parts(p, 40, 333);
	free(lens);
}

TAP_TEST(tx_kick__all_sizes_over_loopback)
{
	struct pair p;

	if (pair_open_loopback(&p, ""))
		all_sizes(&p);
	pair_close(&p);
}

TAP_TEST(tx_kick__all_sizes_over_loopback_without_offload)
{
	struct pair p;

	if (pair_open_loopback(&p, "udp.gso=0"))
		all_sizes(&p);
	pair_close(&p);
}

TAP_TEST(tx_kick__all_sizes_over_veth)
{
	struct pair p;

	if (!pair_open_veth(&p, 1, 1500, ""))
		return;
	is_int(p.side[0].dev->ops->mtu(p.side[0].dev, p.side[0].peer), 1472);
	all_sizes(&p);
	/* the channel counts what it hands over and takes: once is enough */
	is_int(p.side[0].rails[0].tx_packets + p.side[0].rails[0].tx_bytes, 0);
	is_int(p.side[1].rails[0].rx_packets + p.side[1].rails[0].rx_bytes, 0);
	pair_close(&p);
}

TAP_TEST(tx_kick__all_sizes_over_veth_without_offload)
{
	struct pair p;

	if (!pair_open_veth(&p, 1, 9000, "udp.gso=0"))
		return;
	all_sizes(&p);
	pair_close(&p);
}

TAP_TEST(tx_kick__one_side_without_offload)
{
	struct pair p = {.net = {-1, {-1, -1}}};

	if (is_int(side_open(&p, 0, "udp.rails=lo"), 0) &&
	    is_int(side_open(&p, 1, "udp.rails=lo,udp.gso=0"), 0) && is_int(side_meet(&p, 0), 0))
		all_sizes(&p);
	pair_close(&p);
}

TAP_TEST(tx_kick__route_that_refuses_segments)
{
	struct pmu_dev *d;
	struct pair p;

	if (!pair_open_veth(&p, 1, 1500, ""))
		return;
	d = pmu_of(p.side[0].dev);
	must(d->rails[0].has_gso);
	/*
	 * the interface takes less than it did: a segment no longer fits, single small packets do
	 */
	enter(&p.net, 0);
	is_int(sh("ip link set t0 mtu 600"), 0);
	enter(&p.net, -1);
	for (uint32_t i = 0; i < 8; i++)
		is_int(post(&p.side[0], 0, 3 * i, 1400), 0);
	p.side[0].dev->ops->tx_kick(p.side[0].dev);
	ok(!d->rails[0].has_gso);
	is_int(d->rails[0].lost, 8);
	ok(strstr(d->trouble, "t0"));
	exchange(&p, (uint32_t[]){500, 500, 500, 500, 20}, 5, 5);
	pair_close(&p);
}

TAP_TEST(tx_kick__several_rails_keep_their_order)
{
	struct pair p;
	uint32_t next[4] = {0}, got = 0, seq;
	struct pm_rx rx[64];

	if (!pair_open_veth(&p, 4, 1500, ""))
		return;
	is_int(p.side[0].mask, 15);
	for (uint32_t i = 0; i < 400; i++) {
		is_int(post(&p.side[0], i % 4, i, 100 + i), 0);
		if (i % 16 == 15)
			p.side[0].dev->ops->tx_kick(p.side[0].dev);
	}
	while (got < 400) {
		int r = burst(&p.side[1], rx, 64, 2000);

		if (!okf(r > 0, "packet %u did not come", got))
			break;
		for (int i = 0; i < r; i++, got++) {
			memcpy(&seq, rx[i].data, 4);
			check_packet(&rx[i], 100 + seq, &seq);
			is_int(rx[i].rail, seq % 4);
			is_int(seq / 4, next[seq % 4]++);
			p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
		}
	}
	for (int r = 0; r < 4; r++) {
		char name[] = {'t', (char)('0' + r), 0};

		is_str(p.side[0].rails[r].name, name);
	}
	pair_close(&p);
}

/* Packets of 1400 bytes, three of each number, until the rail takes no more. */
static bool fill_rail(struct side *s, uint32_t *sent)
{
	bool refused = false;

	while (!refused && *sent < 5000) {
		for (int i = 0; i < 20 && !refused; i++, *sent += !refused)
			refused = post(s, 0, *sent - *sent % 3, 1400) == -EAGAIN;
		s->dev->ops->tx_kick(s->dev);
	}
	return refused;
}

TAP_TEST(tx_post__full_rail)
{
	struct pair p;
	struct side *a = &p.side[0];
	struct pm_rx rx[64];
	uint32_t sent = 0, got = 0, seq;
	int armed = 0;
	bool is_asleep;

	if (!pair_open_veth(&p, 2, 1500, "udp.gso=0"))
		return;
	enter(&p.net, 0);
	is_int(sh("tc qdisc add dev t0 root tbf rate 16mbit burst 4000 limit 4m"), 0);
	enter(&p.net, -1);
	ok(fill_rail(a, &sent) && sent > 20 && sent < 2000);
	is_int(a->rails[0].full, 1);
	/* the other rail goes on */
	is_int(post(a, 1, 1 << 20, 100), 0);
	a->dev->ops->tx_kick(a->dev);
	/* asleep: room on the rail wakes, and all that was taken arrives in order */
	while (got < sent && !tap_has_failed()) {
		int r = p.side[1].dev->ops->rx_burst(p.side[1].dev, rx, 64);

		for (int i = 0; i < r;
		     i++, p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i - 1].token)) {
			memcpy(&seq, rx[i].data, 4);
			if (seq == 1 << 20)
				continue;
			is_int(seq, got - got % 3);
			got++;
		}
		/* the link has taken all before we came to sleep: once more */
		if (!armed && !pmu_of(a->dev)->tx_waiting)
			ok(fill_rail(a, &sent));
		is_asleep = pmu_of(a->dev)->tx_waiting && !a->dev->ops->arm(a->dev);
		if (is_asleep && pmu_of(a->dev)->tx_waiting) {
			armed++;
			ok(is_readable(a, 1000));
		}
		if (is_asleep)
			a->dev->ops->disarm(a->dev);
		a->dev->ops->tx_kick(a->dev);
	}
	ok(armed > 0);
	is_int(post(a, 0, 3, 100), 0);
	is_int(pmu_of(a->dev)->rails[0].lost, 0);
	pair_close(&p);
}

TAP_TEST(tx_alloc__pool_is_bounded_and_busy_packets_return)
{
	struct pair p;
	struct side *a = &p.side[0];
	struct pm_packet *held[300];
	int n = 0;

	if (!pair_open_loopback(&p, "channel.send_buffers=64")) {
		pair_close(&p);
		return;
	}
	while (n < 300 && (held[n] = a->dev->ops->tx_alloc(a->dev))) {
		ok(!((uintptr_t)held[n]->data & 7) && held[n]->room >= PMU_LOOPBACK_PAYLOAD);
		n++;
	}
	is_int(n, a->dev->tx_buffers);
	for (int i = 0; i < n; i++) {
		held[i]->len = 8;
		is_int(a->dev->ops->tx_post(a->dev, 0, a->peer, held[i]), 0);
		is_int(held[i]->busy, 1);
		a->dev->ops->tx_free(a->dev, held[i]);
	}
	ok(!a->dev->ops->tx_alloc(a->dev));
	a->dev->ops->tx_kick(a->dev);
	for (int i = 0; i < n; i++)
		ok(a->dev->ops->tx_alloc(a->dev) != NULL);
	pair_close(&p);
}

TAP_TEST(tx_post__ring_full_until_kicked)
{
	struct pair p;
	struct side *a = &p.side[0];
	int n = 0;

	if (!pair_open_loopback(&p, "channel.send_buffers=1024")) {
		pair_close(&p);
		return;
	}
	while (n < 1000 && !post(a, 0, 0, 64))
		n++;
	is_int(n, PMU_RING);
	a->dev->ops->tx_kick(a->dev);
	is_int(post(a, 0, 0, 64), 0);
	pair_close(&p);
}

TAP_TEST(tx_post_run__as_much_as_the_ring_takes)
{
	struct pm_packet *run[8];
	struct pm_rx rx[64];
	struct pair p;
	struct side *a = &p.side[0];
	uint32_t seq;
	int n = 0;

	if (!pair_open_loopback(&p, "channel.send_buffers=1024")) {
		pair_close(&p);
		return;
	}
	for (uint32_t i = 0; i < 8; i++) {
		run[i] = a->dev->ops->tx_alloc(a->dev);
		memset(run[i]->data, 0, 64);
		memcpy(run[i]->data, &i, sizeof(i));
		run[i]->len = 64;
	}
	is_int(a->dev->ops->tx_post_run(a->dev, 0, a->peer, run, 8), 8);
	a->dev->ops->tx_kick(a->dev);
	while (n < 8 && !tap_has_failed()) {
		int got = burst(&p.side[1], rx, 8, 1000);

		for (int i = 0; i < got; i++) {
			memcpy(&seq, rx[i].data, 4);
			is_int(seq, n++);
			p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
		}
		must(got > 0);
	}
	for (uint32_t i = 0; i < PMU_RING - 5; i++)
		is_int(post(a, 0, 0, 64), 0);
	is_int(a->dev->ops->tx_post_run(a->dev, 0, a->peer, run, 8), 5);
	is_int(run[4]->busy, 1);
	is_int(run[5]->busy, 0);
	is_int(a->dev->ops->tx_post_run(a->dev, 0, a->peer, run, 8), 0);
	a->dev->ops->tx_kick(a->dev);
	pair_close(&p);
}

/* Packets of nearly one length are one message for the kernel; much shorter ones end it. */
TAP_TEST(tx_kick__pads_join_packets_of_nearly_one_length)
{
	static const uint32_t alike[] = {1000, 999, 1000, 960, 992, 1000, 500},
			      unlike[] = {1000, 900, 1000, 900, 900};
	struct pair p;

	if (pair_open_loopback(&p, "")) {
		const struct pmu_rail *rail = &pmu_of(p.side[0].dev)->rails[0];
		const struct pmu_batch *batch = &pmu_of(p.side[0].dev)->batch;

		exchange(&p, alike, 7, 7);
		is_int(rail->calls, 1);
		is_int(batch->packets[0], 7);
		exchange(&p, unlike, 5, 5);
		is_int(rail->calls, 2);
		is_int(batch->packets[0], 2);
		is_int(batch->packets[1], 2);
		is_int(batch->packets[2], 1);
	}
	pair_close(&p);
}

TAP_TEST(peer_del__drops_what_waits_for_it)
{
	struct pair p;
	struct side *a = &p.side[0];
	struct pm_rx rx[8];
	int n = 0;

	if (!pair_open_loopback(&p, "channel.send_buffers=64")) {
		pair_close(&p);
		return;
	}
	for (uint32_t i = 0; i < 10; i++)
		is_int(post(a, 0, 3 * i, 64), 0);
	a->dev->ops->peer_del(a->dev, a->peer);
	a->dev->ops->tx_kick(a->dev);
	is_int(burst(&p.side[1], rx, 8, 20), 0);
	while (a->dev->ops->tx_alloc(a->dev))
		n++;
	is_int(n, a->dev->tx_buffers);
	pair_close(&p);
}

TAP_TEST(tx_kick__two_interfaces_in_one_subnet)
{
	struct pair p = {.net = {-1, {-1, -1}}};
	struct pm_rx rx[8];
	uint32_t got = 0;

	if (geteuid() || !net_make(&p.net, 2, 1500)) {
		net_drop(&p.net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return;
	}
	for (int i = 0; i < 2; i++) {
		enter(&p.net, i);
		is_int(sh("ip addr flush dev t1; ip addr add 10.9.0.1%d/24 dev t1", i), 0);
	}
	enter(&p.net, -1);
	if (!is_int(side_open(&p, 0, ""), 0) || !is_int(side_open(&p, 1, ""), 0) ||
	    !is_int(side_meet(&p, 0), 0))
		goto close;
	is_int(p.side[0].mask, 3);
	/* what the second rail sends has to leave by the second interface */
	enter(&p.net, 0);
	for (uint32_t i = 0; i < 8; i++) {
		is_int(post(&p.side[0], 1, 3 * i, 200), 0);
		p.side[0].dev->ops->tx_kick(p.side[0].dev);
	}
	while (got < 8) {
		int n = burst(&p.side[1], rx, 8, 1000);

		if (!okf(n > 0, "packet %u did not come", got))
			break;
		for (int i = 0; i < n; i++, got++) {
			is_int(rx[i].rail, 1);
			p.side[1].dev->ops->rx_return(p.side[1].dev, rx[i].token);
		}
	}
	is_int(sh("[ $(cat /proc/net/dev | awk '$1 == \"t1:\" { print $10 }') -ge 1600 ]"), 0);
close:
	pair_close(&p);
}

TAP_TEST(tx_kick__peer_on_the_same_host)
{
	struct pair p = {.net = {-1, {-1, -1}}};
	uint32_t node = 0;
	int ms = 0, far;

	if (geteuid() || !net_make(&p.net, 2, 1500)) {
		net_drop(&p.net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return;
	}
	/* the second namespace has to live on, it holds the other ends of the links */
	far = p.net.ns[1];
	p.net.ns[1] = dup(p.net.ns[0]);
	if (is_int(side_open(&p, 0, ""), 0) && is_int(side_open(&p, 1, ""), 0) &&
	    is_int(side_meet(&p, 0), 0) && is_int(side_meet(&p, 1), 0)) {
		is_int(p.side[0].mask, 3);
		all_sizes(&p);
		p.side[1].dev->ops->close(p.side[1].dev);
		p.side[1].dev = NULL;
		for (; ms < 2000 && !p.side[0].dev->ops->peer_event(p.side[0].dev, &node);
		     ms += 2) {
			is_int(post(&p.side[0], 1, 0, 64), 0);
			p.side[0].dev->ops->tx_kick(p.side[0].dev);
			poll(NULL, 0, 2);
		}
		is_int(node, 2);
	}
	pair_close(&p);
	close(far);
}
