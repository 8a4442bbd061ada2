// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <stdlib.h>

#include "tests/unit/api/self.h"

TAP_TEST(pmErrorString__own_codes_and_others)
{
	static const int codes[] = {PM_SUCCESS, ENOBUFS, EPIPE, EBADF,     EHOSTUNREACH, ENODEV,
				    EINVAL,     EACCES,  EBUSY, ETIMEDOUT, ENOMEM,       ENOSPC};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		for (size_t j = 0; j < i; j++)
			okf(strcmp(pmErrorString(codes[i]), pmErrorString(codes[j])) != 0,
			    "%d and %d: %s", codes[i], codes[j], pmErrorString(codes[i]));
	is_str(pmErrorString(PM_SUCCESS), "success");
	is_str(pmErrorString(ENOSPC), strerrordesc_np(ENOSPC));
	is_str(pmErrorString(-1), "unknown error");
	is_str(pmErrorString(99999), "unknown error");
}

static void *last_of_new_thread(void *arg)
{
	(void)arg;
	return strdup(pmLastError());
}

TAP_TEST(pmLastError__is_the_thread_s_own)
{
	pthread_t thread;
	void *text = NULL;

	is_int(pmOpenContext(NULL, NULL), EINVAL);
	ok(pmLastError()[0] != '\0');
	must(!pthread_create(&thread, NULL, last_of_new_thread, NULL));
	must(!pthread_join(thread, &text) && text);
	is_str(text, "");
	free(text);
}

TAP_TEST(pmLastError__names_the_thing)
{
	pmContext ctx = self_open();
	size_t mtu = 77;

	is_int(pmGetMtu(ctx, 4711, &mtu), EHOSTUNREACH);
	self_said("4711");
	is_int(mtu, 77);
	is_int(pmGetMtu(ctx, SELF_NODE, NULL), EINVAL);
	self_said("pmGetMtu");
	is_int(pmCloseContext(ctx), 0);
}
