// SPDX-License-Identifier: BSD-3-Clause
/* lease: how a process comes to its context where pm-ethernetd is being started anew. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pm-ethernet/device.h"
#include "pm-ethernet/ethernet.h"
#include "pmcore/util/conf.h"
#include "tests/harness/tap.h"

static void take_place(int fd, const char *path, const char *at)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", at);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) || listen(fd, 1) ||
	    (strcmp(at, path) && rename(at, path)))
		_exit(1);
}

/* A daemon that was killed, and is started anew 100 ms later: it is waited for, and asked. */
TAP_TEST(open__daemon_that_is_started_anew)
{
	static const struct timespec pause = {.tv_nsec = 100000000};
	char directory[] = "/tmp/pm-ethernet-test-XXXXXX", path[64], fresh[64], config[128];
	int killed = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status = 0;
	struct conf conf;
	struct stats_link link;
	struct stats_rail rails[PM_RAILS_MAX];
	char why[400] = "";
	struct pm_device_env env = {.conf = &conf,
				    .stats = &link,
				    .rails = rails,
				    .job_key = 1,
				    .why = why,
				    .why_size = sizeof(why)};
	struct pm_dev *dev;
	pid_t pid;

	must(killed >= 0 && mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(fresh, sizeof(fresh), "%s/socket.new", directory);
	snprintf(config, sizeof(config), "ethernet.socket=%s", path);
	take_place(killed, path, path);
	close(killed);
	pid = fork();
	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		alarm(20);
		nanosleep(&pause, NULL);
		take_place(fd, path, fresh);
		_exit(accept(fd, NULL, NULL) < 0);
	}
	must(pid > 0);
	conf_defaults(&conf);
	is_int(conf_parse(&conf, config, why, sizeof(why)), 0);
	ok(pm_ethernet_ops.open(&env, NULL, &dev) < 0);
	okf(strstr(why, "pm-ethernetd") != NULL, "%s", why);
	is_int(waitpid(pid, &status, 0), pid);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	unlink(path);
	rmdir(directory);
}
