// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/ethhosts.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RAILS 2

/* A process in namespaces of its own: a host's daemon, or a sleeper that keeps the switches. */
struct holder {
	pid_t pid;
	int said; /* what it says: a byte when its namespaces are there, then its output */
	int go;   /* a byte lets it start the daemon; end of file ends it */
};

static struct {
	bool is_tried;
	char why[200]; /* "" when the hosts are there */
	char dir[64];
	char daemon[PATH_MAX + 32];
	struct holder hosts[ETHHOSTS], switches;
	pid_t owner;
} all;

__attribute__((format(printf, 1, 2))) static bool run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (!system(command))
		return true;
	snprintf(all.why, sizeof(all.why), "command failed: %.150s", command);
	return false;
}

/* The daemon of a host in the place of this process. */
static void become_daemon(unsigned int host)
{
	char dir[96], id[16];

	snprintf(dir, sizeof(dir), "%s/h%u", all.dir, host);
	snprintf(id, sizeof(id), "%u", host + 1);
	execl(all.daemon, all.daemon, "--nics", "eth0,eth1", "--run", dir, "--host-id", id,
	      (char *)NULL);
	_exit(127);
}

static bool start(struct holder *h, int host)
{
	int said[2], go[2];
	char byte;

	if (pipe(said) || pipe(go))
		return false;
	h->pid = fork();
	if (!h->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(said[0]);
		close(go[1]);
		if (unshare(CLONE_NEWNET | CLONE_NEWNS) || write(said[1], "", 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(1);
		dup2(said[1], STDOUT_FILENO);
		if (host >= 0)
			become_daemon((unsigned int)host);
		_exit(read(go[0], &byte, 1) > 0);
	}
	close(said[1]);
	close(go[0]);
	h->said = said[0];
	h->go = go[1];
	return h->pid > 0 && read(h->said, &byte, 1) == 1;
}

static bool wire(unsigned int host)
{
	int s = all.switches.pid, h = all.hosts[host].pid;

	for (unsigned int r = 0; r < RAILS; r++)
		if (!run("nsenter -t %d -n ip link add h%ur%u type veth peer name eth%u netns %d "
			 "&& nsenter -t %d -n ip link set h%ur%u master br%u up "
			 "&& nsenter -t %d -n ip link set eth%u addrgenmode none up",
			 s, host, r, r, h, s, host, r, r, h, r))
			return false;
	return true;
}

static bool wire_all(void)
{
	for (unsigned int r = 0; r < RAILS; r++)
		if (!run("nsenter -t %d -n ip link add br%u type bridge mcast_snooping 0 && "
			 "nsenter -t %d -n ip link set br%u up",
			 all.switches.pid, r, all.switches.pid, r))
			return false;
	for (unsigned int i = 0; i < ETHHOSTS; i++)
		if (!wire(i))
			return false;
	return true;
}

/* Lets the daemon go and waits for the line that says it is ready. */
static bool launch(unsigned int host)
{
	struct holder *h = &all.hosts[host];
	char line[256] = "";
	size_t used = 0;

	if (write(h->go, "", 1) != 1)
		return false;
	while (used < sizeof(line) - 1 && !strchr(line, '\n')) {
		ssize_t n = read(h->said, line + used, sizeof(line) - 1 - used);

		if (n <= 0)
			break;
		used += (size_t)n;
		line[used] = '\0';
	}
	if (strstr(line, "ready"))
		return true;
	snprintf(all.why, sizeof(all.why), "pm-ethernetd does not start: %.150s", line);
	return false;
}

static void stop(struct holder *h)
{
	if (h->pid <= 0)
		return;
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
	h->pid = 0;
}

static void clean_up(void)
{
	if (getpid() != all.owner)
		return;
	for (unsigned int i = 0; i < ETHHOSTS; i++)
		stop(&all.hosts[i]);
	stop(&all.switches);
	run("rm -rf %s", all.dir);
}

/* bin/pm-ethernetd of the build that this program belongs to: some directory above it. */
static bool find_daemon(void)
{
	char dir[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	if (n < 0)
		return false;
	dir[n] = '\0';
	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		snprintf(all.daemon, sizeof(all.daemon), "%s/bin/pm-ethernetd", dir);
		if (!access(all.daemon, X_OK))
			return true;
	}
	return false;
}

static void make(void)
{
	if (geteuid()) {
		strcpy(all.why, "needs root: namespaces with network cards");
		return;
	}
	if (!find_daemon()) {
		strcpy(all.why, "pm-ethernetd is not built");
		return;
	}
	strcpy(all.dir, "/tmp/pm-ethhosts-XXXXXX");
	strcpy(all.why, "no namespaces here");
	if (!mkdtemp(all.dir))
		return;
	all.owner = getpid();
	atexit(clean_up);
	for (int i = 0; i < ETHHOSTS; i++)
		if (!start(&all.hosts[i], i))
			return;
	if (!start(&all.switches, -1) || !wire_all())
		return;
	for (unsigned int i = 0; i < ETHHOSTS; i++)
		if (!launch(i))
			return;
	all.why[0] = '\0';
}

const char *ethhosts_configs(const char *attach, char ret_configs[ETHHOSTS][ETHHOSTS_CONFIG])
{
	if (!all.is_tried) {
		all.is_tried = true;
		make();
	}
	for (unsigned int i = 0; i < ETHHOSTS && !all.why[0]; i++)
		snprintf(ret_configs[i], ETHHOSTS_CONFIG,
			 "devices=self+ethernet,ethernet.attach=%s,ethernet.socket=%s/h%u/socket",
			 attach, all.dir, i);
	return all.why[0] ? all.why : NULL;
}
