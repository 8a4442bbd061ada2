/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notify - a word of a daemon to the service manager that started it, as sd_notify(3) does.
 */
#ifndef PM_UTIL_NOTIFY_H
#define PM_UTIL_NOTIFY_H

/* @text: "READY=1", ... 0, also when $NOTIFY_SOCKET names nobody; -errno. */
int notify_service(const char *text);

#endif
