/* SPDX-License-Identifier: BSD-3-Clause */
/* grants - what a peer told of its regions. */
#ifndef PM_VERBS_DATA_GRANTS_H
#define PM_VERBS_DATA_GRANTS_H

#include "pm-verbs/conn/record.h"

/* One region of a peer, as the peer described it. */
struct pmv_grant {
	struct pmv_grant *next;
	struct pmv_control region;
	uint32_t keys[PM_RAILS_MAX]; /* verbs keys for lanes, by pair of rails */
	uint32_t asked;              /* bit per pair: for its key; by the latest connection */
	uint32_t known;              /* ... it has come */
	uint32_t refused;            /* ... or it will not */
};

/* NULL: nothing was told of the region. */
struct pmv_grant *pmv_grant_find(const struct pm_link_peer *peer, uint64_t rkey);
/* Keeps what was told of a region; false: no memory. */
bool pmv_grant_keep(struct pm_link_peer *peer, const struct pmv_control *control);
/* The same of its key by a lane. */
void pmv_grant_lane(struct pm_link_peer *peer, const struct pmv_control *control);
/* The region is gone. */
void pmv_revoked(struct pm_link_peer *peer, uint64_t rkey);
/* Not more than there should be: the oldest go, and who uses them again asks again. */
void pmv_grants_trim(struct pm_link_peer *peer);
void pmv_grants_drop(struct pm_link_peer *peer);

#endif
