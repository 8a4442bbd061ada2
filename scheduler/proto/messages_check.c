// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/messages_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/proto/fields.h"

static void check_number(struct fields *fields, const struct messages_field *field)
{
	int64_t min = field->type == MESSAGES_ID ? 1 : 0, max = INT64_MAX;

	if (field->type == MESSAGES_INTEGER)
		min = INT64_MIN;
	if (field->has_range) {
		min = field->min;
		max = field->max;
	}
	fields_number(fields, field->name, min, max);
}

static bool is_one_of(const char *text, const char *const *words)
{
	while (*words && strcmp(*words, text) != 0)
		words++;
	return *words != NULL;
}

static void check_text(struct fields *fields, const struct messages_field *field,
		       const json_t *value)
{
	const char *text = json_string_value(value);
	char words[128] = "";
	size_t used = 0;

	if (text && (!field->words || is_one_of(text, field->words)))
		return;
	for (size_t i = 0; field->words && field->words[i] && used < sizeof(words); i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s\"%s\"",
					 i ? " or " : "", field->words[i]);
	fields_wrong(fields, "%s must be %s", field->name, field->words ? words : "a text");
}

static bool is_in_list(enum messages_type type, const json_t *value)
{
	if (type == MESSAGES_TEXTS)
		return json_is_string(value);
	if (type == MESSAGES_NUMBERS)
		return json_is_integer(value) && json_integer_value(value) >= 0;
	return true;
}

static void check_list(struct fields *fields, const struct messages_field *field,
		       const json_t *list)
{
	const char *kind = field->type == MESSAGES_TEXTS     ? " of texts"
			   : field->type == MESSAGES_NUMBERS ? " of whole numbers from 0"
							     : "";
	const json_t *value;
	bool is_right = json_is_array(list);
	size_t i;

	if (field->has_range)
		fields_array(fields, field->name, (size_t)field->min, (size_t)field->max);
	json_array_foreach(list, i, value)
		is_right &= is_in_list(field->type, value);
	if (!is_right)
		fields_wrong(fields, "%s must be a list%s", field->name, kind);
}

static void check_form(struct fields *fields, const struct messages_field *field, bool is_right,
		       const char *form)
{
	if (!is_right)
		fields_wrong(fields, "%s must be %s", field->name, form);
}

static void check_field(struct fields *fields, const struct messages_field *field)
{
	const json_t *value = json_object_get(fields->from, field->name);

	if (!value && field->is_optional)
		return;
	switch (field->type) {
	case MESSAGES_NUMBER:
	case MESSAGES_ID:
	case MESSAGES_INTEGER:
		check_number(fields, field);
		break;
	case MESSAGES_REAL:
		check_form(fields, field, json_is_number(value), "a number");
		break;
	case MESSAGES_BOOL:
		check_form(fields, field, json_is_boolean(value), "true or false");
		break;
	case MESSAGES_TEXT:
		check_text(fields, field, value);
		break;
	case MESSAGES_BYTES:
		check_form(fields, field, json_is_string(value) || json_is_object(value), "a text");
		break;
	case MESSAGES_TEXTS:
	case MESSAGES_NUMBERS:
	case MESSAGES_LIST:
		check_list(fields, field, value);
		break;
	case MESSAGES_OBJECT:
		check_form(fields, field, json_is_object(value), "an object");
		break;
	}
}

int messages_check(enum messages_link link, const json_t *head, char *why, size_t why_size)
{
	const char *op = json_string_value(json_object_get(head, "op"));
	const struct messages_entry *entry = op ? messages_find(link, op) : NULL;
	struct fields fields = {.from = head, .what = op, .why = why, .why_size = why_size};

	if (!entry) {
		snprintf(why, why_size, "\"%.40s\" is no message that this version knows",
			 op ? op : "");
		return -ENOTSUP;
	}
	for (const struct messages_field *field = entry->fields; field->name; field++)
		check_field(&fields, field);
	return fields.err ? fields.err : (int)entry->op;
}
