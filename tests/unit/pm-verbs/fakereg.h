/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fakereg - registers memory in a list instead of a device: what the cache's tests count. A
 * registration remembers the first word of each page when asked to, as a device remembers the pages
 * themselves.
 */
#ifndef TESTS_UNIT_PM_VERBS_FAKEREG_H
#define TESTS_UNIT_PM_VERBS_FAKEREG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/hw/regcache.h"
#include "tests/harness/tap.h"

#define FAKE_PAGE 4096u
#define FAKE_PAGES 64 /* of which the words are remembered */

struct fake_mr {
	uintptr_t start, end;
	int access;
	uint64_t words[FAKE_PAGES];
	struct fake_mr *next;
};

struct fake {
	struct fake_mr *live;
	uint32_t n_live, n_reg, n_dereg; /* now; successful so far */
	uint64_t bytes;                  /* registered now */
	int reg_fails_in;                /* calls until one fails, -1 = never */
	int reg_error;                   /* what it says then */
	int dereg_fails_in;
	uint64_t room;     /* -ENOMEM above, bytes; 0 = endless */
	bool is_transient; /* so says reg */
	bool is_reading;   /* words are remembered */
	/* One shall go, and does unless that is refused; or NULL. */
	void (*told)(void *arg, const struct fake_mr *mr, bool is_refused);
	void *arg;
};

#define FAKE_INIT                                                                                  \
	{                                                                                          \
		.reg_fails_in = -1, .dereg_fails_in = -1, .reg_error = -EIO                        \
	}

static inline int fake_reg(void *arg, void *addr, size_t len, int access, void **ret_mr)
{
	struct fake *fake = arg;
	struct fake_mr *mr;

	if (fake->reg_fails_in >= 0 && !fake->reg_fails_in--)
		return fake->reg_error;
	if (fake->room && fake->bytes + len > fake->room)
		return -ENOMEM;
	okf(len > 0 && len % FAKE_PAGE == 0 && (uintptr_t)addr % FAKE_PAGE == 0, "whole pages");
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->start = (uintptr_t)addr;
	mr->end = mr->start + len;
	mr->access = access;
	for (size_t i = 0; fake->is_reading && i < len / FAKE_PAGE && i < FAKE_PAGES; i++)
		mr->words[i] = *(volatile uint64_t *)((char *)addr + i * FAKE_PAGE);
	mr->next = fake->live;
	fake->live = mr;
	fake->n_live++;
	fake->n_reg++;
	fake->bytes += len;
	*ret_mr = mr;
	return fake->is_transient ? REGCACHE_TRANSIENT : 0;
}

static inline int fake_dereg(void *arg, void *gone)
{
	struct fake *fake = arg;
	struct fake_mr **at = &fake->live, *mr;
	bool is_refused = fake->dereg_fails_in >= 0 && !fake->dereg_fails_in--;

	while (*at && *at != gone)
		at = &(*at)->next;
	mr = *at;
	if (!okf(mr != NULL, "deregistered what is not registered"))
		return 0;
	if (fake->told)
		fake->told(fake->arg, mr, is_refused);
	if (is_refused)
		return -EBUSY;
	*at = mr->next;
	fake->n_live--;
	fake->n_dereg++;
	fake->bytes -= mr->end - mr->start;
	free(mr);
	return 0;
}

static const struct regcache_ops fake_ops = {.reg = fake_reg, .dereg = fake_dereg};

#endif
