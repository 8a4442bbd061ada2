// SPDX-License-Identifier: BSD-3-Clause
/* json - commas, nesting, escapes and numbers. */
#include "pmcore/tools/common/json.h"

#include <math.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

TAP_TEST(json__nested_document)
{
	char *text = NULL;
	size_t len;
	struct json json = {.out = open_memstream(&text, &len)};

	must(json.out != NULL);
	json_open(&json, NULL, '{');
	json_text(&json, "a", "x\"\\\n");
	json_open(&json, "list", '[');
	json_count(&json, NULL, UINT64_MAX);
	json_open(&json, NULL, '{');
	json_close(&json, '}');
	json_number(&json, NULL, 0.25);
	json_close(&json, ']');
	json_flag(&json, "yes", true);
	json_number(&json, "no", NAN);
	json_close(&json, '}');
	json_end_line(&json);
	fclose(json.out);
	is_str(text, "{\"a\": \"x\\\"\\\\\\u000a\", \"list\": [18446744073709551615, {}, 0.25], "
		     "\"yes\": true, \"no\": null}\n");
	free(text);
}
