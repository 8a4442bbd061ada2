// SPDX-License-Identifier: BSD-3-Clause
/*
 * relay_time - what the kernel program of a NIC takes for a frame, by the kernel's own test run.
 * Prints one JSON object: for each case the median, the least and the most ns of a run over many
 * calls, which take turns.
 *
 *	relay_time [CALLS]		(root)
 *
 *	own		a packet for a context of this host
 *	relayed		for another host, by the one rail of each of three dimensions
 *	relayed_trunk	the same with two rails of each dimension, by the sender's choice
 *	dropped		one that has passed as many relays as it may
 *
 * A call runs on one frame many times, so the next hop has the address of our NIC: what was relayed
 * can be relayed again. Exit status: 0, 1 a run did not do what its case says, 77 it cannot run
 * here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmcore/tools/common/json.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

#define CALLS 40      /* each waits some 20 ms for the kernel to make ready for it */
#define REPEAT 250    /* fewer than a frame may pass relays at most */
#define FIRST_CALLS 2 /* that do not count: caches and branch predictors learn */
#define BODY 8
#define EXIT_CANNOT 77

enum { RAILS = 3, TRUNK = 6 };

struct measured {
	const char *name;
	uint32_t n_rails;
	int verdict;
	struct bed bed;
	struct bed_frame frame;
	uint32_t *ns;
};

static const uint16_t cube[] = {3, 4, 3};
/* In the cube host 7 is at 0,2,0: this one differs from it in y and z. */
enum { IN_Y_AND_Z = BED_HOST - 3 + 2 };

/* A next hop in y on any rail, with the address of the NIC that frames come in by. */
static void make_next_hops(const struct measured *m)
{
	struct eth_neighbour next = {.mac = {2, 0, 0, 0, 0, 0x10}, .is_open = 1};

	for (uint32_t rail = 0; rail < m->n_rails; rail++)
		bed_put(m->bed.neighbours, rail * ETH_LINE_MAX + 1, &next);
}

static bool set_up(struct measured *m, uint32_t dst_host, uint8_t ttl, uint32_t calls)
{
	struct eth_grid grid;

	m->ns = calloc(calls, sizeof(*m->ns));
	if (!m->ns || !bed_open(&m->bed, 0, false))
		return false;
	bed_set_grid(&m->bed, cube, 3, m->n_rails, &grid);
	make_next_hops(m);
	bed_packet_in(&m->frame, BED_DIRECT, BODY);
	m->frame.head.dst_host = dst_host;
	m->frame.head.rail = (uint8_t)(m->n_rails - 1);
	m->frame.head.ttl = ttl;
	m->frame.head.flags = 0;
	memcpy(m->frame.head.dst_mac, (uint8_t[]){2, 0, 0, 0, 0, 0x10}, ETH_MAC);
	return !tap_has_failed();
}

/* One call; what comes out must have been relayed each time, or never. */
static bool call(struct measured *m, uint32_t *ret_ns)
{
	static struct bed_frame out;
	uint8_t ttl = m->frame.head.ttl;

	if (m->frame.head.dst_host != BED_HOST && m->verdict == XDP_REDIRECT)
		ttl -= REPEAT;
	return is_int(bed_time(&m->bed, BED_NIC, &m->frame, REPEAT, &out, ret_ns), m->verdict) &&
	       is_int(out.head.ttl, ttl);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print(struct measured *all, size_t n, uint32_t calls)
{
	struct json json = {.out = stdout};

	json_open(&json, NULL, '{');
	json_count(&json, "calls", calls);
	json_count(&json, "runs_per_call", REPEAT);
	for (size_t i = 0; i < n; i++) {
		qsort(all[i].ns, calls, sizeof(*all[i].ns), compare);
		json_open(&json, all[i].name, '{');
		json_count(&json, "median", all[i].ns[calls / 2]);
		json_count(&json, "min", all[i].ns[0]);
		json_count(&json, "max", all[i].ns[calls - 1]);
		json_close(&json, '}');
	}
	json_close(&json, '}');
	json_end_line(&json);
}

static void measure(struct measured *all, size_t n, uint32_t calls)
{
	uint32_t ns;

	for (uint32_t c = 0; c < FIRST_CALLS + calls && !tap_has_failed(); c++)
		for (size_t i = 0; i < n && call(&all[i], &ns); i++)
			if (c >= FIRST_CALLS)
				all[i].ns[c - FIRST_CALLS] = ns;
}

int main(int argc, char **argv)
{
	static struct measured all[] = {
		{.name = "own", .n_rails = RAILS, .verdict = XDP_REDIRECT},
		{.name = "relayed", .n_rails = RAILS, .verdict = XDP_REDIRECT},
		{.name = "relayed_trunk", .n_rails = TRUNK, .verdict = XDP_REDIRECT},
		{.name = "dropped", .n_rails = RAILS, .verdict = XDP_DROP},
	};
	const size_t n = sizeof(all) / sizeof(all[0]);
	size_t n_open = 0;
	long calls = argc > 1 ? strtol(argv[1], NULL, 10) : CALLS;

	if (argc > 2 || calls < 1) {
		fprintf(stderr, "usage: relay_time [CALLS]\n");
		return 2;
	}
	if (geteuid()) {
		fprintf(stderr, "relay_time: BPF programs are loaded by root only\n");
		return EXIT_CANNOT;
	}
	for (; n_open < n && !tap_has_failed(); n_open++)
		ok(set_up(&all[n_open], n_open ? IN_Y_AND_Z : BED_HOST,
			  all[n_open].verdict == XDP_DROP ? 1 : UINT8_MAX, (uint32_t)calls));
	if (!tap_has_failed())
		measure(all, n, (uint32_t)calls);
	if (!tap_has_failed())
		print(all, n, (uint32_t)calls);
	for (size_t i = 0; i < n_open; i++) {
		bed_close(&all[i].bed);
		free(all[i].ns);
	}
	return tap_has_failed() || fflush(stdout) ? 1 : 0;
}
