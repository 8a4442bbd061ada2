// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/addr.c: rails from interfaces, the published address, pairing. */
#include "pm-udp/addr.h"

#include "tests/unit/pm-udp/pair.h"

static struct pmu_address make(uint64_t host, uint32_t n, const uint32_t *addresses)
{
	struct pmu_address a = {.host = host, .port = 4000, .n_rails = n};

	for (uint32_t r = 0; r < n; r++) {
		a.rails[r].address = addresses[r];
		a.rails[r].payload = 1472;
		a.rails[r].prefix = 24;
		a.rails[r].is_loopback = addresses[r] >> 24 == 127;
	}
	return a;
}

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

TAP_TEST(addr_pack__comes_back_equal)
{
	struct pmu_address a =
		make(0x1122334455667788ull, 2, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1)});
	struct pmu_address b;
	uint8_t buf[PMU_BLOB_MAX];
	int len = pmu_addr_pack(&a, buf, sizeof(buf));

	is_int(len, 12 + 2 * 8);
	must(pmu_addr_unpack(buf, (size_t)len, &b) == 0);
	ok(b.host == a.host && b.port == a.port && b.n_rails == 2);
	for (int r = 0; r < 2; r++)
		ok(b.rails[r].address == a.rails[r].address && b.rails[r].payload == 1472 &&
		   b.rails[r].prefix == 24 && !b.rails[r].is_loopback);
	is_int(pmu_addr_pack(&a, buf, (size_t)len - 1), -ENOSPC);
}

TAP_TEST(addr_unpack__refuses_each_damage)
{
	struct pmu_address a = make(7, 2, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1)}),
			   b = {.n_rails = 99};
	uint8_t buf[PMU_BLOB_MAX], bad[PMU_BLOB_MAX + 8] = {0};
	size_t len = (size_t)pmu_addr_pack(&a, buf, sizeof(buf));
	static const struct {
		int at;
		uint8_t value;
	} damages[] = {
		{0, 2},    {1, 0},    {1, 1},   {1, 3},    {1, 9},  {1, 255},  {15, 0},
		{15, 224}, {15, 255}, {18, 33}, {18, 255}, {19, 2}, {16, 193}, {17, 0},
	};

	for (size_t n = 0; n < len; n++)
		is_int(pmu_addr_unpack(buf, n, &b), -EINVAL);
	memcpy(bad, buf, len);
	is_int(pmu_addr_unpack(bad, len + 1, &b), -EINVAL);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		memcpy(bad, buf, len);
		bad[damages[i].at] = damages[i].value;
		okf(pmu_addr_unpack(bad, len, &b) == -EINVAL, "byte %d = %u was taken",
		    damages[i].at, damages[i].value);
	}
	memcpy(bad, buf, len);
	bad[2] = bad[3] = 0;
	is_int(pmu_addr_unpack(bad, len, &b), -EINVAL);
	is_int(b.n_rails, 99);
}

TAP_TEST(addr_unpack__any_bytes)
{
	uint64_t seed = tap_seed();
	uint32_t taken = 0;

	for (int round = 0; round < 200000; round++) {
		uint8_t buf[PMU_BLOB_MAX];
		struct pmu_address a;
		size_t n = 1 + tap_rand(&seed) % PM_RAILS_MAX, len = 12 + 8 * n;

		for (size_t i = 0; i < len; i++)
			buf[i] = (uint8_t)tap_rand(&seed);
		buf[0] = 1;
		buf[1] = (uint8_t)n;
		if (n < 3) /* else nearly none would be accepted */
			for (size_t r = 0; r < n; r++) {
				buf[12 + 8 * r + 4] &= 0xf8;
				buf[12 + 8 * r + 6] &= 31;
				buf[12 + 8 * r + 7] &= 1;
			}
		if (pmu_addr_unpack(buf, len, &a))
			continue;
		taken++;
		ok(a.port && a.n_rails == n);
		for (size_t r = 0; r < n; r++)
			ok(a.rails[r].prefix <= 32 && a.rails[r].payload <= PMU_PAYLOAD_MAX);
	}
	ok(taken > 100);
}

static void expect(struct pmu_address *local, struct pmu_address *peer, uint32_t mask,
		   const uint32_t *to)
{
	uint32_t got[PM_RAILS_MAX] = {0}, payload = 0, rails;

	rails = pmu_addr_pair(local, peer, false, got, &payload);
	is_int(rails, mask);
	for (uint32_t r = 0; r < PM_RAILS_MAX; r++)
		if (rails >> r & 1)
			is_int(got[r], to[r]);
}

