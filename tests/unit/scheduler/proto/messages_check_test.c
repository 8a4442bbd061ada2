// SPDX-License-Identifier: BSD-3-Clause
/*
 * messages_check: each message of the table is built from its fields, goes through a frame and is
 * accepted; then each field in turn is missing, of another type or beyond its bounds.
 */
#include "scheduler/proto/messages_check.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/lock_request.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scremote/message.h"
#include "tests/harness/tap.h"

static json_t *list_of(json_t *value, int64_t n)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++)
		json_array_append(list, value);
	json_decref(value);
	return list;
}

/* The least value that a field may have. */
static json_t *value_of(const struct messages_field *field)
{
	int64_t least = field->has_range ? field->min : 0;

	switch (field->type) {
	case MESSAGES_NUMBER:
		return json_integer(least);
	case MESSAGES_ID:
		return json_integer(1);
	case MESSAGES_INTEGER:
		return json_integer(INT64_MIN);
	case MESSAGES_REAL:
		return json_real(.5);
	case MESSAGES_BOOL:
		return json_true();
	case MESSAGES_TEXT:
		return json_string(field->words ? field->words[0] : "");
	case MESSAGES_BYTES:
		return json_pack("{s:s}", "hex", "ff");
	case MESSAGES_TEXTS:
		return list_of(json_string("x"), least);
	case MESSAGES_NUMBERS:
		return list_of(json_integer(0), least);
	case MESSAGES_LIST:
		return list_of(json_null(), least);
	case MESSAGES_OBJECT:
		break;
	}
	return json_object();
}

static json_t *build(const struct messages_entry *entry, bool has_optional)
{
	json_t *head = json_pack("{s:s}", "op", messages_op_text(entry->op));

	for (const struct messages_field *field = entry->fields; field->name; field++)
		if (has_optional || !field->is_optional)
			json_object_set_new(head, field->name, value_of(field));
	return head;
}

static int check(const struct messages_entry *entry, const json_t *head)
{
	char why[256] = "";
	int said = messages_check(entry->link, head, why, sizeof(why));

	if (said < 0)
		tap_diag("%s: %s", messages_op_text(entry->op), why);
	return said;
}

/* Through the bytes of a frame. */
static json_t *sent(json_t *head)
{
	struct frame frame = {0};
	size_t size, used;
	char *data = frame_encode(head, 0, &size);

	is_int(frame_decode(&frame, data, size, FRAME_MAX, &used), 1);
	free(data);
	json_decref(head);
	return frame.head;
}

#define EACH(entry)                                                                                \
	size_t n_entries;                                                                          \
	for (const struct messages_entry *entry = messages_entries(&n_entries), *end = entry;      \
	     entry < end + n_entries; entry++)

TAP_TEST(messages_check__every_message_of_the_table_goes_round)
{
	EACH(entry)
	{
		for (int has_optional = 0; has_optional < 2; has_optional++) {
			json_t *head = build(entry, has_optional), *got = sent(json_incref(head));

			ok(json_equal(head, got));
			is_int(check(entry, got), entry->op);
			json_object_set_new(got, "a_new_field", json_null());
			is_int(check(entry, got), entry->op);
			json_decref(head);
			json_decref(got);
		}
	}
}

/* Refused, with a sentence that begins with the op and names the field. */
static void is_refused(const struct messages_entry *entry, const json_t *head,
		       const struct messages_field *field)
{
	char why[256] = "", begin[128];

	snprintf(begin, sizeof(begin), "%s: %s must be ", messages_op_text(entry->op), field->name);
	is_int(messages_check(entry->link, head, why, sizeof(why)), -EINVAL);
	okf(!strncmp(why, begin, strlen(begin)), "\"%s\" does not begin with \"%s\"", why, begin);
}

static void is_refused_with(const struct messages_entry *entry, const struct messages_field *field,
			    json_t *value)
{
	json_t *head = build(entry, true);

	json_object_set_new(head, field->name, value);
	is_refused(entry, head, field);
	json_decref(head);
}

TAP_TEST(messages_check__a_field_that_is_missing)
{
	EACH(entry)
	{
		for (const struct messages_field *field = entry->fields; field->name; field++) {
			json_t *head = build(entry, true);

			json_object_del(head, field->name);
			if (field->is_optional)
				is_int(check(entry, head), entry->op);
			else
				is_refused(entry, head, field);
			json_decref(head);
		}
	}
	ok(true);
}

static bool is_number(const struct messages_field *field)
{
	return field->type <= MESSAGES_INTEGER;
}

