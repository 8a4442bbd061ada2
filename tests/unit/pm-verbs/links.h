/* SPDX-License-Identifier: BSD-3-Clause */
/* Test support: verbs links of one job on the fake provider, which know each other's addresses. */
#ifndef TESTS_UNIT_PM_VERBS_LINKS_H
#define TESTS_UNIT_PM_VERBS_LINKS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/record.h"
#include "pm-verbs/progress.h"
#include "pmcore/util/region.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

#define LINKS 5
#define TURNS 20000

/* One opened link and what it was opened with. */
struct node {
	struct pm_link *link;
	struct region_table *regions;
	struct stats_link stats;
	struct conf conf;
	char why[512];
	uint8_t address[512];
	size_t address_len;
	uint32_t self;
	struct pm_link_peer *peer[LINKS]; /* where added */
	uint64_t received[LINKS];         /* messages from each */
	uint64_t sent[LINKS];
	uint32_t dead; /* the node that receive() told the death of, + 1 */
};

extern struct node nodes[LINKS];

bool links_open(int n, const char *options);
/* The same with time that stands still, but for links_pass_time(). */
bool links_open_still(int n, const char *options);
/* Its time stands still from now on. */
void node_still(struct node *n);
int node_open(struct node *n, uint32_t self, const char *options);
void node_close(struct node *n);
/* Closes what is open; all objects of the provider must be gone then. */
void links_close(void);
/* Adds @to to @from's link. */
bool links_add(int from, int to);

/* A control message that node @from never sent comes to @at over their connection. */
void links_deliver(int at, int from, uint8_t kind, const struct pmv_control *control);
/* Sends the next message from @from to @to, whose bytes tell its number; what get_send says. */
int links_send(int from, int to, uint32_t len);
/* Takes one message at @at and checks it against its number; 1, 0, or an error. */
int links_take(int at);
/* Lets all links look for what came, some times. */
void links_turn(int turns);
/* All links take what their devices say besides completions. */
void links_hear(void);
/* Until all that was sent has been taken; false: it does not come. */
bool links_drain(void);
/* One-sided operation @from -> @to to its end. */
int links_rma(int from, int to, bool is_write, uint64_t rkey, uint64_t offset, void *local,
	      uint64_t len);
/* Moves the job's time of all links on. */
void links_pass_time(uint64_t ns);
struct pmv_link *links_of(int node);
/* Nodes of @set, a bit each, look for messages and take them, for @ms of job time. */
void links_run(unsigned int set, int ms);
/* No connection broke, nobody is dead, and none had more queue pairs than @bound. */
void links_check_clean(int bound);
/* When all is quiet there is no wish and no connection half made or closed. */
void links_check_quiet(void);
void links_fill(void *buf, size_t len, uint64_t seed);
bool links_is_filled(const void *buf, size_t len, uint64_t seed);

#endif