TAP_TEST(addr_pair__by_subnet_in_any_order)
{
	struct pmu_address a =
		make(1, 3, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1), IP(10, 0, 9, 1)});
	struct pmu_address b = make(2, 2, (uint32_t[]){IP(10, 0, 2, 2), IP(10, 0, 1, 2)});

	expect(&a, &b, 3, (uint32_t[]){IP(10, 0, 1, 2), IP(10, 0, 2, 2)});
	expect(&b, &a, 3, (uint32_t[]){IP(10, 0, 2, 1), IP(10, 0, 1, 1)});
}

TAP_TEST(addr_pair__two_interfaces_in_one_subnet)
{
	struct pmu_address a = make(1, 2, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 1, 11)});
	struct pmu_address b = make(2, 2, (uint32_t[]){IP(10, 0, 1, 2), IP(10, 0, 1, 12)});

	expect(&a, &b, 3, (uint32_t[]){IP(10, 0, 1, 2), IP(10, 0, 1, 12)});
}

TAP_TEST(addr_pair__private_bridge_of_both_hosts_is_no_path)
{
	struct pmu_address a = make(1, 2, (uint32_t[]){IP(172, 17, 0, 1), IP(10, 0, 1, 1)});
	struct pmu_address b = make(2, 2, (uint32_t[]){IP(172, 17, 0, 1), IP(10, 0, 1, 2)});

	expect(&a, &b, 2, (uint32_t[]){0, IP(10, 0, 1, 2)});
}

TAP_TEST(addr_pair__same_host_uses_equal_addresses)
{
	struct pmu_address a = make(1, 2, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1)}), b = a;

	b.port++;
	expect(&a, &b, 3, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1)});
}

TAP_TEST(addr_pair__loopback_only_within_a_host)
{
	struct pmu_address a = make(1, 1, (uint32_t[]){IP(127, 0, 0, 1)}), b = a;

	expect(&a, &b, 1, (uint32_t[]){IP(127, 0, 0, 1)});
	b.host = 2;
	expect(&a, &b, 0, NULL);
}

TAP_TEST(addr_pair__packet_size_is_the_smallest_of_all)
{
	struct pmu_address a = make(1, 2, (uint32_t[]){IP(10, 0, 1, 1), IP(10, 0, 2, 1)});
	struct pmu_address b = make(2, 2, (uint32_t[]){IP(10, 0, 1, 2), IP(10, 0, 2, 2)});
	uint32_t to[PM_RAILS_MAX], payload;

	a.rails[0].payload = 8968;
	b.rails[0].payload = 8968;
	b.rails[1].payload = 1400;
	is_int(pmu_addr_pair(&a, &b, false, to, &payload), 3);
	is_int(payload, 1400);
}

