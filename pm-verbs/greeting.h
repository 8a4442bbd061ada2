/* SPDX-License-Identifier: BSD-3-Clause */
/* greeting - one greeting to a peer. */
#ifndef PM_VERBS_GREETING_H
#define PM_VERBS_GREETING_H

#include "pm-verbs/device.h"

/* @flags: enum pmv_greeting_flag. */
void pmv_greet(struct pmv_link *link, struct pm_link_peer *peer, uint32_t flags);

#endif
