// SPDX-License-Identifier: BSD-3-Clause
/* report - measures a finished run and prints it, as a table or as JSON; see report.h. */
#include "tests/sim/hxbsim/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "pmcore/tools/common/json.h"

struct spread {
	double sum, squares, least, most;
	uint32_t n;
};

static void add_rate(struct spread *spread, double rate)
{
	spread->sum += rate;
	spread->squares += rate * rate;
	spread->least = !spread->n || rate < spread->least ? rate : spread->least;
	spread->most = rate > spread->most ? rate : spread->most;
	spread->n++;
}

/* Jain's index: 1 = all alike, 1/n = one has all. */
static double fairness_of(const struct spread *spread)
{
	return spread->n ? spread->sum * spread->sum / spread->squares / spread->n : 1;
}

/* Two hosts share no coordinate. */
static bool is_far(const struct hxbnet_config *net, uint32_t a, uint32_t b)
{
	uint32_t d;

	for (d = 0; d < net->n_dims; a /= net->dims[d], b /= net->dims[d], d++)
		if (net->dims[d] > 1 && a % net->dims[d] == b % net->dims[d])
			return false;
	return true;
}

/* Rates of the hosts that took part: of what they got, or of what they sent to the one. */
static void gather_rates(const struct traffic *traffic, struct report *report)
{
	bool is_incast = traffic->settings->pattern == INCAST;
	const uint64_t *bytes = is_incast ? traffic->sent : traffic->got;
	struct spread all = {0}, far = {0};
	double total = 0;
	uint32_t i;

	for (i = 0; i < traffic->plan.hosts; i++) {
		double ns = (double)(traffic->last_ns[i] - traffic->begin_ns);

		if (!bytes[i])
			continue;
		total += (double)bytes[i];
		add_rate(&all, (double)bytes[i] * 1e9 / ns);
		if (!is_incast || is_far(&traffic->settings->net, i, traffic->plan.root))
			add_rate(&far, (double)bytes[i] * 1e9 / ns);
	}
	report->fairness = fairness_of(&all);
	report->far_fairness = fairness_of(&far);
	report->slowest = all.least * all.n / all.sum;
	report->fastest = all.most * all.n / all.sum;
	report->rate = total / report->seconds / all.n;
}

static void gather_memory(const struct traffic *traffic, struct report *report)
{
	const struct sim *sim = traffic->sim;
	uint32_t hosts = traffic->plan.hosts, i;
	struct rusage usage;

	for (i = 0; i < hosts; i++) {
		double memory = (double)chan_memory(sim->nodes[i].chan);

		report->memory_mean += memory / hosts;
		report->peers += (double)sim->nodes[i].stats.peers / hosts;
		if (memory > report->memory_max)
			report->memory_max = memory;
	}
	getrusage(RUSAGE_SELF, &usage);
	report->resident = (double)usage.ru_maxrss * 1024 / hosts;
}

