// SPDX-License-Identifier: BSD-3-Clause
/* One-sided operations between links on the fake provider. */
#include "pm-verbs/data/rma.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define REGION (5 * 1024 * 1024 + 17)

TAP_TEST(read_write__sizes_and_offsets)
{
	static const uint64_t sizes[] = {
		1, 7, 4096, 65537, PMV_PIECE_BYTES, PMV_PIECE_BYTES + 1, 5000000};
	uint8_t *region = malloc(REGION), *local = malloc(REGION);
	uint64_t rkey;

	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, REGION, &rkey));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t len = sizes[i], offset = (i * 7919) % (REGION - len);

		links_fill(region, REGION, i);
		memset(local, 0, REGION);
		is_int(links_rma(0, 1, false, rkey, offset, local, len), 0);
		ok(!memcmp(local, region + offset, len) && !local[len]);
		memset(region, 0, REGION);
		is_int(links_rma(0, 1, true, rkey, offset, local, len), 0);
		ok(!memcmp(local, region + offset, len) && !region[offset + len]);
	}
	ok(nodes[0].stats.read_bytes == nodes[0].stats.write_bytes);
	/* the region's key was asked for once */
	is_int(nodes[0].peer[1]->n_grants, 1);
	links_close();
	free(region);
	free(local);
}

TAP_TEST(read_write__refused)
{
	uint8_t region[1000], local[1000];
	uint64_t rkey, readonly;

	memset(region, 1, sizeof(region));
	memset(local, 2, sizeof(local));
	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	must(!region_add_readonly(nodes[1].regions, region, sizeof(region), &readonly));
	is_int(links_rma(0, 1, false, rkey + (1ull << 40), 0, local, 10), -EACCES);
	is_int(links_rma(0, 1, false, rkey, 991, local, 10), -EACCES);
	is_int(links_rma(0, 1, false, rkey, ~0ull, local, 10), -EACCES);
	is_int(links_rma(0, 1, true, readonly, 0, local, 10), -EACCES);
	is_int(region[0], 1);
	is_int(links_rma(0, 1, false, readonly, 0, local, 10), 0);
	is_int(local[0], 1);
	is_int(OPS->rma_done(nodes[0].link, 12345), -ENOENT);
	/* none of this costs the connection */
	is_int(nodes[0].peer[1]->epoch, 1);
	links_close();
}

/* The key is told to be gone, so the next use asks again and is refused without harm. */
TAP_TEST(unexport__others_are_told)
{
	uint8_t region[1000], local[1000];
	uint64_t rkey, len;
	void *addr;

	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	must(!region_remove(nodes[1].regions, rkey, &addr, &len));
	OPS->unexport(nodes[1].link, rkey, addr, len);
	links_turn(5);
	is_int(nodes[0].peer[1]->n_grants, 0);
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), -EACCES);
	is_int(nodes[0].peer[1]->epoch, 1);
	links_close();
}

/* An owner out of its mind: its error is neither "not yet" nor "no such operation". */
TAP_TEST(granted__any_error_is_a_refusal)
{
	static const struct {
		uint32_t said;
		int err;
	} cases[] = {{EAGAIN, -EACCES}, {ENOENT, -EACCES}, {1 << 31, -EACCES}, {ENOMEM, -ENOMEM}};
	struct pmv_control control = {.rkey = 7};
	uint8_t local[10];
	uint32_t op;

	fake_begin(1);
	must(links_open(2, NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		must(!OPS->read(nodes[0].link, nodes[0].peer[1], 7, 0, local, sizeof(local), &op));
		control.op = op;
		control.error = cases[i].said;
		pmv_granted(pmv_of(nodes[0].link), nodes[0].peer[1], &control);
		is_int(OPS->rma_done(nodes[0].link, op), cases[i].err);
	}
	links_close();
}

/*
 * Memory that was taken back while a read is on its way: refused by the device; messages go on, in
 * order.
 */
TAP_TEST(unexport__in_mid_transfer)
{
	uint8_t *region = calloc(1, REGION), *local = malloc(REGION);
	uint64_t rkey, len;
	uint32_t op;
	void *addr;
	int err = -EAGAIN;

	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, REGION, &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	fake.is_held = true;
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, REGION, &op));
	for (int i = 0; i < 10; i++)
		must(links_send(0, 1, 100) == 0 && links_send(1, 0, 10) == 0);
	must(!region_remove(nodes[1].regions, rkey, &addr, &len));
	OPS->unexport(nodes[1].link, rkey, addr, len);
	free(region);
	fake.is_held = false;
	fake_run();
	is_int(OPS->rma_done(nodes[0].link, op), -EAGAIN);
	for (int i = 0; i < TURNS && err == -EAGAIN; i++) {
		links_turn(10);
		err = OPS->rma_done(nodes[0].link, op);
	}
	is_int(err, -EACCES);
	is_int(OPS->rma_done(nodes[0].link, op), -ENOENT);
	links_drain();
	is_int(nodes[0].peer[1]->epoch, 2);
	links_close();
	free(local);
}

