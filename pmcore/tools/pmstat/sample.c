// SPDX-License-Identifier: BSD-3-Clause
/* sample - copies of the counter pages, and the list of counters. */
#include "pmcore/tools/pmstat/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"

#define LINK(f) .name = #f, .offset = offsetof(struct stats_link, f)
#define RAIL(f) .name = #f, .offset = offsetof(struct stats_rail, f)

const struct sample_field sample_link_fields[] = {
	{LINK(peers), .title = "peers", .is_level = true},
	{LINK(peers_dead), .title = "dead", .is_level = true},
	{LINK(tx_messages), .title = "sent"},
	{LINK(tx_bytes), .title = "MB", .is_bytes = true},
	{LINK(rx_messages), .title = "received"},
	{LINK(rx_bytes), .title = "MB", .is_bytes = true},
	{LINK(read_bytes), .title = "read MB", .is_bytes = true},
	{LINK(write_bytes), .title = "write MB", .is_bytes = true},
	{LINK(no_buffer), .title = "no buffer"},
	{LINK(timeouts), .title = "timeouts"},
	{LINK(acks_tx), .title = NULL},
	{LINK(acks_rx), .title = NULL},
	{LINK(wakes), .title = NULL},
	{LINK(pinned_hits), .title = NULL},
	{LINK(pinned_misses), .title = NULL},
	{LINK(pinned_evictions), .title = NULL},
	{LINK(connections_closed), .title = NULL},
	{LINK(connections_reopened), .title = NULL},
	{LINK(shared_posted), .title = NULL, .is_level = true},
	{LINK(shared_missing), .title = NULL, .is_level = true},
	{LINK(forged), .title = NULL},
	{.name = NULL},
};

const struct sample_field sample_rail_fields[] = {
	{RAIL(tx_packets), .title = "packets out"},
	{RAIL(tx_bytes), .title = "MB", .is_bytes = true},
	{RAIL(rx_packets), .title = "packets in"},
	{RAIL(rx_bytes), .title = "MB", .is_bytes = true},
	{RAIL(retransmits), .title = "sent again"},
	{RAIL(losses), .title = "lost"},
	{RAIL(full), .title = "full"},
	{RAIL(deaths), .title = "deaths"},
	{RAIL(returns), .title = "returns"},
	{.name = NULL},
};

static int copy_page(void *arg, const struct stats_page *page)
{
	struct sample *sample = arg;
	struct stats_page *pages;

	sample->is_cut = sample->count == SAMPLE_MAX;
	if (sample->is_cut)
		return -E2BIG;
	if (sample->count == sample->room) {
		size_t room = sample->room ? sample->room * 2 : 8;

		pages = reallocarray(sample->pages, room, sizeof(*pages));
		if (!pages)
			return -ENOMEM;
		sample->pages = pages;
		sample->room = room;
	}
	sample->pages[sample->count++] = *page;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct stats_page *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

int sample_take(struct sample *sample, uint32_t pid)
{
	int rc;

	sample->count = 0;
	sample->is_cut = false;
	sample->time_ns = clock_monotonic_ns();
	rc = stats_visit(pid, copy_page, sample);
	if (sample->count)
		qsort(sample->pages, sample->count, sizeof(*sample->pages), compare);
	return rc < 0 && !sample->is_cut ? rc : 0;
}

void sample_free(struct sample *sample)
{
	free(sample->pages);
	memset(sample, 0, sizeof(*sample));
}

const struct stats_page *sample_find(const struct sample *sample, const struct stats_page *page)
{
	if (!sample->count)
		return NULL;
	return bsearch(page, sample->pages, sample->count, sizeof(*page), compare);
}

uint64_t sample_value(const void *base, size_t offset)
{
	uint64_t value = 0;

	if (base)
		memcpy(&value, (const char *)base + offset, sizeof(value));
	return value;
}

double sample_shown(const struct sample_field *field, const void *now, const void *before,
		    double seconds)
{
	uint64_t value = sample_value(now, field->offset), old;

	if (field->is_level || !(seconds > 0))
		return (double)value;
	old = sample_value(before, field->offset);
	/* Less than before: another context has taken the place. */
	return (double)(value >= old ? value - old : value) / seconds;
}
