/* SPDX-License-Identifier: BSD-3-Clause */
/* Test support: contexts that have the device self only, and handles that are none. */
#ifndef TESTS_UNIT_API_SELF_H
#define TESTS_UNIT_API_SELF_H

#include <errno.h>
#include <string.h>

#include "pm.h"
#include "tests/harness/tap.h"

#define SELF_NODE 5

static inline pmContext self_open(void)
{
	struct pmOptions options = {
		.size = sizeof(options), .self = SELF_NODE, .config = "devices=self"};
	pmContext ctx = PM_CONTEXT_NONE;

	okf(!pmOpenContext(&options, &ctx), "%s", pmLastError());
	return ctx;
}

/* A handle that was valid and is not any more. */
static inline pmContext self_closed(void)
{
	pmContext ctx = self_open();

	is_int(pmCloseContext(ctx), 0);
	return ctx;
}

/* Whether the last error's sentence speaks of @what. */
static inline bool self_said(const char *what)
{
	return okf(strstr(pmLastError(), what) != NULL, "\"%s\" lacks \"%s\"", pmLastError(), what);
}

/* Receives one datagram and compares it. */
static inline bool self_expect(pmContext ctx, const char *text)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	return is_int(pmReceive(ctx, &buf, &len, &src, &desc), 0) && is_int(src, SELF_NODE) &&
	       is_int(len, strlen(text)) && is_mem(buf, text, strlen(text)) &&
	       is_int(pmReleaseReceiveBuffer(ctx, desc), 0);
}

#endif
