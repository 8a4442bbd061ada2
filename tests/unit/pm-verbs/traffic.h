/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test support: random messages and one-sided operations between verbs links, and what must become
 * of them.
 */
#ifndef TESTS_UNIT_PM_VERBS_TRAFFIC_H
#define TESTS_UNIT_PM_VERBS_TRAFFIC_H

#include "tests/unit/pm-verbs/links.h"

#define TRAFFIC_NODES 3
#define TRAFFIC_SLOTS 3 /* operations of one node with another at once */

/* Rules by which the traffic between links is judged. */
struct traffic_rules {
	int n_nodes;
	bool may_lose; /* messages; those that come keep their order */
	bool may_fail; /* operations that begin now */
};

extern struct traffic_rules traffic_rules;

/* For links that are open. @seed: that numbers are drawn from. */
void traffic_open(int n_nodes, uint64_t *seed);
void traffic_close(void);
void traffic_send(int from, int to);
/* Takes at most one message at the node; nobody may be called dead. */
void traffic_take(int at);
/* A record of the peer at either side was removed: what was sent before may be lost. */
void traffic_renew(int from, int to);
/* Ends operations that are done, and begins some. */
void traffic_operate(int from, int to, bool may_begin);
/* Operations under way by the node or towards it, or of all with -1, may end with an error. */
void traffic_excuse(int node);
/* The node's region is taken back, and there is another one in its place. */
void traffic_take_back(int node);
/* All that was sent has come, and all operations have ended. */
bool traffic_is_done(void);

#endif
