// SPDX-License-Identifier: BSD-3-Clause
/* lock_request - see lock_request.h. */
#include "scheduler/proto/lock_request.h"

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

int lock_request_decode(struct lock_request **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "lock", .why = why, .why_size = why_size};
	struct lock_request *request = calloc(1, sizeof(*request));

	if (!request) {
		fields_no_memory(&fields);
		return fields.err;
	}
	request->hosts = fields_texts(&fields, "hosts", FIELDS_NAME, LOCK_HOSTS_MAX);
	request->n_hosts = count_of(request->hosts);
	if (!request->n_hosts)
		fields_wrong(&fields, "hosts are missing");
	request->count = (size_t)fields_number_or(&fields, "count", 1, (int64_t)request->n_hosts,
						  (int64_t)request->n_hosts);
	request->is_exclusive = !fields_choice(&fields, "mode", modes);
	request->may_scatter = fields_flag(&fields, "scatter");
	request->may_wait = fields_flag(&fields, "wait");
	request->is_forced = fields_flag(&fields, "force");
	request->reason = short_text(&fields, "reason");
	request->place = short_text(&fields, "place");
	request->lease_s = (int)fields_number_or(&fields, "lease_s", LOCK_LEASE_MIN_S,
						 LOCK_LEASE_MAX_S, LOCK_LEASE_S);
	if (fields.err) {
		lock_request_free(request);
		return fields.err;
	}
	*ret = request;
	return 0;
}

json_t *lock_request_encode(const struct lock_request *request)
{
	return json_pack("{s:o, s:I, s:s, s:b, s:b, s:b, s:s, s:s, s:i}", "hosts",
			 fields_from_texts(request->hosts), "count", (json_int_t)request->count,
			 "mode", modes[!request->is_exclusive], "scatter",
			 (int)request->may_scatter, "wait", (int)request->may_wait, "force",
			 (int)request->is_forced, "reason", request->reason, "place",
			 request->place, "lease_s", request->lease_s);
}

void lock_request_free(struct lock_request *request)
{
	if (!request)
		return;
	fields_texts_free(request->hosts);
	free(request->reason);
	free(request->place);
	free(request);
}
