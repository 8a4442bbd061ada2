// SPDX-License-Identifier: BSD-3-Clause
/* harmless: which characters stay, and what stands in the place of others. */
#include "pmcore/util/harmless.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static void makes(const char *text, const char *want)
{
	char *made = strdup(text);

	must(made);
	harmless_make(made);
	is_str(made, want);
	free(made);
}

TAP_TEST(harmless_make__what_can_be_read_stays)
{
	makes("", "");
	makes("plain\ttext ~", "plain\ttext ~");
	makes("Grüße, 世界, 🙂", "Grüße, 世界, 🙂");
	makes("\xf4\x80\x80", "???");
}

TAP_TEST(harmless_make__control_characters)
{
	makes("\x1b]0;t\x07\r\n\x7f", "?]0;t????");
	makes("a\xc2\x9b"
	      "2Jb",
	      "a?2Jb");
	makes("\xc2\x9d"
	      "52;c\xc2\x9c\xc2\x80\xc2\x9f",
	      "?52;c???");
}

TAP_TEST(harmless_make__direction_and_what_is_not_seen)
{
	makes("x\xe2\x80\xaey\xe2\x81\xa6z\xe2\x80\x8f", "x?y?z?");
	makes("\xef\xbb\xbf\xe2\x80\xa8\xd8\x9c\xf3\xa0\x80\x81", "????");
}

TAP_TEST(harmless_make__no_utf8)
{
	makes("\x9b"
	      "31m\xff\xfe",
	      "?31m??");
	/* Longer than they need be, a surrogate, beyond the last character, cut off. */
	makes("\xc0\x9b\xe0\x82\x9b\xf0\x80\x82\x9b", "?????????");
	makes("\xed\xa0\x80", "?");
	makes("\xf4\x90\x80\x80", "????");
	makes("a\xe2\x82", "a??");
	makes("\xe2\x1b[m", "??[m");
}
