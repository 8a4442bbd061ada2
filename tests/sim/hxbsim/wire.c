// SPDX-License-Identifier: BSD-3-Clause
/* wire - sums the load of all links; see wire.h. */
#include "tests/sim/hxbsim/wire.h"

#include <assert.h>
#include <stdlib.h>

struct sums {
	double *out, *in; /* bytes by host, then rail: of the NIC, of the port that leads to it */
	uint32_t n_rails;
	double share; /* of a transfer on one lane, bytes */
	uint64_t links;
};

static void pass(void *arg, uint32_t from, uint32_t rail, uint32_t to)
{
	struct sums *sums = arg;

	sums->out[(size_t)from * sums->n_rails + rail] += sums->share;
	sums->in[(size_t)to * sums->n_rails + rail] += sums->share;
	sums->links++;
}

static void add_pair(struct sums *sums, const struct hxbnet *net, uint32_t src, uint32_t dst)
{
	uint32_t rails = hxbnet_rails(net, src, dst), rail;

	for (rail = 0; rail < sums->n_rails; rail++)
		if (rails >> rail & 1)
			hxbnet_walk(net, src, dst, rail, pass, sums);
}

static void find_busiest(const struct sums *sums, const double *load, uint64_t rate,
			 const struct hxbnet_config *config, struct wire_load *ret)
{
	size_t n = (size_t)hxbnet_hosts(config) * sums->n_rails, i;

	for (i = 0; rate && i < n; i++)
		if (load[i] / (double)rate > ret->seconds) {
			ret->seconds = load[i] / (double)rate;
			ret->host = (uint32_t)(i / sums->n_rails);
			ret->dim = (uint32_t)(i % sums->n_rails) / config->lanes;
		}
}

void wire_load(const struct pattern_plan *plan, double bytes, struct wire_load *ret)
{
	static const struct hxbnet_ops none;
	const struct hxbnet_config *config = &plan->settings->net;
	struct hxbnet *net = hxbnet_create(config, &none, NULL);
	struct sums sums = {.n_rails = hxbnet_n_rails(config), .share = bytes / config->lanes};
	size_t ends = (size_t)plan->hosts * sums.n_rails;
	uint32_t *targets = calloc(plan->hosts, sizeof(*targets));
	uint32_t host, round, n, i;

	*ret = (struct wire_load){0};
	sums.out = calloc(ends, sizeof(*sums.out));
	sums.in = calloc(ends, sizeof(*sums.in));
	assert(sums.out && sums.in && targets);
	for (round = 0; round < plan->rounds; round++)
		for (host = 0; host < plan->hosts; host++) {
			n = pattern_targets(plan, host, round, targets);
			for (i = 0; i < n; i++)
				add_pair(&sums, net, host, targets[i]);
			ret->n += n;
		}
	find_busiest(&sums, sums.out, config->nic_rate, config, ret);
	find_busiest(&sums, sums.in, config->rate, config, ret);
	ret->links = (double)sums.links / (double)ret->n / config->lanes;
	ret->gbytes = (double)sums.links * sums.share / 1e9;
	free(sums.out);
	free(sums.in);
	free(targets);
	hxbnet_destroy(net);
}
