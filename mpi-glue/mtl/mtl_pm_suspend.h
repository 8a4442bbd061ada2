/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_suspend - see mtl_pm_suspend.c. */
#ifndef MTL_PM_SUSPEND_H
#define MTL_PM_SUSPEND_H

/*
 * An order is due: carries it out and all that follow, and returns when the program is to go on.
 * Lock not held. Other threads of the program find the lock taken meanwhile.
 */
void mtl_pm_suspend(void);

#endif
