/* SPDX-License-Identifier: BSD-3-Clause */
/* grants - what a peer told of its regions. */
#ifndef PM_VERBS_GRANTS_H
#define PM_VERBS_GRANTS_H

#include "pm-verbs/device.h"

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
