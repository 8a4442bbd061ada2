/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test support: packet devices of one job on the fake provider, which know each other's addresses.
 */
#ifndef TESTS_UNIT_PM_VERBS_DATAGRAMS_H
#define TESTS_UNIT_PM_VERBS_DATAGRAMS_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pm-verbs/datagram/device.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

#define DATAGRAMS 3

struct datagram_node {
	struct pm_dev *dev;
	struct conf conf;
	struct stats_link stats;
	struct stats_rail rails[PM_RAILS_MAX];
	char why[512];
	uint8_t address[PMVD_ADDRESS_MAX];
	size_t address_len;
	struct pm_dev_peer *peer[DATAGRAMS];
	uint32_t mask[DATAGRAMS]; /* rails that lead there */
};

extern struct datagram_node boxes[DATAGRAMS];

int box_open(struct datagram_node *n, const char *options);
void box_close(struct datagram_node *n);
/* Opens @n and adds each to each. */
bool boxes_open(int n, const char *options);
/* Closes all; nothing of the provider may be left, and no queue may have overflown. */
void boxes_close(void);
int box_meet(int from, int to);
/* Posts a packet of @len bytes that tell @seq; what tx_post says, or -ENOBUFS. */
int box_post(int from, int to, uint32_t rail, uint32_t seq, uint32_t len);
void box_kick(int at);
/* Takes one packet: its seq, or -1: none, or -2: its bytes are wrong. */
int box_take(int at, uint32_t *ret_len, uint32_t *ret_rail);
/* One packet of 100 bytes goes from one to the other. */
bool box_passes(int from, int to, uint32_t rail);
bool box_is_readable(int at);

#endif
