/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parked - the one link of a context that is suspended. It needs nothing to be open, brings
 * nothing, and reaches no node "now", so that callers try again later.
 */
#ifndef PM_DEVICE_PARKED_H
#define PM_DEVICE_PARKED_H

#include "pm_device.h"

extern const struct pm_link_ops parked_ops;

#endif
