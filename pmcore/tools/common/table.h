/* SPDX-License-Identifier: BSD-3-Clause */
/* table - rows of right-aligned columns of one width, written as they come. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdint.h>
#include <stdio.h>

#define TABLE_WIDTH 13 /* characters of a column */

/* @titles ends with NULL. */
void table_titles(FILE *out, const char *const *titles);
void table_count(FILE *out, uint64_t value);
/* As many digits behind the point as make four or more in all: 0.0531, 12.35, 1065.2, 2310042. */
void table_number(FILE *out, double value);
void table_text(FILE *out, const char *text);
void table_end_row(FILE *out);

/* Writes @value as table_number does, without padding. */
void table_format(double value, char *text, size_t room);

#endif
