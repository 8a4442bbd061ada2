// SPDX-License-Identifier: BSD-3-Clause
/* totals - sums and the two ways to print them. */
#include "pmcore/tools/scstest/totals.h"

#include <inttypes.h>
#include <stdio.h>

#include "pmcore/tools/common/json.h"
#include "pmcore/tools/common/table.h"

void totals_add(struct totals *sum, const struct totals *part)
{
	sum->sent += part->sent;
	sum->sent_bytes += part->sent_bytes;
	sum->received += part->received;
	sum->received_bytes += part->received_bytes;
	sum->reads += part->reads;
	sum->read_bytes += part->read_bytes;
	sum->writes += part->writes;
	sum->write_bytes += part->write_bytes;
	sum->missing += part->missing;
	sum->late += part->late;
	sum->duplicates += part->duplicates;
	sum->corrupt += part->corrupt;
	if (part->elapsed_ns > sum->elapsed_ns)
		sum->elapsed_ns = part->elapsed_ns;
}

bool totals_are_clean(const struct totals *t)
{
	return !t->missing && !t->late && !t->duplicates && !t->corrupt;
}

static double mb_per_s(const struct totals *t)
{
	double bytes = (double)(t->sent_bytes + t->read_bytes + t->write_bytes);

	return t->elapsed_ns ? bytes * 1e3 / (double)t->elapsed_ns : 0;
}

static void print_row(const char *name, const struct totals *t)
{
	table_text(stdout, name);
	table_count(stdout, t->sent);
	table_count(stdout, t->received);
	table_count(stdout, t->reads);
	table_count(stdout, t->writes);
	table_number(stdout, mb_per_s(t));
	table_count(stdout, t->missing);
	table_count(stdout, t->late);
	table_count(stdout, t->duplicates);
	table_count(stdout, t->corrupt);
	table_end_row(stdout);
}

static void print_table(const struct totals *nodes, uint32_t n, const struct totals *sum,
			const struct settings *settings, bool is_complete)
{
	static const char *const titles[] = {"node",      "sent",    "received", "reads",
					     "writes",    "MB/s",    "missing",  "late",
					     "duplicate", "corrupt", NULL};
	char name[16];

	table_titles(stdout, titles);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		print_row(name, &nodes[i]);
	}
	print_row("all", sum);
	printf("%s: %u nodes, %.2f s, seed %" PRIu64 "%s\n",
	       !totals_are_clean(sum) ? "BAD"
	       : is_complete          ? "good"
				      : "STOPPED",
	       n, (double)sum->elapsed_ns / 1e9, settings->seed,
	       is_complete ? "" : ", only what node 0 knew");
	fflush(stdout);
}

static void write_members(struct json *json, const struct totals *t)
{
	json_count(json, "sent", t->sent);
	json_count(json, "sent_bytes", t->sent_bytes);
	json_count(json, "received", t->received);
	json_count(json, "received_bytes", t->received_bytes);
	json_count(json, "reads", t->reads);
	json_count(json, "read_bytes", t->read_bytes);
	json_count(json, "writes", t->writes);
	json_count(json, "write_bytes", t->write_bytes);
	json_count(json, "missing", t->missing);
	json_count(json, "late", t->late);
	json_count(json, "duplicates", t->duplicates);
	json_count(json, "corrupt", t->corrupt);
	json_number(json, "seconds", (double)t->elapsed_ns / 1e9);
	json_number(json, "mb_per_s", mb_per_s(t));
}

static void write_pattern(struct json *json, const struct settings *settings)
{
	json_text(json, "pattern", settings->pattern_text);
	if (!settings->grid.n_dims)
		return;
	json_open(json, "dims", '[');
	for (uint32_t d = 0; d < settings->grid.n_dims; d++)
		json_count(json, NULL, settings->grid.dims[d]);
	json_close(json, ']');
}

static void write_json(const struct totals *nodes, uint32_t n, const struct totals *sum,
		       const struct settings *settings, bool is_complete)
{
	struct json json = {.out = stdout};

	json_open(&json, NULL, '{');
	json_flag(&json, "good", totals_are_clean(sum));
	json_flag(&json, "complete", is_complete);
	json_count(&json, "nodes", n);
	write_pattern(&json, settings);
	json_count(&json, "seed", settings->seed);
	write_members(&json, sum);
	json_open(&json, "per_node", '[');
	for (uint32_t i = 0; i < n; i++) {
		json_open(&json, NULL, '{');
		json_count(&json, "node", i);
		write_members(&json, &nodes[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end_line(&json);
}

void totals_print(const struct totals *nodes, uint32_t n, const struct settings *settings,
		  bool is_complete)
{
	struct totals sum = {.sent = 0};

	for (uint32_t i = 0; i < n; i++)
		totals_add(&sum, &nodes[i]);
	if (settings->json)
		write_json(nodes, n, &sum, settings, is_complete);
	else
		print_table(nodes, n, &sum, settings, is_complete);
}
