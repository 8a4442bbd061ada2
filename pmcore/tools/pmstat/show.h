/* SPDX-License-Identifier: BSD-3-Clause */
/* show - a sample on standard output, as tables or as one line of JSON. */
#ifndef PMSTAT_SHOW_H
#define PMSTAT_SHOW_H

#include "pmcore/tools/pmstat/sample.h"

/* @before: an earlier sample, then rates per second are shown; or NULL. */
void show_tables(const struct sample *now, const struct sample *before);
void show_json(const struct sample *now, const struct sample *before);

#endif
