/* SPDX-License-Identifier: BSD-3-Clause */
/* state - quiesce, save, restore, dump. */
#ifndef PM_VERBS_STATE_H
#define PM_VERBS_STATE_H

#include "pm-verbs/conn/record.h"

int pmv_quiesce(struct pm_link *base);
void pmv_resume(struct pm_link *base);
int pmv_save(struct pm_link *base, void *buf, size_t room);
int pmv_restore(struct pm_link *base, const void *buf, size_t len,
		int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		void *arg);
int pmv_dump(struct pm_link *base, char *buf, size_t room);
uint64_t pmv_memory(struct pm_link *base);

#endif