static bool is_list(const struct messages_field *field)
{
	return field->type >= MESSAGES_TEXTS && field->type <= MESSAGES_LIST;
}

TAP_TEST(messages_check__a_field_of_another_type)
{
	EACH(entry)
	{
		for (const struct messages_field *field = entry->fields; field->name; field++) {
			is_refused_with(entry, field, json_null());
			is_refused_with(entry, field,
					is_list(field) ? json_object() : json_array());
			if (is_number(field))
				is_refused_with(entry, field, json_real(1));
			if (field->type == MESSAGES_TEXTS)
				is_refused_with(entry, field, list_of(json_integer(1), 2));
			if (field->type == MESSAGES_NUMBERS) {
				is_refused_with(entry, field, list_of(json_string("1"), 2));
				is_refused_with(entry, field, list_of(json_integer(-1), 2));
			}
			if (field->words)
				is_refused_with(entry, field, json_string("other"));
		}
	}
	ok(true);
}

static json_t *at_bound(const struct messages_field *field, int64_t bound)
{
	if (is_number(field))
		return json_integer(bound);
	if (field->type == MESSAGES_TEXTS)
		return list_of(json_string("x"), bound);
	return list_of(json_integer(1), bound);
}

TAP_TEST(messages_check__bounds)
{
	EACH(entry)
	{
		for (const struct messages_field *field = entry->fields; field->name; field++) {
			if (field->type == MESSAGES_NUMBER && !field->has_range)
				is_refused_with(entry, field, json_integer(-1));
			if (field->type == MESSAGES_ID)
				is_refused_with(entry, field, json_integer(0));
			if (!field->has_range)
				continue;
			json_t *head = build(entry, true);

			json_object_set_new(head, field->name, at_bound(field, field->max));
			is_int(check(entry, head), entry->op);
			json_decref(head);
			is_refused_with(entry, field, at_bound(field, field->max + 1));
			if (is_number(field) || field->min > 0)
				is_refused_with(entry, field, at_bound(field, field->min - 1));
		}
	}
	ok(true);
}

TAP_TEST(messages_check__an_op_that_is_none_of_the_link)
{
	json_t *head = json_pack("{s:s}", "op", OP_RELEASE);
	char why[256];

	is_int(messages_check(MESSAGES_SCRUN_TO_LEADER, head, why, sizeof(why)), ON_RELEASE);
	is_int(messages_check(MESSAGES_LEADER_TO_SCRUN, head, why, sizeof(why)), -ENOTSUP);
	is_str(why, "\"release\" is no message that this version knows");
	json_object_set_new(head, "op", json_integer(1));
	is_int(messages_check(MESSAGES_SCRUN_TO_LEADER, head, why, sizeof(why)), -ENOTSUP);
	json_decref(head);
}

TAP_TEST(messages_check__the_sentence_is_cut_to_its_room)
{
	json_t *head = json_pack("{s:s}", "op", OP_RENEW);
	char why[8] = "";

	is_int(messages_check(MESSAGES_USER_TO_SCORED, head, why, sizeof(why)), -EINVAL);
	is_str(why, "renew: ");
	json_decref(head);
}

static int64_t bound_of(enum messages_link link, const char *op, const char *name)
{
	const struct messages_field *field = messages_find(link, op)->fields;

	while (strcmp(field->name, name) != 0)
		field++;
	return field->max;
}

/* The table has numbers, as it is read by more than C. */
TAP_TEST(messages__bounds_are_those_of_the_headers)
{
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_OUT_ROOM, "bytes"), LINK_FULL);
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_IN_ROOM, "bytes"), LINK_FULL);
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_RUN, "argv"), MESSAGE_ARGUMENTS_MAX);
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_PUT, "children"), MESSAGE_TREE_MAX);
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_PUT, "mode"), 07777);
	is_int(bound_of(MESSAGES_SCOUT_TO_SCREMOTE, OP_SIGNAL, "signal"), NSIG - 1);
	is_int(bound_of(MESSAGES_USER_TO_SCORED, OP_CANCEL, "signal"), NSIG - 1);
	is_int(bound_of(MESSAGES_USER_TO_SCORED, OP_LOCK, "hosts"), LOCK_HOSTS_MAX);
	is_int(bound_of(MESSAGES_USER_TO_SCORED, OP_LOCK, "lease_s"), LOCK_LEASE_MAX_S);
	is_int(bound_of(MESSAGES_SCORED_TO_SCNODED, OP_HOST_LOCK, "uid"), (json_int_t)(uid_t)-2);
}
