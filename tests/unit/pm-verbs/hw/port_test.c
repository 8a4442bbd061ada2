// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/port.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static const struct pmv_gid link_local = {{0xfe, 0x80, [15] = 1}, 0, PMV_ROCE_V2};
static const struct pmv_gid v1 = {{0xfe, 0x80, [15] = 1}, 1, PMV_ROCE_V1};
static const struct pmv_gid ipv4 = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1},
				    4,
				    PMV_ROCE_V2};

static char why[512];

static struct pmv_port port_of(const char *device, uint8_t number, bool is_active)
{
	struct pmv_port p = {.number = number, .is_active = is_active, .mtu = 1024};

	strcpy(p.device, device);
	return p;
}

TAP_TEST(pmv_port_gid__best)
{
	struct pmv_port p = port_of("rxe0", 1, true);

	is_int(pmv_port_gid(&p, PMV_GID_AUTO, why, sizeof(why)), -ENXIO);
	ok(strstr(why, "rxe0:1 has no address") != NULL);
	p.gids[p.n_gids++] = v1;
	is_int(pmv_port_gid(&p, PMV_GID_AUTO, why, sizeof(why)), 0);
	p.gids[p.n_gids++] = link_local;
	is_int(pmv_port_gid(&p, PMV_GID_AUTO, why, sizeof(why)), 1);
	p.gids[p.n_gids++] = ipv4;
	is_int(pmv_port_gid(&p, PMV_GID_AUTO, why, sizeof(why)), 2);
	p.gids[p.n_gids++] = ipv4;
	is_int(pmv_port_gid(&p, PMV_GID_AUTO, why, sizeof(why)), 2);
}

TAP_TEST(pmv_port_gid__by_index)
{
	struct pmv_port p = port_of("rxe0", 1, true);

	p.gids[p.n_gids++] = link_local;
	p.gids[p.n_gids++] = ipv4;
	is_int(pmv_port_gid(&p, 4, why, sizeof(why)), 1);
	is_int(pmv_port_gid(&p, 0, why, sizeof(why)), 0);
	is_int(pmv_port_gid(&p, 3, why, sizeof(why)), -ENXIO);
	is_str(why,
	       "verbs.gid=3: port rxe0:1 has no such entry in its table of addresses, it has 0, 4");
}

TAP_TEST(pmv_port_is_named__forms)
{
	struct pmv_port first = port_of("mlx5_1", 1, true), second = port_of("mlx5_1", 2, true);

	ok(pmv_port_is_named(&first, "mlx5_1") && pmv_port_is_named(&first, "mlx5_1:1"));
	ok(!pmv_port_is_named(&second, "mlx5_1") && pmv_port_is_named(&second, "mlx5_1:2"));
	ok(!pmv_port_is_named(&first, "mlx5_1:") && !pmv_port_is_named(&first, "mlx5_1:1x"));
	ok(!pmv_port_is_named(&first, "mlx5_") && !pmv_port_is_named(&first, "mlx5_10"));
}

TAP_TEST(pmv_port_choose__active_ones)
{
	struct pmv_port p[3] = {port_of("a", 1, true), port_of("b", 1, false),
				port_of("b", 2, true)};
	uint32_t got[8];

	is_int(pmv_port_choose(p, 3, NULL, 48, 0, got, 8, why, sizeof(why)), 2);
	ok(got[0] == 0 && got[1] == 2);
	is_int(pmv_port_choose(p, 3, NULL, 48, 0, got, 1, why, sizeof(why)), 1);
	p[0].is_active = p[2].is_active = false;
	is_int(pmv_port_choose(p, 3, NULL, 48, 0, got, 8, why, sizeof(why)), -ENODEV);
	is_str(why, "verbs: no port is active of a:1, b:1, b:2: bring a link up");
	is_int(pmv_port_choose(p, 0, NULL, 48, 0, got, 8, why, sizeof(why)), -ENODEV);
}

TAP_TEST(pmv_port_choose__named_ones_in_their_order)
{
	struct pmv_port p[3] = {port_of("a", 1, true), port_of("b", 1, false),
				port_of("b", 2, true)};
	static const char names[3][48] = {"b:2", "a", "b:1"};
	uint32_t got[8];

	is_int(pmv_port_choose(p, 3, names[0], 48, 2, got, 8, why, sizeof(why)), 2);
	ok(got[0] == 2 && got[1] == 0);
	/* one that is not active is left out, unless it is the only one */
	is_int(pmv_port_choose(p, 3, names[0], 48, 3, got, 8, why, sizeof(why)), 2);
	ok(got[0] == 2 && got[1] == 0);
	is_int(pmv_port_choose(p, 3, names[2], 48, 1, got, 8, why, sizeof(why)), -ENODEV);
	is_str(why, "verbs.devices=b:1: the port is not active: bring its link up");
	is_int(pmv_port_choose(p, 1, names[0], 48, 1, got, 8, why, sizeof(why)), -ENODEV);
	is_str(why, "verbs.devices=b:2: there is no such port here, there are a:1");
}

TAP_TEST(pmv_port_reaches__what_must_be_equal)
{
	struct pmv_end a = {{1, 2, [15] = 3}, 1, 1024, 1, PMV_ROCE_V2, 0}, b = a;

	b.gid[0] = 9;
	is_int(pmv_port_reaches(&a, &b, why, sizeof(why)), 0);
	b.mtu = 4096;
	is_int(pmv_port_reaches(&a, &b, why, sizeof(why)), -EHOSTUNREACH);
	is_str(why, "the MTU is 1024 bytes on this port and 4096 on the other: make them equal");
	b = a;
	b.protocol = PMV_ROCE_V1;
	is_int(pmv_port_reaches(&a, &b, why, sizeof(why)), -EHOSTUNREACH);
	is_str(why, "this port speaks RoCE v2 and the other RoCE v1: choose alike by verbs.gid");
	a.protocol = b.protocol = PMV_INFINIBAND;
	b.gid[15] = 7;
	is_int(pmv_port_reaches(&a, &b, why, sizeof(why)), 0);
	b.gid[7] = 7;
	is_int(pmv_port_reaches(&a, &b, why, sizeof(why)), -EHOSTUNREACH);
	ok(strstr(why, "different subnets") != NULL);
}

TAP_TEST(pmv_port_explain__remedies)
{
	pmv_port_explain_memlock(65536, "rxe0:1: memory", why, sizeof(why));
	ok(strstr(why, "only 64 KiB of memory may be locked (RLIMIT_MEMLOCK)") != NULL);
	ok(strstr(why, "\"* - memlock unlimited\" in /etc/security/limits.d/") != NULL);
	ok(strstr(why, "LimitMEMLOCK=infinity") != NULL);
	pmv_port_explain_memlock(UINT64_MAX, "rxe0:1: memory", why, sizeof(why));
	ok(strstr(why, "not limited") != NULL);
	is_int(pmv_port_explain_open(EACCES, "rxe0", "uverbs0", why, sizeof(why)), -EPERM);
	ok(strstr(why, "no permission for /dev/infiniband/uverbs0") != NULL);
	is_int(pmv_port_explain_open(ENOENT, "rxe0", "uverbs0", why, sizeof(why)), -ENODEV);
	ok(strstr(why, "ib_uverbs") != NULL);
	is_int(pmv_port_explain_open(EAGAIN, "rxe0", "uverbs0", why, sizeof(why)), -ENODEV);
	ok(strstr(why, "rdma.max is the limit") != NULL);
	pmv_port_explain_open(EIO, "rxe0", "uverbs0", why, sizeof(why));
	ok(strstr(why, "Input/output error") != NULL);
}
