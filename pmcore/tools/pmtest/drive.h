/* SPDX-License-Identifier: BSD-3-Clause */
/* drive - node 0: all tests and sizes of the plan, one after the other. */
#ifndef PMTEST_DRIVE_H
#define PMTEST_DRIVE_H

#include "pmcore/tools/common/session.h"
#include "pmcore/tools/pmtest/plan.h"

/* 0, or -errno after saying why. Results measured until then are printed in any case. */
int drive(struct session *s, const struct plan *plan);

#endif
