/* SPDX-License-Identifier: BSD-3-Clause */
/* export - one-sided operations, the owning side. */
#ifndef PM_VERBS_DATA_EXPORT_H
#define PM_VERBS_DATA_EXPORT_H

#include "pm-verbs/conn/record.h"

void pmv_asked(struct pmv_link *link, struct pm_link_peer *peer, const struct pmv_control *control);
void pmv_unexport(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len);
/* @peer knows none of our keys any more. */
void pmv_export_forget(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_export_fini(struct pmv_link *link);

#endif
