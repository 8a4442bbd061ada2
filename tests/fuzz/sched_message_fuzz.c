// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a message of any direction, which the first byte chooses. A message that is let
 * through has every field that the table wants, of its type and in its bounds. Of another one there
 * is a sentence.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/messages_check.h"

#define FIRST_LINK 'A' /* so that seeds can be read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_number(const struct messages_field *field, const json_t *value)
{
	json_int_t n = json_integer_value(value);

	require(json_is_integer(value));
	require(field->type != MESSAGES_NUMBER || n >= 0);
	require(field->type != MESSAGES_ID || n >= 1);
	require(!field->has_range || (n >= field->min && n <= field->max));
}

static void check_list(const struct messages_field *field, const json_t *list)
{
	json_int_t n = (json_int_t)json_array_size(list);
	const json_t *value;
	size_t i;

	require(json_is_array(list));
	require(!field->has_range || (n >= field->min && n <= field->max));
	json_array_foreach(list, i, value) {
		require(field->type != MESSAGES_TEXTS || json_is_string(value));
		require(field->type != MESSAGES_NUMBERS || json_integer_value(value) >= 0);
	}
}

static void check_text(const struct messages_field *field, const json_t *value)
{
	const char *const *word = field->words;

	require(json_is_string(value));
	while (word && *word && strcmp(*word, json_string_value(value)) != 0)
		word++;
	require(!word || *word);
}

static void check_field(const struct messages_field *field, const json_t *value)
{
	switch (field->type) {
	case MESSAGES_NUMBER:
	case MESSAGES_ID:
	case MESSAGES_INTEGER:
		check_number(field, value);
		break;
	case MESSAGES_REAL:
		require(json_is_number(value));
		break;
	case MESSAGES_BOOL:
		require(json_is_boolean(value));
		break;
	case MESSAGES_TEXT:
		check_text(field, value);
		break;
	case MESSAGES_BYTES:
		require(json_is_string(value) || json_is_object(value));
		break;
	case MESSAGES_TEXTS:
	case MESSAGES_NUMBERS:
	case MESSAGES_LIST:
		check_list(field, value);
		break;
	case MESSAGES_OBJECT:
		require(json_is_object(value));
		break;
	}
}

static void check(enum messages_link link, const json_t *head, int said)
{
	const char *op = json_string_value(json_object_get(head, "op"));
	const struct messages_entry *entry = op ? messages_find(link, op) : NULL;

	require(entry && (int)entry->op == said && !strcmp(messages_op_text(entry->op), op));
	for (const struct messages_field *field = entry->fields; field->name; field++) {
		const json_t *value = json_object_get(head, field->name);

		require(value || field->is_optional);
		if (value)
			check_field(field, value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum messages_link link;
	json_t *head;
	char why[128] = "";
	int said;

	if (!size)
		return 0;
	link = (enum messages_link)((uint8_t)(data[0] - FIRST_LINK) % MESSAGES_LINKS);
	head = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
	said = messages_check(link, head, why, sizeof(why));
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (said >= 0)
		check(link, head, said);
	else
		require((said == -EINVAL || said == -ENOTSUP) && why[0]);
	json_decref(head);
	return 0;
}