TAP_TEST(addr_pair__routed_host_of_another_subnet)
{
	struct pmu_address a, b = make(2, 1, (uint32_t[]){IP(10, 9, 200, 2)});
	struct pair p = {.net = {-1, {-1, -1}}};
	uint32_t to[PM_RAILS_MAX] = {0}, payload = 0;

	if (geteuid() || !net_make(&p.net, 2, 1500)) {
		net_drop(&p.net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return;
	}
	a = make(1, 2, (uint32_t[]){IP(10, 9, 0, 1), IP(10, 9, 1, 1)});
	enter(&p.net, 0);
	is_int(pmu_addr_pair(&a, &b, false, to, &payload), 0);
	is_int(sh("ip route add 10.9.200.0/24 via 10.9.1.2"), 0);
	is_int(pmu_addr_pair(&a, &b, false, to, &payload), 2);
	is_int(to[1], IP(10, 9, 200, 2));
	is_int(payload, 1472);
	net_drop(&p.net);
}

static int rails_of(const char *options, struct pmu_iface rails[PM_RAILS_MAX], char *why,
		    size_t size)
{
	struct conf conf;

	conf_defaults(&conf);
	if (options[0] && conf_parse(&conf, options, why, size))
		return -EINVAL;
	return pmu_addr_rails(&conf, rails, why, size);
}

TAP_TEST(addr_rails__by_name_subnet_and_address)
{
	struct pmu_iface rails[PM_RAILS_MAX];
	char why[400] = "";

	must(rails_of("udp.rails=lo", rails, why, sizeof(why)) == 1);
	is_str(rails[0].name, "lo");
	is_int(rails[0].address, IP(127, 0, 0, 1));
	is_int(rails[0].payload, PMU_LOOPBACK_PAYLOAD);
	must(rails_of("udp.rails=127.0.0.0/8,udp.mtu=1000", rails, why, sizeof(why)) == 1);
	is_int(rails[0].payload, 968);
	must(rails_of("udp.rails=127.0.0.1", rails, why, sizeof(why)) == 1);
}

TAP_TEST(addr_rails__any_address_of_loopback)
{
	struct pmu_iface rails[PM_RAILS_MAX];
	char why[400] = "";

	must(rails_of("udp.rails=127.12.0.3+127.12.0.4", rails, why, sizeof(why)) == 2);
	is_int(rails[0].address, IP(127, 12, 0, 3));
	is_int(rails[1].address, IP(127, 12, 0, 4));
	is_str(rails[1].name, "lo");
	is_int(rails_of("udp.rails=lo+127.0.0.1", rails, why, sizeof(why)), -ENODEV);
	ok(strstr(why, "\"127.0.0.1\" names no (further)"));
}

TAP_TEST(addr_has__all_of_loopback_and_its_own_of_others)
{
	struct pmu_iface lo = {.address = IP(127, 0, 0, 1), .prefix = 8, .is_loopback = true};
	struct pmu_iface eth = {.address = IP(10, 0, 0, 1), .prefix = 24};

	ok(pmu_addr_has(&lo, IP(127, 9, 9, 9)));
	ok(!pmu_addr_has(&lo, IP(128, 0, 0, 1)));
	ok(pmu_addr_has(&eth, IP(10, 0, 0, 1)));
	ok(!pmu_addr_has(&eth, IP(10, 0, 0, 2)));
}

TAP_TEST(addr_rails__unknown_one_is_named_with_what_there_is)
{
	struct pmu_iface rails[PM_RAILS_MAX];
	char why[400] = "";

	is_int(rails_of("udp.rails=lo+nosuch9", rails, why, sizeof(why)), -ENODEV);
	ok(strstr(why, "nosuch9") && strstr(why, "lo (127.0.0.1/8)"));
	is_int(rails_of("udp.rails=203.0.113.0/24", rails, why, sizeof(why)), -ENODEV);
	ok(strstr(why, "203.0.113.0/24"));
}

TAP_TEST(addr_rails__default_choice)
{
	struct pmu_iface rails[PM_RAILS_MAX];
	struct net net = {-1, {-1, -1}};
	char why[400] = "";

	if (geteuid() || !net_make(&net, 3, 9000)) {
		net_drop(&net);
		tap_skip("no network namespaces with veth here (needs root and iproute2)");
		return;
	}
	enter(&net, 0);
	is_int(rails_of("", rails, why, sizeof(why)), 3);
	is_str(rails[2].name, "t2");
	is_int(rails[2].payload, 8968);
	/* a second address of an interface is no rail of its own, unless asked for */
	is_int(sh("ip addr add 10.9.0.77/24 dev t0"), 0);
	is_int(rails_of("", rails, why, sizeof(why)), 3);
	is_int(rails_of("udp.rails=t0+10.9.0.77", rails, why, sizeof(why)), 2);
	is_int(rails[1].address, IP(10, 9, 0, 77));
	is_int(rails_of("udp.rails=10.9.2.0/24+t0", rails, why, sizeof(why)), 2);
	is_str(rails[0].name, "t2");
	/* nothing has a carrier: what may come up, and loopback */
	enter(&net, 1);
	is_int(sh("ip link set t0 down; ip link set t1 down"), 0);
	enter(&net, 0);
	is_int(sh("ip link set t2 down"), 0);
	ok(wait_for("! ip link show up | grep -q 'state UP'"));
	is_int(rails_of("", rails, why, sizeof(why)), 3);
	is_str(rails[0].name, "t0");
	is_str(rails[2].name, "lo");
	is_int(sh("ip link del t0; ip link del t1; ip link del t2"), 0);
	is_int(rails_of("", rails, why, sizeof(why)), 1);
	is_str(rails[0].name, "lo");
	is_int(sh("ip link set lo down; ip addr flush dev lo"), 0);
	is_int(rails_of("", rails, why, sizeof(why)), -ENODEV);
	ok(strstr(why, "no interface is up"));
	net_drop(&net);
}

TAP_TEST(addr_host__differs_between_namespaces_only)
{
	uint64_t here = pmu_addr_host();
	struct net net = {-1, {-1, -1}};

	ok(here == pmu_addr_host());
	if (geteuid() || !net_make(&net, 0, 1500)) {
		net_drop(&net);
		return;
	}
	enter(&net, 0);
	ok(here != pmu_addr_host());
	net_drop(&net);
}
