// SPDX-License-Identifier: BSD-3-Clause
/* fields - see fields.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_MAX_CHARS 255
#define LINE_MAX_BYTES 65535
#define SECONDS_MAX 1e9
#define BITS_DIGITS 16

void fields_wrong(struct fields *fields, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (fields->err)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(fields->why, fields->why_size, "%s: %s", fields->what, text);
	fields->err = -EINVAL;
}

void fields_no_memory(struct fields *fields)
{
	if (fields->err)
		return;
	snprintf(fields->why, fields->why_size, "%s: no memory", fields->what);
	fields->err = -ENOMEM;
}

static const json_t *get(const struct fields *fields, const char *name)
{
	return fields->err ? NULL : json_object_get(fields->from, name);
}

/*
 * --- numbers ------------------------------------------------------------------------------------
 */

static int64_t number_of(struct fields *fields, const json_t *value, const char *name, int64_t min,
			 int64_t max)
{
	if (json_is_integer(value) && json_integer_value(value) >= min &&
	    json_integer_value(value) <= max)
		return json_integer_value(value);
	fields_wrong(fields, "%s must be a whole number from %lld to %lld", name, (long long)min,
		     (long long)max);
	return 0;
}

int64_t fields_number(struct fields *fields, const char *name, int64_t min, int64_t max)
{
	return number_of(fields, get(fields, name), name, min, max);
}

int64_t fields_number_or(struct fields *fields, const char *name, int64_t min, int64_t max,
			 int64_t otherwise)
{
	const json_t *value = get(fields, name);

	return value ? number_of(fields, value, name, min, max) : otherwise;
}

double fields_seconds(struct fields *fields, const char *name)
{
	const json_t *value = get(fields, name);
	double seconds = json_number_value(value);

	if (!value)
		return 0.;
	if (json_is_number(value) && seconds >= 0. && seconds <= SECONDS_MAX)
		return seconds;
	fields_wrong(fields, "%s must be seconds from 0 to %g", name, SECONDS_MAX);
	return 0.;
}

bool fields_flag(struct fields *fields, const char *name)
{
	const json_t *value = get(fields, name);

	if (value && !json_is_boolean(value))
		fields_wrong(fields, "%s must be true or false", name);
	return json_is_true(value);
}

