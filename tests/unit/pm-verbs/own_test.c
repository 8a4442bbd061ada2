// SPDX-License-Identifier: BSD-3-Clause
/* The tests of whole links once more, on devices without shared receives. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static void run_again(const char *name)
{
	char self[PATH_MAX - 64], command[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	must(len > 0);
	self[len] = '\0';
	must(strrchr(self, '/') != NULL);
	*strrchr(self, '/') = '\0';
	/* its lines are remarks here */
	snprintf(command, sizeof(command),
		 "bash -o pipefail -c 'FAKE_SRQ=0 %s/%s | sed \"s/^/# /\"'", self, name);
	is_int(system(command), 0);
}

TAP_TEST(link__without_shared_receives)
{
	run_again("link_test");
}

TAP_TEST(rma__without_shared_receives)
{
	run_again("data/rma_test");
}

TAP_TEST(sleep__without_shared_receives)
{
	run_again("sleep_test");
}

TAP_TEST(fault__without_shared_receives)
{
	run_again("fault_test");
}

TAP_TEST(local__without_shared_receives)
{
	run_again("hw/local_test");
}

TAP_TEST(bound__without_shared_receives)
{
	run_again("conn/bound_test");
}

TAP_TEST(closing__without_shared_receives)
{
	run_again("conn/closing_test");
}

TAP_TEST(places__without_shared_receives)
{
	run_again("conn/places_test");
}

TAP_TEST(lives__without_shared_receives)
{
	run_again("conn/lives_test");
}
