// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/inquiry.h"

#include "scheduler/scnoded/holdings/look.h"

_Static_assert(LOOK_TEXT_MAX == ERRAND_TEXT_MAX, "a look fills the text of an errand");

struct input {
	const struct survey_order *order;
	const struct restorable_terms *terms;
};

static void work(const void *input, char *ret)
{
	const struct input *in = input;

	look_twice(in->order, in->terms, ret);
}

static const struct errand_kind kind = {.name = "scnoded-look",
					.cannot = "can't be looked at before a checkpoint",
					.doing = "looking",
					.has = "looked",
					.limit_s = INQUIRY_LIMIT_S,
					.work = work};

struct errand *inquiry_start(struct ev_loop *loop, const struct survey_order *order,
			     const struct restorable_terms *terms, errand_done *done, void *owner)
{
	const struct input input = {order, terms};

	return errand_start(loop, &kind, terms->job, terms->host, &input, done, owner);
}
