// SPDX-License-Identifier: BSD-3-Clause
/*
 * route_table - all ways of a full grid with things broken in it, as text, so that other programs
 * that know the routes can be compared with the kernel's function.
 *
 *	route_table DIMS LANES [--lane N] [--dead-host ID] [--dead-nic ID:RAIL]
 *		    [--dead-line RAIL:ID]
 *
 * DIMS as 3x3x2; LANES of all dimensions, or of each as 2,1,1. The sender chooses lane N (default
 * 0). Hosts and rails are numbered as grids.h says; a line is named by its rail and any host on it.
 * One line per ordered pair: "SRC DST: HOST/RAIL HOST/RAIL/LATE DST", the last part only when it is
 * not 0, or "SRC DST: none".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/grids.h"

static int usage(const char *what)
{
	fprintf(stderr,
		"route_table: %s\n"
		"usage: route_table DIMS LANES [--lane N] [--dead-host ID]... "
		"[--dead-nic ID:RAIL]... [--dead-line RAIL:ID]...\n",
		what);
	return 2;
}

/* Numbers with @separator between them. Their count, 0: that is something else. */
static uint32_t numbers(const char *text, char separator, uint32_t ret[ETH_DIMS])
{
	uint32_t n = 0;

	while (n < ETH_DIMS) {
		char *end;

		ret[n++] = (uint32_t)strtoul(text, &end, 10);
		if (end == text || (*end && *end != separator))
			return 0;
		if (!*end)
			return n;
		text = end + 1;
	}
	return 0;
}

static bool open_grid(struct grids *g, const char *dims_text, const char *lanes_text)
{
	uint32_t dims[ETH_DIMS] = {0}, lanes[ETH_DIMS] = {0};
	uint32_t n_dims = numbers(dims_text, 'x', dims), n = numbers(lanes_text, ',', lanes);

	for (uint32_t d = 1; n == 1 && d < n_dims; d++)
		lanes[d] = lanes[0];
	return n && (n == 1 || n == n_dims) && !grids_open(g, n_dims, dims, lanes);
}

static bool is_host(const struct grids *g, uint32_t id)
{
	return id && id <= g->n_hosts;
}

/* Obeys one option; false: it makes no sense. */
static bool obey(struct grids *g, const char *option, const char *value, uint32_t *lane)
{
	uint32_t at[ETH_DIMS] = {0}, n = numbers(value, ':', at);

	if (!strcmp(option, "--lane") && n == 1)
		*lane = at[0];
	else if (!strcmp(option, "--dead-host") && n == 1 && is_host(g, at[0]))
		grids_kill_host(g, at[0]);
	else if (!strcmp(option, "--dead-nic") && n == 2 && is_host(g, at[0]) && at[1] < g->n_rails)
		grids_kill_nic(g, at[0], at[1]);
	else if (!strcmp(option, "--dead-line") && n == 2 && is_host(g, at[1]) &&
		 at[0] < g->n_rails)
		grids_kill_line(g, at[0], at[1]);
	else
		return false;
	return true;
}

static void print_way(const struct grids *g, uint32_t src, uint32_t dst, uint32_t lane)
{
	struct eth_hop hops[ETH_WALK_MAX + 1];
	uint32_t n;

	printf("%u %u:", src, dst);
	if (eth_walk(&g->walk, src, dst, lane, hops, &n)) {
		puts(" none");
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		printf(" %u/%u", hops[i].host, hops[i].rail);
		if (hops[i].late)
			printf("/%u", hops[i].late);
	}
	printf(" %u\n", dst);
}

int main(int argc, char **argv)
{
	struct grids g;
	uint32_t lane = 0;

	if (argc < 3 || argc % 2 == 0 || !open_grid(&g, argv[1], argv[2]))
		return usage(
			"give a shape as 3x3x2, lanes as 2 or 2,1,1, and options with a value");
	for (int i = 3; i < argc; i += 2)
		if (!obey(&g, argv[i], argv[i + 1], &lane)) {
			grids_close(&g);
			return usage(argv[i]);
		}
	for (uint32_t src = 1; src <= g.n_hosts; src++)
		for (uint32_t dst = 1; dst <= g.n_hosts; dst++)
			if (src != dst)
				print_way(&g, src, dst, lane);
	grids_close(&g);
	return fflush(stdout) ? 1 : 0;
}
