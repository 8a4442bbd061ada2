// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of query: the golden frames are packed and decoded, each rule of eth_query_decode is broken
 * once.
 */
#include "pm-ethernet/query.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define TYPE htons(ETH_TYPE_DEFAULT)
#define BODY(field) (ETH_HEAD + offsetof(struct eth_query_body, field))
#define HEAD(field) offsetof(struct eth_frame, field)

static struct eth_query common(enum eth_kind kind)
{
	return (struct eth_query){.kind = (uint8_t)kind,
				  .dst_mac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
				  .src_mac = {0x02, 0, 0, 0, 0x01, 0x07},
				  .dst_host = ETH_QUERY_ANYONE,
				  .src_host = 7,
				  .nonce = 0x1122334455667788ull,
				  .stamp = 0x0102030405060708ull,
				  .mtu = 9000,
				  .rail = 1,
				  .n_rails = 2,
				  .rail_name = "eth2",
				  .host_name = "node7"};
}

static struct eth_query answer(void)
{
	struct eth_query query = common(ETH_ANSWER);

	memcpy(query.dst_mac, (uint8_t[]){0x02, 0, 0, 0, 0x01, 0x03}, ETH_MAC);
	query.dst_host = 3;
	return query;
}

static size_t load_golden(const char *name, uint8_t *ret, size_t room)
{
	char path[128], line[256], *at, *end;
	size_t len = 0;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/eth/%s.hex", name);
	file = fopen(path, "r");
	if (!okf(file != NULL, "can't open %s: run this from the top of the tree", path))
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		for (at = line; len < room; at = end) {
			unsigned long byte = strtoul(at, &end, 16);

			if (end == at)
				break;
			ret[len++] = (uint8_t)byte;
		}
	}
	fclose(file);
	return len;
}

static void is_same(const struct eth_query *got, const struct eth_query *want)
{
	uint8_t frame[ETH_QUERY_BYTES], again[ETH_QUERY_BYTES];

	eth_query_put(frame, want, TYPE);
	eth_query_put(again, got, TYPE);
	is_mem(again, frame, sizeof(frame));
}

static void check_golden(const char *name, const struct eth_query *query)
{
	uint8_t golden[2 * ETH_QUERY_BYTES], packed[ETH_QUERY_BYTES];
	struct eth_query got;

	eth_query_put(packed, query, TYPE);
	must(is_int(load_golden(name, golden, sizeof(golden)), ETH_QUERY_BYTES));
	is_mem(packed, golden, sizeof(packed));
	must(is_int(eth_query_decode(golden, ETH_QUERY_BYTES, TYPE, &got), ETH_DROP_NONE));
	is_same(&got, query);
}

TAP_TEST(eth_query_put__golden_query)
{
	struct eth_query query = common(ETH_QUERY);

	check_golden("query", &query);
}

TAP_TEST(eth_query_put__golden_answer)
{
	struct eth_query query = answer();

	check_golden("answer", &query);
}

TAP_TEST(eth_query_put__names_made_plain)
{
	struct eth_query query = common(ETH_QUERY), got;
	uint8_t frame[ETH_QUERY_BYTES];

	memset(query.host_name, 0, sizeof(query.host_name));
	strcpy(query.rail_name, "a\033b \377");
	eth_query_put(frame, &query, TYPE);
	must(is_int(eth_query_decode(frame, sizeof(frame), TYPE, &got), ETH_DROP_NONE));
	is_str(got.host_name, "?");
	is_str(got.rail_name, "a?b??");
}

TAP_TEST(eth_query_decode__longest_names)
{
	struct eth_query query = common(ETH_QUERY), got;
	uint8_t frame[ETH_QUERY_BYTES];

	memset(query.host_name, 'h', sizeof(query.host_name) - 1);
	memset(query.rail_name, 'r', sizeof(query.rail_name) - 1);
	eth_query_put(frame, &query, TYPE);
	must(is_int(eth_query_decode(frame, sizeof(frame), TYPE, &got), ETH_DROP_NONE));
	is_str(got.host_name, query.host_name);
	is_str(got.rail_name, query.rail_name);
}

TAP_TEST(eth_query_decode__every_short_length)
{
	struct eth_query query = common(ETH_QUERY), got = {.mtu = 1};
	uint8_t frame[ETH_QUERY_BYTES];
	size_t len;

	eth_query_put(frame, &query, TYPE);
	for (len = 0; len < sizeof(frame); len++)
		is_int(eth_query_decode(frame, len, TYPE, &got), ETH_DROP_SHORT);
	is_int(got.mtu, 1);
}

TAP_TEST(eth_query_decode__padding_behind)
{
	struct eth_query query = answer(), got;
	uint8_t frame[ETH_QUERY_BYTES + 20] = {0};

	eth_query_put(frame, &query, TYPE);
	memset(frame + ETH_QUERY_BYTES, 0xaa, 20);
	must(is_int(eth_query_decode(frame, sizeof(frame), TYPE, &got), ETH_DROP_NONE));
	is_same(&got, &query);
}

/* One byte range set to a value, and what that is refused for. */
TAP_TEST(eth_query_decode__broken_once)
{
	static const struct {
		size_t at, len;
		uint8_t value;
		enum eth_drop want;
	} breaks[] = {
		{HEAD(type), 1, 0x08, ETH_DROP_TYPE},
		{HEAD(version), 1, ETH_VERSION + 1, ETH_DROP_VERSION},
		{HEAD(kind), 1, ETH_PACKET, ETH_DROP_KIND},
		{HEAD(kind), 1, 0, ETH_DROP_KIND},
		{HEAD(src_host), 4, 0xff, ETH_DROP_HOST},
		{HEAD(dst_host), 4, 0xff, ETH_DROP_HOST},
		{HEAD(src_mac), 1, 0x01, ETH_DROP_SOURCE},
		{HEAD(src_mac), 6, 0, ETH_DROP_SOURCE},
		{HEAD(rail), 1, 2, ETH_DROP_RAIL},
		{HEAD(rail), 1, 255, ETH_DROP_RAIL},
		{BODY(n_rails), 1, ETH_RAILS + 1, ETH_DROP_RAIL},
		{BODY(n_rails), 1, 0, ETH_DROP_RAIL},
		{BODY(mtu), 4, 0, ETH_DROP_LENGTH},
		{BODY(mtu), 4, 0xff, ETH_DROP_LENGTH},
		{BODY(rail_name), ETH_QUERY_RAIL_NAME, 'r', ETH_DROP_LENGTH},
		{BODY(rail_name), 1, 0, ETH_DROP_LENGTH},
		{BODY(host_name), ETH_QUERY_HOST_NAME, 'h', ETH_DROP_LENGTH},
		{BODY(host_name), 1, 0x1b, ETH_DROP_LENGTH},
		{BODY(host_name), 1, 0x80, ETH_DROP_LENGTH},
	};
	struct eth_query query = answer(), got = {.mtu = 1};
	uint8_t frame[ETH_QUERY_BYTES];
	size_t i;

	for (i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		eth_query_put(frame, &query, TYPE);
		memset(frame + breaks[i].at, breaks[i].value, breaks[i].len);
		okf(eth_query_decode(frame, sizeof(frame), TYPE, &got) == breaks[i].want,
		    "break %zu: want %d", i, breaks[i].want);
	}
	is_int(got.mtu, 1);
}
