/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uplink - the connection to scored: registers this host, beats, carries orders down and news of
 * jobs up. Lost, it is made again for ever; news of jobs wait for it.
 */
#ifndef SCHEDULER_SCNODED_UPLINK_H
#define SCHEDULER_SCNODED_UPLINK_H

#include "scheduler/scnoded/scnoded.h"

#define UPLINK_AGAIN_S 1.0
#define UPLINK_SOON_S 0.1    /* the first time after a connection has ended */
#define UPLINK_NEWS_MAX 4096 /* that wait for scored */

/* NULL: no memory. */
struct uplink *uplink_open(struct scnoded *d);
void uplink_close(struct uplink *up);

void uplink_tell_started(struct scnoded *d, uint64_t id);
void uplink_tell_failed(struct scnoded *d, uint64_t id, int code, const char *text);
void uplink_tell_ended(struct scnoded *d, uint64_t id, int code, const char *text);
/* The leader's: a change of devices has ended. */
void uplink_tell_migrated(struct scnoded *d, uint64_t id, uint64_t serial, bool is_changed,
			  const char *text, double stood_s);
/* How a stage of OP_IMAGE has ended. @text: "" if well. */
void uplink_tell_imaged(struct scnoded *d, uint64_t id, uint64_t round, const char *stage,
			uint64_t bytes, const char *text);
/* The identity of the directory of images: now, and to each scored that comes. */
void uplink_tell_store(struct scnoded *d, const char *identity);
void uplink_tell_gone(struct scnoded *d, uint64_t id, uint64_t cpu_ns);

#endif