/* A connection that breaks in the middle: the operation goes on over the next. */
TAP_TEST(read__over_a_broken_connection)
{
	uint8_t *region = malloc(REGION), *local = calloc(1, REGION);
	uint64_t rkey;
	uint32_t op;
	int err = -EAGAIN;

	fake_begin(2);
	must(links_open(2, NULL));
	links_fill(region, REGION, 3);
	must(!region_add(nodes[1].regions, region, REGION, &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, REGION, &op));
	fake.is_held = true;
	links_turn(1);
	fake_break(nodes[0].peer[1]->qp->rail->index);
	fake.is_held = false;
	for (int i = 0; i < TURNS && err == -EAGAIN; i++) {
		links_turn(10);
		err = OPS->rma_done(nodes[0].link, op);
	}
	is_int(err, 0);
	ok(!memcmp(region, local, REGION));
	is_int(nodes[0].peer[1]->epoch, 2);
	links_close();
	free(region);
	free(local);
}

TAP_TEST(read__many_at_once)
{
	static uint8_t region[2][100000], local[2][300][1000];
	uint32_t ops[2][300];
	uint64_t rkey[2];
	int n[2] = {0, 0};

	fake_begin(1);
	must(links_open(2, NULL));
	for (int m = 0; m < 2; m++) {
		links_fill(region[m], sizeof(region[m]), (uint64_t)m);
		must(!region_add(nodes[m].regions, region[m], sizeof(region[m]), &rkey[m]));
	}
	for (int i = 0; i < 300; i++)
		for (int m = 0; m < 2; m++) {
			int err = OPS->read(nodes[m].link, nodes[m].peer[1 - m], rkey[1 - m],
					    (uint64_t)i * 100, local[m][i], 1000, &ops[m][i]);

			n[m] += !err;
			is_int(err, i < PMV_OPS ? 0 : -EAGAIN);
			if (i % 16 == 0)
				while (links_send(m, 1 - m, 300) == -EAGAIN)
					links_turn(1);
		}
	for (int m = 0; m < 2; m++)
		for (int i = 0; i < n[m]; i++) {
			int err = -EAGAIN;

			for (int k = 0; k < TURNS && err == -EAGAIN; k++) {
				err = OPS->rma_done(nodes[m].link, ops[m][i]);
				links_turn(1);
			}
			is_int(err, 0);
			ok(!memcmp(local[m][i], region[1 - m] + (size_t)i * 100, 1000));
		}
	links_drain();
	links_close();
}

/*
 * Each asks for another region, both ways at once: control messages never use up the credits for
 * each other.
 */
TAP_TEST(read__many_regions)
{
	static uint8_t region[2][250][64], local[2][250][64];
	uint32_t ops[2][250];
	uint64_t rkey[2][250];

	fake_begin(1);
	must(links_open(2, "verbs.credit=8"));
	for (int m = 0; m < 2; m++)
		for (int i = 0; i < 250; i++) {
			links_fill(region[m][i], 64, (uint64_t)(m * 250 + i));
			must(!region_add(nodes[m].regions, region[m][i], 64, &rkey[m][i]));
		}
	for (int i = 0; i < 250; i++)
		for (int m = 0; m < 2; m++)
			must(!OPS->read(nodes[m].link, nodes[m].peer[1 - m], rkey[1 - m][i], 0,
					local[m][i], 64, &ops[m][i]));
	for (int m = 0; m < 2; m++)
		for (int i = 0; i < 250; i++) {
			int err = -EAGAIN;

			for (int k = 0; k < 1000 && err == -EAGAIN; k++) {
				err = OPS->rma_done(nodes[m].link, ops[m][i]);
				links_turn(1);
			}
			is_int(err, 0);
			ok(!memcmp(local[m][i], region[1 - m][i], 64));
		}
	links_close();
}

TAP_TEST(read__peer_is_deleted)
{
	static uint8_t region[100000], local[100000];
	uint64_t rkey;
	uint32_t op;

	fake_begin(1);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	is_int(links_rma(0, 1, false, rkey, 0, local, 10), 0);
	fake.is_held = true;
	must(!OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, sizeof(local), &op));
	OPS->peer_del(nodes[0].link, nodes[0].peer[1]);
	fake.is_held = false;
	links_turn(10);
	is_int(OPS->rma_done(nodes[0].link, op), -EPIPE);
	is_int(pmv_of(nodes[0].link)->n_ops, 0);
	links_close();
}
