/* SPDX-License-Identifier: BSD-3-Clause */
/* greeting - one greeting to a peer. */
#ifndef PM_VERBS_CONN_GREETING_H
#define PM_VERBS_CONN_GREETING_H

#include "pm-verbs/conn/record.h"

/* first pause between two greetings: 10 ms, doubled each time */
#define PMV_GREET_MIN_NS 10000000ull
#define PMV_GREET_MAX_NS 200000000ull /* ... up to 200 ms */

/* @flags: enum pmv_greeting_flag. */
void pmv_greet(struct pmv_link *link, struct pm_link_peer *peer, uint32_t flags);
/* The first one of a connection. */
void pmv_greet_first(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/* The next one, after which there is a longer pause. */
void pmv_greet_again(struct pmv_link *link, struct pm_link_peer *peer, uint32_t flags,
		     uint64_t now);

#endif
