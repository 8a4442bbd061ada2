// SPDX-License-Identifier: BSD-3-Clause
/* show - contexts, their links, rails and drops. */
#include "pmcore/tools/pmstat/show.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/tools/common/json.h"
#include "pmcore/tools/common/table.h"

/* The samples that one context is shown from. */
struct view {
	const struct stats_page *now;
	const struct stats_page *before; /* NULL: nothing to compare with */
	double seconds;                  /* between the two; 0: show the counters themselves */
};

static struct view view_of(const struct sample *now, const struct sample *before, size_t i)
{
	struct view view = {.now = &now->pages[i]};

	if (before) {
		view.before = sample_find(before, view.now);
		view.seconds = (double)(now->time_ns - before->time_ns) / 1e9;
	}
	return view;
}

/* The same link or rail of the earlier page. */
static const void *earlier_link(const struct view *view, uint32_t i)
{
	return view->before && i < view->before->n_links ? &view->before->links[i] : NULL;
}

static const void *earlier_rail(const struct view *view, uint32_t i)
{
	return view->before && i < view->before->n_rails ? &view->before->rails[i] : NULL;
}

static void print_titles(const char *first, const struct sample_field *fields)
{
	printf("  %-13s", first);
	for (; fields->name; fields++)
		if (fields->title)
			table_text(stdout, fields->title);
	table_end_row(stdout);
}

static void print_cell(const struct view *view, const struct sample_field *field, const void *now,
		       const void *before)
{
	double value = sample_shown(field, now, before, view->seconds);

	if (field->is_bytes)
		table_number(stdout, value / 1e6);
	else if (view->seconds > 0 && !field->is_level)
		table_number(stdout, value);
	else
		table_count(stdout, sample_value(now, field->offset));
}

static void print_row(const struct view *view, const char *name, const struct sample_field *fields,
		      const void *now, const void *before)
{
	printf("  %-13s", name);
	for (; fields->name; fields++)
		if (fields->title)
			print_cell(view, fields, now, before);
	table_end_row(stdout);
}

static double drops_shown(const struct view *view, uint32_t rail, unsigned int reason)
{
	const struct sample_field field = {.offset = offsetof(struct stats_rail, drops) +
						     reason * sizeof(uint64_t)};

	return sample_shown(&field, &view->now->rails[rail], earlier_rail(view, rail),
			    view->seconds);
}

/* One line per rail that has dropped anything. */
static void print_drops(const struct view *view, uint32_t rail)
{
	char text[32];
	int n = 0;

	for (unsigned int reason = 1; reason < DROP_REASONS; reason++) {
		double value = drops_shown(view, rail, reason);

		if (!(value > 0))
			continue;
		if (n++ == 0)
			printf("  dropped on %s:", view->now->rails[rail].name);
		snprintf(text, sizeof(text), "%.0f", value);
		if (view->seconds > 0)
			table_format(value, text, sizeof(text));
		printf(" %s %s", stats_drop_name((enum drop_reason)reason), text);
	}
	if (n)
		putchar('\n');
}

/* The rails of one link, below its name. */
static void print_rails(const struct view *view, const struct stats_link *link)
{
	const struct stats_page *page = view->now;
	char title[sizeof(link->name) + 8];

	snprintf(title, sizeof(title), "%s rail", link->name);
	print_titles(title, sample_rail_fields);
	for (uint32_t i = link->first_rail; i < link->first_rail + link->n_rails; i++) {
		print_row(view, page->rails[i].name, sample_rail_fields, &page->rails[i],
			  earlier_rail(view, i));
		print_drops(view, i);
	}
}

static void print_context(const struct view *view)
{
	const struct stats_page *page = view->now;
	const struct passwd *user = getpwuid(page->uid);

	printf("pid %u  %s  node %u  ", page->pid, page->program, page->node);
	if (user)
		printf("user %s", user->pw_name);
	else
		printf("user %u", page->uid);
	printf("%s\n", view->seconds > 0 ? "  (per second)" : "");
	if (page->n_links)
		print_titles("link", sample_link_fields);
	for (uint32_t i = 0; i < page->n_links; i++)
		print_row(view, page->links[i].name, sample_link_fields, &page->links[i],
			  earlier_link(view, i));
	for (uint32_t i = 0; i < page->n_links; i++)
		if (page->links[i].n_rails)
			print_rails(view, &page->links[i]);
}

void show_tables(const struct sample *now, const struct sample *before)
{
	for (size_t i = 0; i < now->count; i++) {
		struct view view = view_of(now, before, i);

		if (i)
			putchar('\n');
		print_context(&view);
	}
	fflush(stdout);
}

static void write_fields(struct json *json, const struct view *view,
			 const struct sample_field *fields, const void *now, const void *before)
{
	for (const struct sample_field *f = fields; f->name; f++)
		json_count(json, f->name, sample_value(now, f->offset));
	if (!(view->seconds > 0))
		return;
	json_open(json, "per_second", '{');
	for (const struct sample_field *f = fields; f->name; f++)
		if (!f->is_level)
			json_number(json, f->name, sample_shown(f, now, before, view->seconds));
	json_close(json, '}');
}

static void write_drops(struct json *json, const struct stats_rail *rail)
{
	json_open(json, "drops", '{');
	for (unsigned int reason = 1; reason < DROP_REASONS; reason++)
		json_count(json, stats_drop_name((enum drop_reason)reason), rail->drops[reason]);
	json_close(json, '}');
}

/* Name of the link that a rail belongs to. */
static const char *link_of(const struct stats_page *page, uint32_t rail)
{
	for (uint32_t i = 0; i < page->n_links; i++)
		if (rail - page->links[i].first_rail < page->links[i].n_rails)
			return page->links[i].name;
	return "";
}

static void write_context(struct json *json, const struct view *view)
{
	const struct stats_page *page = view->now;

	json_open(json, NULL, '{');
	json_count(json, "pid", page->pid);
	json_count(json, "uid", page->uid);
	json_text(json, "program", page->program);
	json_count(json, "node", page->node);
	json_open(json, "links", '[');
	for (uint32_t i = 0; i < page->n_links; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", page->links[i].name);
		write_fields(json, view, sample_link_fields, &page->links[i],
			     earlier_link(view, i));
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "rails", '[');
	for (uint32_t i = 0; i < page->n_rails; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", page->rails[i].name);
		json_text(json, "link", link_of(page, i));
		write_fields(json, view, sample_rail_fields, &page->rails[i],
			     earlier_rail(view, i));
		write_drops(json, &page->rails[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void show_json(const struct sample *now, const struct sample *before)
{
	struct json json = {.out = stdout};

	json_open(&json, NULL, '{');
	if (before)
		json_number(&json, "seconds", (double)(now->time_ns - before->time_ns) / 1e9);
	json_open(&json, "contexts", '[');
	for (size_t i = 0; i < now->count; i++) {
		struct view view = view_of(now, before, i);

		write_context(&json, &view);
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end_line(&json);
}
