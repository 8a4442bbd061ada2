// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/address.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static struct pmv_end end_of(uint8_t id, uint32_t mtu, enum pmv_protocol protocol)
{
	return (struct pmv_end){
		.gid = {[15] = id}, .qp = 0x100u + id, .mtu = mtu, .protocol = (uint8_t)protocol};
}

static struct pmvd_address with_rails(uint32_t n)
{
	struct pmvd_address a = {.n_rails = n, .liveness_port = 40000};

	for (uint32_t i = 0; i < n; i++)
		a.rails[i] = end_of((uint8_t)(i + 1), 1024, PMV_ROCE_V2);
	return a;
}

TAP_TEST(decode__what_was_encoded)
{
	for (uint32_t n = 1; n <= PM_RAILS_MAX; n++) {
		struct pmvd_address a = with_rails(n), b;
		uint8_t buf[PMVD_ADDRESS_MAX];
		int len = pmvd_address_encode(&a, buf, sizeof(buf));

		is_int(len, 4 + 28 * (int)n);
		is_int(pmvd_address_encode(&a, buf, (size_t)len - 1), -ENOSPC);
		is_int(pmvd_address_decode(buf, (size_t)len, &b), 0);
		ok(!memcmp(&a, &b, sizeof(a)));
	}
}

TAP_TEST(decode__refuses_what_is_damaged)
{
	struct pmvd_address a = with_rails(2), b = {.n_rails = 77};
	uint8_t buf[PMVD_ADDRESS_MAX];
	size_t len = (size_t)pmvd_address_encode(&a, buf, sizeof(buf));

	for (size_t n = 0; n < len; n++)
		is_int(pmvd_address_decode(buf, n, &b), -EINVAL);
	buf[0]++;
	is_int(pmvd_address_decode(buf, len, &b), -EHOSTUNREACH);
	/* packets and probes without the job's key */
	buf[0] = 1;
	is_int(pmvd_address_decode(buf, len, &b), -EHOSTUNREACH);
	buf[0] = PMVD_ADDRESS_VERSION;
	buf[1] = 0;
	is_int(pmvd_address_decode(buf, PMVD_ADDRESS_HEADER, &b), -EINVAL);
	buf[1] = 2;
	/* an MTU of 512 bytes, which connections can live with */
	buf[PMVD_ADDRESS_HEADER + 23] = 2;
	is_int(pmvd_address_decode(buf, len, &b), -EINVAL);
	is_int(b.n_rails, 77);
}

TAP_TEST(ways__rails_of_equal_number)
{
	struct pmvd_address a = with_rails(3), b = with_rails(2);
	uint8_t to[PM_RAILS_MAX] = {9, 9, 9};
	char why[160] = "";

	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 3);
	is_int(to[0], 0);
	is_int(to[1], 1);
	is_int(to[2], 9);
	b.rails[0].mtu = 4096;
	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 2);
	/* closed here */
	a.rails[1].mtu = 0;
	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 5);
	is_int(to[0], 1);
	is_int(to[2], 1);
}

TAP_TEST(ways__missing_rails)
{
	struct pmvd_address a = with_rails(3), b = with_rails(2);
	uint8_t to[PM_RAILS_MAX] = {9, 9, 9};
	char why[160] = "";

	b.rails[1].skipped = 1;
	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 5);
	is_int(to[0], 0);
	is_int(to[2], 1);
	is_int(pmvd_address_ways(&b, &a, to, why, sizeof(why)), 3);
	is_int(to[1], 2);
}

TAP_TEST(ways__crossed_when_no_number_matches)
{
	struct pmvd_address a = {.n_rails = 2}, b = {.n_rails = 2};
	uint8_t to[PM_RAILS_MAX] = {9, 9};
	char why[160] = "";

	a.rails[0] = end_of(1, 1024, PMV_ROCE_V2);
	a.rails[1] = end_of(2, 4096, PMV_ROCE_V2);
	b.rails[0] = end_of(3, 4096, PMV_ROCE_V2);
	b.rails[1] = end_of(4, 1024, PMV_ROCE_V2);
	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 3);
	is_int(to[0], 1);
	is_int(to[1], 0);
}

TAP_TEST(ways__none_says_why)
{
	struct pmvd_address a = with_rails(2), b = with_rails(1);
	uint8_t to[PM_RAILS_MAX];
	char why[160] = "";

	b.rails[0].protocol = PMV_ROCE_V1;
	is_int(pmvd_address_ways(&a, &b, to, why, sizeof(why)), 0);
	ok(strstr(why, "this port speaks RoCE v2 and the other RoCE v1") != NULL);
}
