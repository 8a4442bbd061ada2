/* SPDX-License-Identifier: BSD-3-Clause */
/* takeover - another device of the composite takes over a lost peer. */
#ifndef PM_VERBS_DATA_TAKEOVER_H
#define PM_VERBS_DATA_TAKEOVER_H

#include "pm-verbs/conn/record.h"

extern const struct pm_leave_ops pmv_leave_ops;
/* See struct pm_link_ops. */
bool pmv_is_gone(struct pm_link *base, struct pm_link_peer *peer);

#endif
