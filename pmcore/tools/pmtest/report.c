// SPDX-License-Identifier: BSD-3-Clause
/* report - rows are written whole and at once, so an interrupted run leaves a good table. */
#include "pmcore/tools/pmtest/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "pmcore/tools/common/json.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/summary.h"
#include "pmcore/tools/common/table.h"
#include "pmcore/tools/pmtest/transfer.h"

#define BINS 12

/* Rates of a pass. */
struct rates {
	double seconds, mb_per_s, mib_per_s, per_s;
};

static struct rates rates_of(const struct pass *pass)
{
	double seconds = (double)pass->elapsed_ns / 1e9, per_s = (double)pass->count / seconds;
	double bytes = (double)pass->size * per_s;

	/* Both directions count. */
	if (pass->test == TEST_BIDIRECTIONAL) {
		bytes *= 2;
		per_s *= 2;
	}
	return (struct rates){seconds, bytes / 1e6, bytes / (1 << 20), per_s};
}

void report_begin(struct report *report, const struct plan *plan, const struct session *session)
{
	*report = (struct report){.plan = plan, .session = session, .test = TESTS};
	if (plan->json)
		return;
	printf("# pmtest %s: node %u ", PM_VERSION, session->self);
	if (session->peer == session->self)
		printf("to itself");
	else
		printf("and node %u%s%s", session->peer, *session->boot->peer ? " on " : "",
		       session->boot->peer);
	printf(", %s, datagrams of up to %zu bytes\n", session->device, session->mtu);
	fflush(stdout);
}

static void print_titles(const struct pass *pass)
{
	static const char *const latency[] = {"bytes",   "median us", "mean us", "min us",
					      "90 % us", "99 % us",   "max us",  NULL};
	static const char *const stream[] = {"bytes",      "MB/s",       "MiB/s",
					     "messages/s", "us/message", NULL};
	static const char *const operations[] = {"bytes",        "MB/s",    "MiB/s", "operations/s",
						 "us/operation", "at once", NULL};

	printf("\n%s%s\n", plan_test_name(pass->test),
	       pass->test == TEST_LATENCY         ? " (half round trip)"
	       : pass->test == TEST_BIDIRECTIONAL ? " (sum of both directions)"
						  : "");
	table_titles(stdout, pass->test == TEST_LATENCY      ? latency
			     : plan_is_one_sided(pass->test) ? operations
							     : stream);
}

static void print_histogram(const struct pass *pass)
{
	uint64_t counts[BINS], most = 1;
	double ends[BINS];

	summary_histogram(pass->samples, pass->n_samples, BINS, counts, ends);
	for (int i = 0; i < BINS; i++)
		if (counts[i] > most)
			most = counts[i];
	for (int i = 0; i < BINS; i++)
		printf("    up to %9.3f us %6" PRIu64 " %.*s\n", ends[i], counts[i],
		       (int)(counts[i] * 40 / most), "########################################");
}

static void print_row(const struct report *report, const struct pass *pass,
		      const struct summary *latency)
{
	struct rates rates = rates_of(pass);

	table_count(stdout, pass->size);
	if (pass->test == TEST_LATENCY) {
		table_number(stdout, latency->median);
		table_number(stdout, latency->mean);
		table_number(stdout, latency->min);
		table_number(stdout, latency->p90);
		table_number(stdout, latency->p99);
		table_number(stdout, latency->max);
	} else {
		table_number(stdout, rates.mb_per_s);
		table_number(stdout, rates.mib_per_s);
		table_number(stdout, rates.per_s);
		table_number(stdout, 1e6 / rates.per_s);
		if (plan_is_one_sided(pass->test))
			table_count(stdout, pass->depth);
	}
	table_end_row(stdout);
	if (report->plan->histogram && pass->test == TEST_LATENCY)
		print_histogram(pass);
}

static void write_latency(struct json *json, const struct summary *latency)
{
	json_open(json, "half_rtt_us", '{');
	json_number(json, "median", latency->median);
	json_number(json, "mean", latency->mean);
	json_number(json, "min", latency->min);
	json_number(json, "p90", latency->p90);
	json_number(json, "p99", latency->p99);
	json_number(json, "max", latency->max);
	json_count(json, "samples", latency->count);
	json_close(json, '}');
}

static void write_json(const struct report *report, const struct pass *pass,
		       const struct summary *latency)
{
	struct json json = {.out = stdout};
	struct rates rates = rates_of(pass);

	json_open(&json, NULL, '{');
	json_text(&json, "test", plan_test_name(pass->test));
	json_count(&json, "size", pass->size);
	json_count(&json, plan_is_one_sided(pass->test) ? "operations" : "messages", pass->count);
	json_number(&json, "seconds", rates.seconds);
	if (pass->test == TEST_LATENCY) {
		write_latency(&json, latency);
	} else {
		json_number(&json, "mb_per_s", rates.mb_per_s);
		json_number(&json, "mib_per_s", rates.mib_per_s);
		json_number(&json,
			    plan_is_one_sided(pass->test) ? "operations_per_s" : "messages_per_s",
			    rates.per_s);
		if (plan_is_one_sided(pass->test))
			json_count(&json, "depth", pass->depth);
	}
	json_count(&json, "payload_per_packet", report->session->mtu);
	json_text(&json, "device", report->session->device);
	json_count(&json, "nodes", report->session->nodes);
	json_flag(&json, "checked", !report->plan->no_check);
	json_close(&json, '}');
	json_end_line(&json);
}

void report_case(struct report *report, struct pass *pass)
{
	struct summary latency = {.count = 0};

	if (pass->test == TEST_LATENCY)
		summary_of(pass->samples, pass->n_samples, &latency);
	if (report->plan->json) {
		write_json(report, pass, &latency);
	} else {
		if (pass->test != report->test)
			print_titles(pass);
		print_row(report, pass, &latency);
		fflush(stdout);
	}
	report->test = pass->test;
	report->rows++;
}

void report_end(struct report *report, int rc)
{
	if (rc)
		message_note("stopped after %u results", report->rows);
}
