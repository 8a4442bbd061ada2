// SPDX-License-Identifier: BSD-3-Clause
/* table - formatting of cells. */
#include "pmcore/tools/common/table.h"

#include <inttypes.h>
#include <math.h>

void table_format(double value, char *text, size_t room)
{
	double size = fabs(value);
	int digits = size == 0      ? 0
		     : size < 1     ? 4
		     : size < 10    ? 3
		     : size < 100   ? 2
		     : size < 10000 ? 1
				    : 0;

	snprintf(text, room, "%.*f", digits, value);
}

void table_titles(FILE *out, const char *const *titles)
{
	for (; *titles; titles++)
		table_text(out, *titles);
	table_end_row(out);
}

void table_count(FILE *out, uint64_t value)
{
	fprintf(out, "%*" PRIu64, TABLE_WIDTH, value);
}

void table_number(FILE *out, double value)
{
	char text[32];

	table_format(value, text, sizeof(text));
	fprintf(out, "%*s", TABLE_WIDTH, text);
}

void table_text(FILE *out, const char *text)
{
	fprintf(out, "%*s", TABLE_WIDTH, text);
}

void table_end_row(FILE *out)
{
	fputc('\n', out);
}
