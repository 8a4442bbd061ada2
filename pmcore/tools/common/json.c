// SPDX-License-Identifier: BSD-3-Clause
/* json - members of a document, RFC 8259. */
#include "pmcore/tools/common/json.h"

#include <inttypes.h>
#include <math.h>

static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void start(struct json *json, const char *name)
{
	if (json->needs_comma)
		fputs(", ", json->out);
	json->needs_comma = true;
	if (name) {
		put_text(json->out, name);
		fputs(": ", json->out);
	}
}

void json_open(struct json *json, const char *name, char bracket)
{
	start(json, name);
	fputc(bracket, json->out);
	json->needs_comma = false;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->out);
	json->needs_comma = true;
}

void json_text(struct json *json, const char *name, const char *value)
{
	start(json, name);
	put_text(json->out, value);
}

void json_count(struct json *json, const char *name, uint64_t value)
{
	start(json, name);
	fprintf(json->out, "%" PRIu64, value);
}

void json_number(struct json *json, const char *name, double value)
{
	start(json, name);
	if (isfinite(value))
		fprintf(json->out, "%.7g", value);
	else
		fputs("null", json->out);
}

void json_flag(struct json *json, const char *name, bool value)
{
	start(json, name);
	fputs(value ? "true" : "false", json->out);
}

void json_end_line(struct json *json)
{
	fputc('\n', json->out);
	fflush(json->out);
	json->needs_comma = false;
}
