/* SPDX-License-Identifier: BSD-3-Clause */
/* respond - node 1: does what node 0 commands until it says quit. */
#ifndef PMTEST_RESPOND_H
#define PMTEST_RESPOND_H

#include "pmcore/tools/common/session.h"

/* 0, or -errno after saying why. */
int respond(struct session *s);

#endif
