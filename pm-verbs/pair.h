/* SPDX-License-Identifier: BSD-3-Clause */
/* pair - which pair of rails a connection takes. */
#ifndef PM_VERBS_PAIR_H
#define PM_VERBS_PAIR_H

#include "pm-verbs/device.h"

/* Which of its pairs of rails the connection takes. */
uint32_t pmv_pair_of(const struct pmv_link *link, const struct pm_link_peer *peer);
/* The other end of that pair. */
const struct pmv_end *pmv_pair_end(const struct pm_link_peer *peer, uint32_t pair);
/*
 * The number of the next connection: that of a pair of rails of which ours is up, if there is one. The other side does
 * the same with its own. When the numbers differ, both take the higher one.
 */
uint32_t pmv_pair_next_epoch(struct pmv_link *link, const struct pm_link_peer *peer);

#endif
