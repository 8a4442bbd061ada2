/* SPDX-License-Identifier: BSD-3-Clause */
/* report - results on standard output, row by row as they come: a table, or JSON lines. */
#ifndef PMTEST_REPORT_H
#define PMTEST_REPORT_H

#include <stdbool.h>

#include "pmcore/tools/common/session.h"
#include "pmcore/tools/pmtest/pass.h"
#include "pmcore/tools/pmtest/plan.h"

struct report {
	const struct plan *plan;
	const struct session *session;
	enum test test;    /* of the last row, TESTS = none */
	unsigned int rows; /* printed so far */
};

void report_begin(struct report *report, const struct plan *plan, const struct session *session);
void report_case(struct report *report, struct pass *pass);
/* @rc not 0: says that the rows are not all. */
void report_end(struct report *report, int rc);

#endif
