/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_windows - who serves one-sided communication where nobody has chosen. */
#ifndef MTL_PM_WINDOWS_H
#define MTL_PM_WINDOWS_H

#include <stdbool.h>

/*
 * Reads a parameter, or a framework's list of components, that Open MPI has not read yet. Its
 * index, to be deregistered for Open MPI to read it; below 0: it can't be read. The value is valid
 * until then.
 */
int mtl_pm_read_early(const char *framework, const char *component, const char *name, char **value);
/* Whether it is osc/rdma over btl/pm. */
bool mtl_pm_windows_by_btl(void);
/*
 * Before Open MPI opens its components for one-sided communication: which it shall take if nobody
 * has chosen.
 */
void mtl_pm_windows_choose(void);
/* The component is in use, and no address has been exchanged yet. */
void mtl_pm_windows_start(void);
/* Open MPI has opened those components. May be called again. */
void mtl_pm_windows_chosen(void);

#endif
