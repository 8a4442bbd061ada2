// SPDX-License-Identifier: BSD-3-Clause
/*
 * verbs among the devices that nobody named: used where it can be, mentioned only where it could be
 * and may not.
 */
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm.h"

static pmContext open_context(void)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = 5,
				    .self = 1,
				    .config = "ethernet.socket=/nonexistent/socket,udp.rails=lo"};
	pmContext ctx = PM_CONTEXT_NONE;

	unsetenv("PM_OPTIONS");
	is_int(pmOpenContext(&options, &ctx), PM_SUCCESS);
	return ctx;
}

/* Of a context with the devices that there are when none is named. */
static void is_note(const char *part)
{
	pmContext ctx = open_context();
	const char *note;

	is_int(pmGetNote(ctx, &note), PM_SUCCESS);
	if (*part)
		okf(strstr(note, part) != NULL, "\"%s\"", note);
	else
		is_str(note, "");
	is_int(pmCloseContext(ctx), PM_SUCCESS);
}

static bool has_verbs(void)
{
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	pmContext ctx = open_context();

	is_int(pmGetAddress(ctx, address, &len), PM_SUCCESS);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
	return memmem(address, len, "verbs", 5) != NULL;
}

TAP_TEST(default_devices__verbs_where_there_is_a_device)
{
	fake_begin(1);
	ok(has_verbs());
	is_note("");
	fake_end();
	fake_begin(0);
	ok(!has_verbs());
	is_note("");
	fake_end();
}

TAP_TEST(default_devices__a_device_that_may_not_be_used)
{
	fake_begin(1);
	fake_fail(FAKE_OPEN_DEVICE, 1, EACCES);
	is_note("no permission for /dev/infiniband/uverbs0");
	fake_begin(1);
	fake_fail(FAKE_REG_MR, 1, ENOMEM);
	is_note("RLIMIT_MEMLOCK");
	is_int(fake.live, 0);
	fake_end();
}
