// SPDX-License-Identifier: BSD-3-Clause
/* label: lines come out whole whatever pieces they come in. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/scrun/label.h"
#include "tests/harness/tap.h"

struct heard {
	char text[512]; /* lines, each in < > */
	size_t lines, bytes;
};

static void hear(const char *line, size_t size, void *owner)
{
	struct heard *heard = owner;

	heard->lines++;
	heard->bytes += size;
	if (strlen(heard->text) + size + 3 > sizeof(heard->text))
		return;
	strcat(heard->text, "<");
	strncat(heard->text, line, size);
	strcat(heard->text, ">");
}

TAP_TEST(label_feed__all_split_points)
{
	static const char text[] = "one\n\ntwo three\nx\nlast";
	size_t size = sizeof(text) - 1;

	for (size_t i = 0; i <= size; i++)
		for (size_t j = i; j <= size; j++) {
			struct label_line line = {0};
			struct heard heard = {0};

			is_int(label_feed(&line, text, i, hear, &heard), 0);
			is_int(label_feed(&line, text + i, j - i, hear, &heard), 0);
			is_int(label_feed(&line, text + j, size - j, hear, &heard), 0);
			is_str(heard.text, "<one><><two three><x>");
			label_end(&line, hear, &heard);
			is_str(heard.text, "<one><><two three><x><last>");
			label_fini(&line);
		}
}

TAP_TEST(label_feed__long_lines_are_cut)
{
	static const size_t sizes[] = {LABEL_LINE_MAX - 1, LABEL_LINE_MAX, LABEL_LINE_MAX + 1,
				       2 * LABEL_LINE_MAX, 3 * LABEL_LINE_MAX + 5};
	static const size_t lines[] = {1, 1, 2, 2, 4}, pieces[] = {1 << 20, 1000, 4096};
	char *text = malloc(4 * LABEL_LINE_MAX);

	must(text);
	memset(text, 'a', 4 * LABEL_LINE_MAX);
	for (size_t i = 0; i < 5; i++)
		for (size_t p = 0; p < 3; p++) {
			struct label_line line = {0};
			struct heard heard = {0};

			text[sizes[i]] = '\n';
			for (size_t at = 0; at <= sizes[i]; at += pieces[p])
				label_feed(&line, text + at,
					   sizes[i] + 1 - at < pieces[p] ? sizes[i] + 1 - at
									 : pieces[p],
					   hear, &heard);
			is_int(heard.lines, lines[i]);
			is_int(heard.bytes, sizes[i]);
			label_fini(&line);
			text[sizes[i]] = 'a';
		}
	free(text);
}

TAP_TEST(label_end__nothing_is_no_line)
{
	struct label_line line = {0};
	struct heard heard = {0};

	label_end(&line, hear, &heard);
	label_feed(&line, "a\n", 2, hear, &heard);
	label_end(&line, hear, &heard);
	is_int(heard.lines, 1);
	label_fini(&line);
}

TAP_TEST(label_text__worlds_and_hosts)
{
	char label[LABEL_MAX];

	label_text(label, 0, 3, "h1");
	is_str(label, "[3 h1] ");
	label_text(label, 2, 3, NULL);
	is_str(label, "[2.3] ");
	label_text(label, 0, 0, NULL);
	is_str(label, "[0] ");
}