int fields_choice(struct fields *fields, const char *name, const char *const *names)
{
	const json_t *value = get(fields, name);
	const char *text = json_string_value(value);

	if (!value)
		return 0;
	for (int i = 0; text && names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	fields_wrong(fields, "%s must be one of \"%s\", \"%s\"%s%s%s", name, names[0], names[1],
		     names[2] ? ", \"" : "", names[2] ? names[2] : "", names[2] ? "\"..." : "");
	return 0;
}

uint64_t fields_bits_of(struct fields *fields, const json_t *value, const char *name)
{
	const char *text = json_string_value(value);

	if (text && strlen(text) == BITS_DIGITS && strspn(text, "0123456789abcdef") == BITS_DIGITS)
		return strtoull(text, NULL, 16);
	fields_wrong(fields, "%s must be %d hexadecimal digits", name, BITS_DIGITS);
	return 0;
}

uint64_t fields_bits(struct fields *fields, const char *name)
{
	return fields_bits_of(fields, get(fields, name), name);
}

/*
 * --- texts --------------------------------------------------------------------------------------
 */

static bool is_name(const char *text)
{
	size_t n = strlen(text);

	return n && n <= NAME_MAX_CHARS && strspn(text, NAME_CHARS) == n;
}

/* Those that a terminal obeys: ASCII's, and U+0080 to U+009F as UTF-8. */
static bool is_control(const char *c)
{
	unsigned char first = (unsigned char)c[0];

	return first < ' ' || first == 0x7f || (first == 0xc2 && (unsigned char)c[1] < 0xa0);
}

static bool is_line(const char *text)
{
	for (const char *c = text; *c; c++)
		if (is_control(c))
			return false;
	return strlen(text) <= LINE_MAX_BYTES;
}

/* The form that the text must have, in words; NULL: it has that form. */
static const char *complaint(const char *text, enum fields_kind kind)
{
	switch (kind) {
	case FIELDS_NAME:
		return is_name(text) ? NULL : "1 to 255 letters, digits, \".\", \"_\" and \"-\"";
	case FIELDS_LINE:
		return *text && is_line(text) ? NULL : "a line of text without control characters";
	case FIELDS_NOTE:
		return is_line(text) ? NULL : "a text without control characters";
	case FIELDS_PATH:
		return *text == '/' ? NULL : "a path that begins with \"/\"";
	case FIELDS_ENV:
		return *text != '=' && strchr(text, '=') ? NULL : "NAME=VALUE";
	case FIELDS_BYTES:
		break;
	}
	return NULL;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The bytes of {"hex": "..."}; NULL: it is none, or no memory. */
static char *from_hex(struct fields *fields, const json_t *value)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n = hex ? strlen(hex) : 1;
	char *to;

	if (n % 2 || n / 2 > FIELDS_TEXT_MAX || strspn(hex, "0123456789abcdef") != n)
		return NULL;
	to = malloc(n / 2 + 1);
	if (!to) {
		fields_no_memory(fields);
		return NULL;
	}
	for (size_t i = 0; i < n / 2; i++)
		to[i] = (char)(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
	to[n / 2] = '\0';
	if (strlen(to) == n / 2)
		return to;
	free(to);
	return NULL;
}

static bool takes_hex(enum fields_kind kind)
{
	return kind == FIELDS_BYTES || kind == FIELDS_PATH || kind == FIELDS_ENV;
}

static char *text_of(struct fields *fields, const json_t *value, const char *name,
		     enum fields_kind kind)
{
	const char *wrong = "a text", *plain = json_string_value(value);
	char *text = NULL;

	if (plain && json_string_length(value) > FIELDS_TEXT_MAX) {
		wrong = "shorter than 128 KiB";
	} else if (plain) {
		text = strdup(plain);
		if (!text)
			fields_no_memory(fields);
	} else if (json_is_object(value) && takes_hex(kind)) {
		text = from_hex(fields, value);
	}
	if (text)
		wrong = complaint(text, kind);
	if (!wrong)
		return text;
	free(text);
	fields_wrong(fields, "%s must be %s", name, wrong);
	return NULL;
}

char *fields_text(struct fields *fields, const char *name, enum fields_kind kind, bool is_optional)
{
	const json_t *value = get(fields, name);

	if (fields->err || (!value && is_optional))
		return NULL;
	return text_of(fields, value, name, kind);
}

const json_t *fields_array(struct fields *fields, const char *name, size_t min, size_t max)
{
	const json_t *value = get(fields, name);
	size_t n = json_array_size(value);

	if (fields->err)
		return NULL;
	if ((!value && !min) || (json_is_array(value) && n >= min && n <= max))
		return value;
	fields_wrong(fields, "%s must be a list of %zu to %zu values", name, min, max);
	return NULL;
}

char **fields_texts(struct fields *fields, const char *name, enum fields_kind kind, size_t max)
{
	const json_t *array = fields_array(fields, name, 0, max);
	size_t n = json_array_size(array);
	char **texts;

	if (fields->err)
		return NULL;
	texts = calloc(n + 1, sizeof(*texts));
	if (!texts) {
		fields_no_memory(fields);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		texts[i] = text_of(fields, json_array_get(array, i), name, kind);
		if (!texts[i]) {
			fields_texts_free(texts);
			return NULL;
		}
	}
	return texts;
}

void fields_texts_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

/*
 * --- the other way ------------------------------------------------------------------------------
 */

json_t *fields_from_text(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	json_t *value = json_string(text);
	size_t n = strlen(text);
	char *hex;

	if (value)
		return value;
	hex = malloc(2 * n + 1);
	if (!hex)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[(unsigned char)text[i] >> 4];
		hex[2 * i + 1] = digits[text[i] & 15];
	}
	hex[2 * n] = '\0';
	value = json_pack("{s:s}", "hex", hex);
	free(hex);
	return value;
}

json_t *fields_from_texts(char *const *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; array && texts && texts[i]; i++) {
		if (json_array_append_new(array, fields_from_text(texts[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *fields_from_bits(uint64_t bits)
{
	return json_sprintf("%016llx", (unsigned long long)bits);
}
