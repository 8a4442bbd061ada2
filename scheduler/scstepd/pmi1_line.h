/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi1_line - a line of the PMI-1 wire protocol taken apart: "cmd=put kvsname=K key=A value=B". Of
 * the commands it knows abort alone, whose last value may hold blanks: "cmd=abort exitcode=7
 * message=out of food".
 */
#ifndef SCHEDULER_SCSTEPD_PMI1_LINE_H
#define SCHEDULER_SCSTEPD_PMI1_LINE_H

#include <stddef.h>

#define PMI1_LINE_MAX 2048 /* bytes with the newline */
#define PMI1_WORDS_MAX 16

struct pmi1_word {
	const char *name;
	const char *value;
};

struct pmi1_line {
	const char *command; /* of cmd= or mcmd=, which stands first */
	size_t n;
	struct pmi1_word words[PMI1_WORDS_MAX]; /* the others */
};

/*
 * @text: @size bytes of a line without its newline, and one more that becomes NUL. It is changed,
 * *@ret points into it. 0 or -EPROTO: no command, a word without "=", a name twice, too many words,
 * a NUL.
 */
int pmi1_line_decode(struct pmi1_line *ret, char *text, size_t size);
/* NULL: not there. */
const char *pmi1_line_get(const struct pmi1_line *line, const char *name);

#endif
