/* SPDX-License-Identifier: BSD-3-Clause */
/* link - what all parts of a link use. */
#ifndef PM_VERBS_LINK_H
#define PM_VERBS_LINK_H

#include "pm-verbs/device.h"

uint64_t pmv_random(struct pmv_link *link);
/* A device, or its library, refused a call that it must not refuse: told in the dump. @err: an errno, of either sign. */
void pmv_note_refusal(struct pmv_link *link, const char *what, int err);

#endif
