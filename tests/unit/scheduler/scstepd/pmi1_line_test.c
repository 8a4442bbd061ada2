// SPDX-License-Identifier: BSD-3-Clause
/* pmi1_line: lines of ranks, right and wrong ones. */
#include "scheduler/scstepd/pmi1_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/tap.h"

static char text[PMI1_LINE_MAX];
static struct pmi1_line line;

/* The byte behind the line is the caller's: the decoder must end the line there. */
static int decode(const char *from, size_t size)
{
	memset(text, 'x', sizeof(text));
	memcpy(text, from, size);
	return pmi1_line_decode(&line, text, size);
}

static int decode_text(const char *from)
{
	return decode(from, strlen(from));
}

TAP_TEST(pmi1_line_decode__command_and_words)
{
	is_int(decode_text("cmd=put kvsname=K key=A value=B"), 0);
	is_str(line.command, "put");
	is_int(line.n, 3);
	is_str(pmi1_line_get(&line, "kvsname"), "K");
	is_str(pmi1_line_get(&line, "key"), "A");
	is_str(pmi1_line_get(&line, "value"), "B");
	ok(!pmi1_line_get(&line, "cmd"));
	ok(!pmi1_line_get(&line, "val"));
	ok(!pmi1_line_get(&line, "values"));
}

TAP_TEST(pmi1_line_decode__values_that_look_odd)
{
	is_int(decode_text("cmd=put key= value==a=b="), 0);
	is_str(pmi1_line_get(&line, "key"), "");
	is_str(pmi1_line_get(&line, "value"), "=a=b=");
	is_int(decode_text("  cmd=get   key=A  "), 0);
	is_str(line.command, "get");
	is_int(line.n, 1);
	is_int(decode_text("mcmd=spawn"), 0);
	is_str(line.command, "spawn");
	is_int(line.n, 0);
	is_int(decode_text("cmd="), 0);
	is_str(line.command, "");
}

TAP_TEST(pmi1_line_decode__the_command_stands_first)
{
	is_int(decode_text("key=A cmd=get"), -EPROTO);
	is_int(decode_text("xcmd=get"), -EPROTO);
	is_int(decode_text("cmdx=get"), -EPROTO);
	is_int(decode_text(""), -EPROTO);
	is_int(decode_text("   "), -EPROTO);
	/* Behind the first one cmd is a name as any other. */
	is_int(decode_text("cmd=get cmd=put"), 0);
	is_str(line.command, "get");
}

TAP_TEST(pmi1_line_decode__words_without_name_or_value)
{
	is_int(decode_text("cmd"), -EPROTO);
	is_int(decode_text("=get"), -EPROTO);
	is_int(decode_text("cmd=get key"), -EPROTO);
	is_int(decode_text("cmd=get =A"), -EPROTO);
	is_int(decode_text("cmd=get key=A key=A"), -EPROTO);
}

TAP_TEST(pmi1_line_decode__a_zero_byte)
{
	is_int(decode("cmd=get\0key=A", 13), -EPROTO);
	is_int(decode("cmd=get key=A\0", 14), -EPROTO);
	is_int(decode("\0", 1), -EPROTO);
}

static int decode_words(size_t n)
{
	char many[PMI1_LINE_MAX];
	int size = snprintf(many, sizeof(many), "cmd=put");

	for (size_t i = 0; i < n; i++)
		size += snprintf(many + size, sizeof(many) - (size_t)size, " n%zu=%zu", i, i);
	return decode(many, (size_t)size);
}

TAP_TEST(pmi1_line_decode__as_many_words_as_there_is_room_for)
{
	is_int(decode_words(PMI1_WORDS_MAX), 0);
	is_int(line.n, PMI1_WORDS_MAX);
	is_str(pmi1_line_get(&line, "n15"), "15");
	is_int(decode_words(PMI1_WORDS_MAX + 1), -EPROTO);
}

TAP_TEST(pmi1_line_decode__reason_of_an_abort)
{
	is_int(decode_text("cmd=abort exitcode=7 message=out of = food"), 0);
	is_str(line.command, "abort");
	is_str(pmi1_line_get(&line, "exitcode"), "7");
	is_str(pmi1_line_get(&line, "message"), "out of = food");
	is_int(decode_text("cmd=abort message=alone"), 0);
	is_str(pmi1_line_get(&line, "message"), "alone");
	/* Of no other command, and of no other name. */
	is_int(decode_text("cmd=put message=out of food"), -EPROTO);
	is_int(decode_text("cmd=abort messages=out of food"), -EPROTO);
	is_int(decode_text("message=out of food cmd=abort"), -EPROTO);
}
