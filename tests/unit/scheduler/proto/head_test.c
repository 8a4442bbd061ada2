// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/head.h"
#include "tests/harness/tap.h"

TAP_TEST(head_cut__at_a_whole_letter)
{
	char none[8] = "";

	is_int(head_cut(none, 4), 0);
	is_int(head_cut("abc", 4), 3);
	is_int(head_cut("abcde", 4), 4);
	/* of two bytes */
	is_int(head_cut("a\xc3\xa9", 3), 3);
	is_int(head_cut("a\xc3\xa9x", 2), 1);
	is_int(head_cut("\xc3\xa9\xc3\xa9", 3), 2);
	/* of four */
	for (size_t max = 1; max < 5; max++)
		is_int(head_cut("x\xf0\x9f\x98\x80y", max), 1);
	is_int(head_cut("x\xf0\x9f\x98\x80y", 5), 5);
	/* bytes that begin no letter */
	is_int(head_cut("\x80\x80\x80\x80", 2), 0);
}

TAP_TEST(head_text__of_no_text)
{
	json_t *head = json_pack("{s:i}", "text", 1);

	is_str(head_text(head, "text"), "");
	is_str(head_text(head, "other"), "");
	is_int(head_number(head, "text"), 1);
	json_decref(head);
}
