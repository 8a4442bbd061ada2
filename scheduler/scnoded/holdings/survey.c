// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/survey.h"

#include "pmcore/util/clock.h"
#include "scheduler/scnoded/holdings/survey_inside.h"

int survey_job(const struct survey_order *order, struct holdings *ret)
{
	struct survey s = {.order = order,
			   .holdings = ret,
			   .until_ns = clock_monotonic_ns() + order->limit_ms * 1000000};
	int err = survey_processes(&s);

	if (!err) {
		survey_mounts(&s);
		for (size_t i = 0; i < ret->n_processes && survey_goes_on(&s); i++) {
			survey_files(&s, i);
			survey_mappings(&s, i);
		}
		survey_watches(&s);
		survey_sockets(&s);
		survey_outsiders(&s);
		survey_strangers(&s);
	}
	survey_forget_mounts(&s);
	return err;
}
