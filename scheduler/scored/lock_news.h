/* SPDX-License-Identifier: BSD-3-Clause */
/* lock_news - tells hosts who has them alone: they keep commands of others off. */
#ifndef SCHEDULER_SCORED_LOCK_NEWS_H
#define SCHEDULER_SCORED_LOCK_NEWS_H

#include "scheduler/scored/scored.h"

/* To all hosts where that has changed. */
void lock_news_publish(const struct scored *d);
/* To a host that has just registered. */
void lock_news_begin(const struct scored *d, struct node *node);

#endif
