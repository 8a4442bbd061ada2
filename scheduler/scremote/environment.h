/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment - what every command finds in its environment, whoever started us.
 */
#ifndef SCHEDULER_SCREMOTE_ENVIRONMENT_H
#define SCHEDULER_SCREMOTE_ENVIRONMENT_H

/* Adds to our own what is missing of HOME, USER, LOGNAME, SHELL, PATH and LANG. 0 or -ENOMEM. */
int environment_complete(void);
/* The home directory; never NULL. */
const char *environment_home(void);

#endif
