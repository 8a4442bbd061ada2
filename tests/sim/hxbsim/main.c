// SPDX-License-Identifier: BSD-3-Clause
/*
 * hxbsim - large hypercrossbars in virtual time: real channel engines and real routing, simulated
 * wires.
 */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/util/conf.h"
#include "tests/sim/hxbsim/report.h"

#define LINKS_PER_RUN 5e6 /* frames times links that take less than a minute */

static double real_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As many rounds as the time of a run allows, at least one. */
static void choose_rounds(struct settings *settings)
{
	double frames =
		ceil((double)settings->bytes / settings->net.mtu) * (double)settings->messages;
	struct pattern_plan plan;
	struct wire_load load;
	double rounds;

	if (settings->rounds)
		return;
	settings->rounds = 1;
	pattern_init(&plan, settings);
	wire_load(&plan, 1, &load);
	rounds = LINKS_PER_RUN / (frames * load.links * (double)load.n);
	settings->rounds = rounds < 1 ? 1 : rounds > 65535 ? 65535 : (uint64_t)rounds;
	pattern_fini(&plan);
}

/* Until all is done, -ETIMEDOUT, or -EBADMSG: a check failed. */
static int run(const struct settings *settings, struct traffic *traffic, double start)
{
	uint64_t limit = traffic->begin_ns + (uint64_t)(1e9 * settings->limit);
	struct sim *sim = traffic->sim;

	while (!traffic_is_done(traffic) && !sim->is_broken && sim_now(sim) < limit) {
		sim_run(sim, sim_now(sim) + MS);
		message_progress("%.0f ms virtual, %.0f s real: %.1f %% of the transfers done",
				 (double)(sim_now(sim) - traffic->begin_ns) / 1e6,
				 real_seconds() - start,
				 100 * (double)traffic->n_done / (double)traffic->n_transfers);
	}
	message_progress_end();
	if (sim->is_broken) {
		message_error("what arrived is wrong: repeat the run with --seed=%llu",
			      (unsigned long long)settings->seed);
		return -EBADMSG;
	}
	if (traffic_is_done(traffic))
		return 0;
	message_error("%llu of %llu transfers done after %.1f s of virtual time: give more by "
		      "--limit",
		      (unsigned long long)traffic->n_done, (unsigned long long)traffic->n_transfers,
		      settings->limit);
	return -ETIMEDOUT;
}

/* Without a chosen one that of a job of so many nodes. */
static uint32_t credit_of(const struct settings *settings)
{
	struct conf conf;

	if (settings->credit)
		return (uint32_t)settings->credit;
	conf_defaults(&conf);
	return conf_credit(&conf, hxbnet_hosts(&settings->net));
}

static int simulate(struct settings *settings)
{
	struct sim_config config = sim_hxb(&settings->net);
	double start = real_seconds();
	struct report report = {0};
	struct traffic traffic;
	struct sim *sim;
	int rc;

	config.chan.window = (uint32_t)settings->window;
	config.chan.credit = credit_of(settings);
	config.chan.pull_bytes = settings->pull_bytes;
	config.react_ns = settings->react_ns;
	traffic_hooks(&traffic, &config);
	choose_rounds(settings);
	sim = sim_create(&config);
	sim->check_at = 1 << 20;
	traffic_start(&traffic, settings, sim);
	rc = run(settings, &traffic, start);
	report.real = real_seconds() - start;
	if (!rc) {
		report_gather(&traffic, &report);
		sim_finish(sim, 10 * SEC);
		report_print(settings, &traffic.plan, &report);
	}
	sim->is_careless |= rc != 0;
	sim_destroy(sim);
	traffic_fini(&traffic);
	if (!rc && tap_has_failed())
		rc = -EBADMSG;
	return rc;
}

int main(int argc, char **argv)
{
	struct settings settings;
	int rc;

	/* Frames come and go by the million: their memory is not given back in between. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 64 << 20);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	rc = settings_read(argc, argv, &settings);
	if (!rc)
		rc = simulate(&settings);
	return rc == -ECANCELED ? MESSAGE_OK : message_exit_code(rc);
}
