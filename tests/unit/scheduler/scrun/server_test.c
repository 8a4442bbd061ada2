// SPDX-License-Identifier: BSD-3-Clause
/* server: who says where scored is, and the port that may be left out. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/scrun/server.h"
#include "tests/harness/tap.h"

static void check_port(const char *address, const char *want)
{
	char *got = server_with_port(address);

	is_str(got, want);
	free(got);
}

TAP_TEST(server_with_port__names_and_addresses)
{
	check_port("front", "front:7710");
	check_port("front:99", "front:99");
	check_port("10.0.0.1", "10.0.0.1:7710");
	check_port("fe80::1", "[fe80::1]:7710");
	check_port("[fe80::1]", "[fe80::1]:7710");
	check_port("[fe80::1]:99", "[fe80::1]:99");
}

static void check_address(const char *option, const char *want)
{
	char *got = server_address(option);

	is_str(got, want);
	free(got);
}

TAP_TEST(server_address__option_environment_file_this_host)
{
	char path[] = "/tmp/scrun-server-XXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0);
	unsetenv("SCORE_SERVER");
	setenv("SCORE_CLUSTER", path, 1);
	check_address(NULL, "localhost:7710");
	must(dprintf(fd, "{\"scheduler\":{\"server\":\"front\"}}") > 0);
	check_address(NULL, "front:7710");
	setenv("SCORE_SERVER", "other:1", 1);
	check_address(NULL, "other:1");
	check_address("third", "third:7710");
	unlink(path);
	close(fd);
}
