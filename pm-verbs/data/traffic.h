/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traffic - what becomes of a peer's messages and operations when its connection comes, goes or
 * ends.
 */
#ifndef PM_VERBS_DATA_TRAFFIC_H
#define PM_VERBS_DATA_TRAFFIC_H

#include "pm-verbs/conn/record.h"

extern const struct pmv_conn_callbacks pmv_traffic;

#endif