void report_gather(const struct traffic *traffic, struct report *report)
{
	uint64_t last = traffic->begin_ns;
	uint32_t i;

	for (i = 0; i < traffic->plan.hosts; i++)
		if (traffic->last_ns[i] > last)
			last = traffic->last_ns[i];
	report->seconds = (double)(last - traffic->begin_ns) / 1e9;
	report->count = *hxbnet_count(traffic->sim->hxb);
	report->retransmits = sim_retransmits(traffic->sim);
	report->timeouts = sim_timeouts(traffic->sim);
	gather_rates(traffic, report);
	gather_memory(traffic, report);
	wire_load(&traffic->plan, traffic_wire_bytes(traffic->settings), &report->wire);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void print_json(const struct settings *settings, const struct pattern_plan *plan,
		       const struct report *report)
{
	const struct hxbnet_count *count = &report->count;
	struct json json = {.out = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "pattern", settings_pattern_name(settings));
	json_text(&json, "by", settings->by_text);
	json_text(&json, "dims", settings->dims_text);
	json_count(&json, "hosts", plan->hosts);
	json_count(&json, "lanes", settings->lanes);
	json_text(&json, "rate", settings->rate_text);
	json_count(&json, "mtu", settings->mtu);
	json_count(&json, "buffer", settings->buffer);
	json_count(&json, "bytes", settings->bytes);
	json_count(&json, "messages", settings->messages);
	json_count(&json, "depth", settings->depth);
	json_count(&json, "rounds", plan->rounds);
	json_count(&json, "rounds_all", plan->rounds_all);
	json_count(&json, "seed", settings->seed);
	json_number(&json, "seconds", report->seconds);
	json_number(&json, "wire_seconds", report->wire.seconds);
	json_number(&json, "of_wire", report->wire.seconds / report->seconds);
	json_number(&json, "bytes_per_second_per_host", report->rate);
	json_number(&json, "fairness", report->fairness);
	json_number(&json, "far_fairness", report->far_fairness);
	json_number(&json, "slowest", report->slowest);
	json_number(&json, "fastest", report->fastest);
	json_number(&json, "links_per_transfer", report->wire.links);
	json_count(&json, "frames_on_links", count->links);
	json_count(&json, "tail_dropped", count->tail_dropped);
	json_number(&json, "switch_loss", share(count->tail_dropped, count->links));
	json_count(&json, "relay_dropped", count->relay_dropped);
	json_number(&json, "relay_loss", share(count->relay_dropped, count->links));
	json_number(&json, "receiver_loss", share(count->no_buffer, count->links));
	json_count(&json, "backlog_max", count->backlog_max);
	json_count(&json, "posted", count->posted);
	json_count(&json, "retransmits", report->retransmits);
	json_count(&json, "timeouts", report->timeouts);
	json_number(&json, "memory_per_host", report->memory_mean);
	json_number(&json, "memory_max", report->memory_max);
	json_number(&json, "peers_per_host", report->peers);
	json_number(&json, "resident_per_host", report->resident);
	json_number(&json, "real_seconds", report->real);
	json_close(&json, '}');
	json_end_line(&json);
}

static void print_rounds(const struct settings *settings, const struct pattern_plan *plan)
{
	if (settings->pattern == ALL_TO_ALL && plan->rounds < plan->rounds_all)
		printf("rounds        %u of %u: a random sample of the shifts of the exchange\n",
		       plan->rounds, plan->rounds_all);
	else
		printf("rounds        %u\n", plan->rounds);
}

static void print_table(const struct settings *settings, const struct pattern_plan *plan,
			const struct report *report)
{
	const struct hxbnet_count *count = &report->count;
	uint32_t d;

	printf("hosts         %u (%s), %" PRIu64 " NICs per dimension, %s, MTU %" PRIu64
	       ", %" PRIu64 " KiB per port\n",
	       plan->hosts, settings->dims_text, settings->lanes, settings->rate_text,
	       settings->mtu, settings->buffer >> 10);
	printf("traffic       %s by %s, %" PRIu64 " x %" PRIu64 " bytes to each partner\n",
	       settings_pattern_name(settings), settings->by_text, settings->messages,
	       settings->bytes);
	print_rounds(settings, plan);
	printf("seed          %" PRIu64 "\n", settings->seed);
	printf("time          %.3f ms, %.1f %% of the wire (%.3f ms, dimension %u of host %u)\n",
	       1e3 * report->seconds, 100 * report->wire.seconds / report->seconds,
	       1e3 * report->wire.seconds, report->wire.dim, report->wire.host);
	printf("host          %.2f MB/s, slowest %.3f, fastest %.3f of the mean\n",
	       report->rate / 1e6, report->slowest, report->fastest);
	printf("fairness      %.4f", report->fairness);
	if (settings->pattern == INCAST)
		printf(", %.4f among those that differ in all coordinates", report->far_fairness);
	printf("\n");
	printf("frames        %" PRIu64 " posted, %.2f links each, %" PRIu64 " relayed\n",
	       count->posted, share(count->links, count->posted), count->relayed);
	printf("lost          %.4f %% in switches (",
	       100 * share(count->tail_dropped, count->links));
	for (d = 0; d < settings->net.n_dims; d++)
		printf("%s%" PRIu64, d ? ", " : "", count->dropped_in[d]);
	printf(" by dimension), %.4f %% in relays, %.4f %% at receivers without a buffer\n",
	       100 * share(count->relay_dropped, count->links),
	       100 * share(count->no_buffer, count->links));
	printf("repeated      %" PRIu64 " (%.3f %%), %" PRIu64 " timeouts\n", report->retransmits,
	       100 * share(report->retransmits, count->posted), report->timeouts);
	printf("backlog       %" PRIu64 " bytes before a port at most\n", count->backlog_max);
	printf("memory        %.1f KiB per engine, %.1f the largest, %.1f peers each; idle peer "
	       "%zu "
	       "bytes\n",
	       report->memory_mean / 1024, report->memory_max / 1024, report->peers,
	       chan_idle_peer_bytes());
	printf("simulator     %.1f s, %.0f KiB per host\n", report->real, report->resident / 1024);
}

void report_print(const struct settings *settings, const struct pattern_plan *plan,
		  const struct report *report)
{
	if (settings->json)
		print_json(settings, plan, report);
	else
		print_table(settings, plan, report);
}
