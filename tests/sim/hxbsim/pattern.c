// SPDX-License-Identifier: BSD-3-Clause
/* pattern - the three patterns of traffic; see pattern.h. */
#include "tests/sim/hxbsim/pattern.h"

#include <assert.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

/* @n of the numbers @from.. in random order, of @all. */
static uint32_t *draw(uint32_t from, uint32_t all, uint32_t n, uint64_t *random)
{
	uint32_t *numbers = calloc(all, sizeof(*numbers)), i;

	assert(numbers);
	for (i = 0; i < all; i++)
		numbers[i] = from + i;
	for (i = 0; i < n; i++) {
		uint32_t j = i + (uint32_t)(tap_rand(random) % (all - i)), was = numbers[i];

		numbers[i] = numbers[j];
		numbers[j] = was;
	}
	return numbers;
}

void pattern_init(struct pattern_plan *plan, const struct settings *settings)
{
	uint64_t random = settings->seed ^ 0x9a77e2b1;
	uint32_t hosts = hxbnet_hosts(&settings->net), i;

	*plan = (struct pattern_plan){
		.settings = settings, .hosts = hosts, .rounds = (uint32_t)settings->rounds};
	if (settings->pattern == ALL_TO_ALL) {
		plan->rounds_all = hosts - 1;
		if (plan->rounds > hosts - 1)
			plan->rounds = hosts - 1;
		plan->shift = draw(1, hosts - 1, plan->rounds, &random);
	}
	if (settings->pattern != INCAST)
		return;
	plan->root = (uint32_t)(tap_rand(&random) % hosts);
	plan->n_senders = (uint32_t)settings->senders;
	if (!plan->n_senders || plan->n_senders > hosts - 1)
		plan->n_senders = hosts - 1;
	plan->senders = draw(1, hosts - 1, plan->n_senders, &random);
	plan->is_sender = calloc(hosts, sizeof(*plan->is_sender));
	assert(plan->is_sender);
	for (i = 0; i < plan->n_senders; i++) {
		plan->senders[i] = (plan->senders[i] + plan->root) % hosts;
		plan->is_sender[plan->senders[i]] = true;
	}
}

void pattern_fini(struct pattern_plan *plan)
{
	free(plan->shift);
	free(plan->senders);
	free(plan->is_sender);
}

static uint32_t neighbours(const struct pattern_plan *plan, uint32_t host, uint32_t *ret)
{
	const struct hxbnet_config *net = &plan->settings->net;
	uint32_t stride = 1, n = 0, d;

	for (d = 0; d < net->n_dims; stride *= net->dims[d++]) {
		uint32_t at = host / stride % net->dims[d], points = net->dims[d];
		uint32_t base = host - at * stride;

		if (points > 1)
			ret[n++] = base + (at + 1) % points * stride;
		if (points > 2)
			ret[n++] = base + (at + points - 1) % points * stride;
	}
	return n;
}

uint32_t pattern_targets(const struct pattern_plan *plan, uint32_t host, uint32_t round,
			 uint32_t *ret)
{
	switch (plan->settings->pattern) {
	case ALL_TO_ALL:
		*ret = (host + plan->shift[round]) % plan->hosts;
		return 1;
	case NEIGHBOUR:
		return neighbours(plan, host, ret);
	default:
		*ret = plan->root;
		return plan->is_sender[host];
	}
}

uint32_t pattern_sources(const struct pattern_plan *plan, uint32_t host, uint32_t round,
			 uint32_t *ret)
{
	uint32_t i;

	switch (plan->settings->pattern) {
	case ALL_TO_ALL:
		*ret = (host + plan->hosts - plan->shift[round]) % plan->hosts;
		return 1;
	case NEIGHBOUR:
		return neighbours(plan, host, ret);
	default:
		for (i = 0; host == plan->root && i < plan->n_senders; i++)
			ret[i] = plan->senders[i];
		return i;
	}
}
