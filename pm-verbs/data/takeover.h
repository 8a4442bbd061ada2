/* SPDX-License-Identifier: BSD-3-Clause */
/* takeover - another device of the composite takes over a lost peer. */
#ifndef PM_VERBS_DATA_TAKEOVER_H
#define PM_VERBS_DATA_TAKEOVER_H

#include "pm-verbs/conn/record.h"

extern const struct pm_leave_ops pmv_leave_ops;

#endif
