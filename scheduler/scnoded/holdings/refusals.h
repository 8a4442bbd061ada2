/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refusals - a short list of sentences, fit for a terminal and for JSON: each is a whole sentence
 * that names a thing, its place and a remedy.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_REFUSALS_H
#define SCHEDULER_SCNODED_HOLDINGS_REFUSALS_H

#include <stdarg.h>
#include <stddef.h>

#define REFUSALS_MAX 32      /* that are kept; the others are counted */
#define REFUSAL_TEXT_MAX 700 /* bytes of a sentence, its end included; a longer one is cut */

struct refusals { /* zeroed is empty */
	char *lines[REFUSALS_MAX];
	size_t n;      /* lines */
	size_t n_more; /* refusals without a line */
};

void refusals_add(struct refusals *list, const char *text);
void refusals_free(struct refusals *list);

#endif
