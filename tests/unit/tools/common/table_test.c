// SPDX-License-Identifier: BSD-3-Clause
/* table - digits of numbers and the width of columns. */
#include "pmcore/tools/common/table.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(table_format__digits)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"},          {0.05312, "0.0531"}, {9.8765, "9.877"},
		     {12.349, "12.35"}, {1065.24, "1065.2"}, {2310042.4, "2310042"}};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		table_format(cases[i].value, text, sizeof(text));
		is_str(text, cases[i].text);
	}
}

TAP_TEST(table__columns_are_of_one_width)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	must(out != NULL);
	table_text(out, "a");
	table_count(out, 12);
	table_number(out, 1.5);
	table_end_row(out);
	fclose(out);
	is_int(len, 3 * TABLE_WIDTH + 1);
	is_int(text[TABLE_WIDTH - 1], 'a');
	is_int(text[2 * TABLE_WIDTH - 1], '2');
	free(text);
}
