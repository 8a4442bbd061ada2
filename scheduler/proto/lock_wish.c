// SPDX-License-Identifier: BSD-3-Clause
/* lock_wish - see lock_wish.h. */
#include "scheduler/proto/lock_wish.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"

static const char *const modes[] = {"exclusive", "shared", NULL};

static char *short_text(struct fields *fields, const char *name)
{
	char *text = fields_text(fields, name, FIELDS_NOTE, true);

	if (text && strlen(text) > LOCK_TEXT_MAX)
		fields_wrong(fields, "%s may have %d bytes at most", name, LOCK_TEXT_MAX);
	if (!text && !fields->err) {
		text = strdup("");
		if (!text)
			fields_no_memory(fields);
	}
	return text;
}

static size_t count_of(char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

int lock_wish_decode(struct lock_wish **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "lock", .why = why, .why_size = why_size};
	struct lock_wish *wish = calloc(1, sizeof(*wish));

	if (!wish) {
		fields_no_memory(&fields);
		return fields.err;
	}
	wish->hosts = fields_texts(&fields, "hosts", FIELDS_NAME, LOCK_HOSTS_MAX);
	wish->n_hosts = count_of(wish->hosts);
	if (!wish->n_hosts)
		fields_wrong(&fields, "hosts are missing");
	wish->count = (size_t)fields_number_or(&fields, "count", 1, (int64_t)wish->n_hosts,
					       (int64_t)wish->n_hosts);
	wish->is_exclusive = !fields_choice(&fields, "mode", modes);
	wish->may_scatter = fields_flag(&fields, "scatter");
	wish->may_wait = fields_flag(&fields, "wait");
	wish->is_forced = fields_flag(&fields, "force");
	wish->reason = short_text(&fields, "reason");
	wish->place = short_text(&fields, "place");
	wish->lease_s = (int)fields_number_or(&fields, "lease_s", LOCK_LEASE_MIN_S,
					      LOCK_LEASE_MAX_S, LOCK_LEASE_S);
	if (fields.err) {
		lock_wish_free(wish);
		return fields.err;
	}
	*ret = wish;
	return 0;
}

json_t *lock_wish_encode(const struct lock_wish *wish)
{
	return json_pack("{s:o, s:I, s:s, s:b, s:b, s:b, s:s, s:s, s:i}", "hosts",
			 fields_from_texts(wish->hosts), "count", (json_int_t)wish->count, "mode",
			 modes[!wish->is_exclusive], "scatter", (int)wish->may_scatter, "wait",
			 (int)wish->may_wait, "force", (int)wish->is_forced, "reason", wish->reason,
			 "place", wish->place, "lease_s", wish->lease_s);
}

void lock_wish_free(struct lock_wish *wish)
{
	if (!wish)
		return;
	fields_texts_free(wish->hosts);
	free(wish->reason);
	free(wish->place);
	free(wish);
}
