// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/refusals.h"
#include "tests/harness/tap.h"

TAP_TEST(holdings_add_process__remembers)
{
	struct holdings h = {0};
	struct held_process *p;

	ok(!holdings_has(&h, 1));
	p = holdings_add_process(&h, 4711);
	must(p != NULL);
	is_int(p->pid, 4711);
	is_int(p->rank, HOLDINGS_NO_RANK);
	ok(holdings_has(&h, 4711));
	ok(!holdings_has(&h, 4710) && !holdings_has(&h, 4712));
	ok(!holdings_has(&h, -1) && !holdings_has(&h, 0) && !holdings_has(&h, INT32_MAX));
	ok(holdings_add_process(&h, HOLDINGS_PID_MAX - 1) != NULL);
	ok(holdings_has(&h, HOLDINGS_PID_MAX - 1));
	ok(!holdings_add_process(&h, HOLDINGS_PID_MAX));
	holdings_free(&h);
	is_int(h.n_processes, 0);
}

TAP_TEST(holdings_add_file__limit)
{
	struct holdings h = {0};
	size_t n = 0;

	while (holdings_add_file(&h))
		n++;
	is_int(n, HOLDINGS_FILES_MAX);
	is_str(h.trouble, "there are more than 131072 descriptors; make it smaller");
	holdings_trouble(&h, "a second one");
	is_str(h.trouble, "there are more than 131072 descriptors; make it smaller");
	holdings_free(&h);
	is_str(h.trouble, "");
}

TAP_TEST(holdings_text__limit)
{
	static char path[1 << 20];
	struct holdings h = {0};
	size_t n = 0;
	char *text;

	memset(path, 'x', sizeof(path) - 1);
	while ((text = holdings_text(&h, path))) {
		free(text);
		n++;
	}
	is_int(n, HOLDINGS_TEXT_MAX / sizeof(path));
	is_str(h.trouble, "the paths of its files fill more than 32 MiB; make it smaller");
	holdings_free(&h);
}

TAP_TEST(holdings_socket__sorted)
{
	struct holdings h = {0};

	ok(!holdings_socket(&h, 1));
	ok(!holdings_outsider(&h, 1));
	for (uint64_t i = 0; i < 100; i++) {
		holdings_add_socket(&h)->inode = (i * 37 + 5) % 101;
		holdings_add_outsider(&h)->inode = (i * 41 + 5) % 101;
	}
	holdings_sort(&h);
	for (uint64_t i = 0; i < 100; i++) {
		must(holdings_socket(&h, (i * 37 + 5) % 101) != NULL);
		must(holdings_outsider(&h, (i * 41 + 5) % 101) != NULL);
	}
	ok(!holdings_socket(&h, 1000));
	holdings_free(&h);
}

TAP_TEST(inodes_has__twice_and_extremes)
{
	static const uint64_t all[] = {5, 0, UINT64_MAX, 5, 7, 7, 7, 1};
	struct inodes set = {0};

	inodes_sort(&set);
	ok(!inodes_has(&set, 0));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		must(inodes_add(&set, all[i]));
	inodes_sort(&set);
	is_int(set.n, 5);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ok(inodes_has(&set, all[i]));
	ok(!inodes_has(&set, 2) && !inodes_has(&set, 6) && !inodes_has(&set, UINT64_MAX - 1));
	inodes_free(&set);
}

TAP_TEST(refusals_add__harmless_and_bounded)
{
	static char longer[2 * REFUSAL_TEXT_MAX];
	struct refusals list = {.n = 0};

	memset(longer, 'x', sizeof(longer) - 1);
	refusals_add(&list, "a\nb\033[31m\xff");
	is_str(list.lines[0], "a?b?[31m?");
	for (int i = 0; i < REFUSALS_MAX + 5; i++)
		refusals_add(&list, longer);
	is_int(list.n, REFUSALS_MAX);
	is_int(list.n_more, 6);
	is_int(strlen(list.lines[1]), REFUSAL_TEXT_MAX - 1);
	refusals_free(&list);
	is_int(list.n, 0);
}
