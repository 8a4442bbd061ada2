// SPDX-License-Identifier: BSD-3-Clause
/* Tests of device/composite.c through the public calls: which link a node gets. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm.h"
#include "pmcore/api/context.h"
#include "tests/harness/tap.h"

#define CANNOT 77

/* Two contexts of one job that know each other. */
struct couple {
	pmContext ctx[2];
	int err; /* of the second getting to know the first */
};

static bool open_couple(struct couple *c, const char *dir, const char *devices)
{
	uint8_t address[2][PM_ADDRESS_MAX];
	size_t len[2] = {PM_ADDRESS_MAX, PM_ADDRESS_MAX};
	char config[200];

	snprintf(config, sizeof(config), "devices=%s,udp.rails=lo,shmem.dir=%s", devices, dir);
	for (uint32_t i = 0; i < 2; i++) {
		struct pmOptions options = {.size = sizeof(options),
					    .job_key = (uint64_t)getpid(),
					    .self = i,
					    .local = 2,
					    .config = config};

		if (pmOpenContext(&options, &c->ctx[i])) {
			tap_diag("%s", pmLastError());
			return false;
		}
	}
	for (int i = 0; i < 2; i++)
		if (pmGetAddress(c->ctx[i], address[i], &len[i]))
			return false;
	pmAddNode(c->ctx[0], 1, address[1], len[1]);
	c->err = pmAddNode(c->ctx[1], 0, address[0], len[0]);
	return true;
}

/* Whether a message of the second context comes to the first by @device. */
static bool passes(struct couple *c, const char *device)
{
	const char *name;
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	if (pmGetDeviceName(c->ctx[1], 0, &name) || strcmp(name, device) ||
	    pmGetSendBuffer(c->ctx[1], 0, 100, &buf, &desc))
		return false;
	memset(buf, 1, 100);
	return !pmSend(c->ctx[1], desc) && !pmWait(c->ctx[0], 5000) &&
	       !pmReceive(c->ctx[0], &buf, &len, &src, &desc) && src == 1 && len == 100;
}

/* A file system with room for the segment, and none for a ring. */
static int on_small(const char *dir, const char *devices, int want)
{
	struct couple c;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=84k"))
		return CANNOT;
	if (!open_couple(&c, dir, devices))
		return 1;
	if (c.err != want) {
		tap_diag("%s: error %d, %s", devices, c.err, pmLastError());
		return 2;
	}
	if (want)
		return strstr(pmLastError(), dir) ? 0 : 3;
	return passes(&c, "udp") ? 0 : 4;
}

static void try_small(const char *devices, int want)
{
	char dir[] = "/tmp/composite-test-XXXXXX";
	int status = 0;
	pid_t pid;

	must(mkdtemp(dir));
	pid = fork();
	if (!pid)
		_exit(on_small(dir, devices, want));
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	rmdir(dir);
	if (WEXITSTATUS(status) == CANNOT)
		tap_skip("cannot mount a file system here");
	else
		is_int(WEXITSTATUS(status), 0);
}

TAP_TEST(composite_add__shmem_full_and_udp_there)
{
	try_small("self+shmem+udp", 0);
}

TAP_TEST(composite_add__shmem_full_and_nothing_else)
{
	try_small("self+shmem", ENOSPC);
}

/* The note of a context with these options, in @ret. */
static void note_of(const char *config, char *ret, size_t size)
{
	struct pmOptions options = {
		.size = sizeof(options), .job_key = 5, .self = 1, .config = config};
	const char *note = NULL;
	pmContext ctx;

	ret[0] = '\0';
	if (!is_int(pmOpenContext(&options, &ctx), PM_SUCCESS))
		return;
	is_int(pmGetNote(ctx, NULL), EINVAL);
	if (is_int(pmGetNote(ctx, &note), PM_SUCCESS) && ok(note != NULL))
		snprintf(ret, size, "%s", note);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
	is_int(pmGetNote(ctx, &note), EBADF);
}

#define NO_DAEMON ",ethernet.socket=/nonexistent/socket,udp.rails=lo"

static uint32_t n_asked;

static int nothing_comes(struct pm_link *link, struct pm_inbound *ret)
{
	(void)link, (void)ret;
	n_asked++;
	return 0;
}

/* How often udp is asked in 6400 rounds. */
static uint32_t udp_asked(pmContext ctx)
{
	pmNode src;
	pmDesc desc;
	size_t len;
	void *buf;

	n_asked = 0;
	for (int i = 0; i < 6400; i++)
		if (pmReceive(ctx, &buf, &len, &src, &desc) == PM_SUCCESS)
			pmReleaseReceiveBuffer(ctx, desc);
	return n_asked;
}

/* A look costs a system call, and a program may ask between any two steps of its work. */
TAP_TEST(composite_poll__device_that_reaches_no_node)
{
	struct composite_slot *udp = NULL;
	uint8_t address[PM_ADDRESS_MAX];
	size_t room = sizeof(address);
	struct composite *c;
	struct couple couple;
	char dir[] = "/tmp/composite.XXXXXX";
	pmContext other;
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = 2,
				    .config = "devices=self+udp,udp.rails=lo"};

	must(mkdtemp(dir));
	if (!ok(open_couple(&couple, dir, "self+shmem+udp")))
		return;
	c = context_get(couple.ctx[0])->c;
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!strcmp(c->slots[i].name, "udp"))
			udp = &c->slots[i];
	if (!ok(udp != NULL))
		return;
	udp->ops.receive = nothing_comes;
	is_int(udp_asked(couple.ctx[0]), 400);
	is_int(pmOpenContext(&options, &other), PM_SUCCESS);
	is_int(pmGetAddress(other, address, &room), PM_SUCCESS);
	is_int(pmAddNode(couple.ctx[0], 2, address, room), PM_SUCCESS);
	is_int(udp_asked(couple.ctx[0]), 6400);
	pmCloseContext(other);
	pmCloseContext(couple.ctx[0]);
	pmCloseContext(couple.ctx[1]);
	rmdir(dir);
}

TAP_TEST(pmGetNote__named_device_not_open)
{
	char note[600];

	note_of("devices=self+ethernet+udp" NO_DAEMON, note, sizeof(note));
	ok(strstr(note, "pm-ethernetd") != NULL);
	ok(strstr(note, "/nonexistent/socket") != NULL);
	ok(strchr(note, '\n') == NULL);
}

TAP_TEST(pmGetNote__nothing_to_say)
{
	char note[600];

	/* nobody asked for ethernet */
	unsetenv("PM_OPTIONS");
	note_of("shmem.ring=64K" NO_DAEMON, note, sizeof(note));
	is_str(note, "");
	note_of("devices=self+udp" NO_DAEMON, note, sizeof(note));
	is_str(note, "");
}

TAP_TEST(pmOpenContext__ethernet_alone_without_daemon)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = 5,
				    .self = 1,
				    .config = "devices=ethernet" NO_DAEMON};
	pmContext ctx = PM_CONTEXT_NONE;

	is_int(pmOpenContext(&options, &ctx), ENODEV);
	ok(strstr(pmLastError(), "start it as root") != NULL);
}
