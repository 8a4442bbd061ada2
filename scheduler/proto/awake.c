// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/awake.h"

void awake_begin(struct awake *awake, uint64_t now_ns, double period_s)
{
	*awake = (struct awake){.period_ns = (uint64_t)(period_s * 1e9), .beat_ns = now_ns};
}

static uint64_t sum_at(const struct awake *awake, uint64_t now_ns)
{
	uint64_t since = now_ns > awake->beat_ns ? now_ns - awake->beat_ns : 0;

	return awake->sum_ns + (since < awake->period_ns ? since : awake->period_ns);
}

void awake_beat(struct awake *awake, uint64_t now_ns)
{
	awake->sum_ns = sum_at(awake, now_ns);
	awake->beat_ns = now_ns;
}

double awake_now(const struct awake *awake, uint64_t now_ns)
{
	return (double)sum_at(awake, now_ns) / 1e9;
}
