// SPDX-License-Identifier: BSD-3-Clause
/*
 * control: scstepds that come back, and others who connect to that socket. The test is both: which
 * of them it is depends on the step's pid and user.
 */
#include "scheduler/scnoded/control.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/scheduler/scnoded/control_world.h"

#define REJOIN "{\"op\":\"rejoin\",\"id\":7}"

static struct sockaddr_un address(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/scnoded.sock", w.run);
	return to;
}

/* A descriptor. Whether it is let in is seen after the loop has run. */
static int connect_only(void)
{
	struct sockaddr_un to = address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	is_int(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* The connection that scnoded has then; NULL: it was closed at once. */
static struct link *come(void)
{
	size_t before = w.n_links;
	int fd = connect_only();
	char byte;

	pass(0);
	if (w.n_links == before)
		is_int(read(fd, &byte, 1), 0);
	else
		is_int(w.links[before].uid, getuid());
	close(fd);
	return w.n_links > before ? &w.links[before] : NULL;
}

TAP_TEST(control_rejoin__is_tied_again)
{
	struct link *link;

	begin_alone();
	link = come();
	must(link);
	ok(!w.step.control && w.step.is_returning);
	says_at(link, REJOIN);
	ok(w.step.control == link && !link->is_closed && !w.step.is_returning);
	is_str(w.sent, "rejoined;");
	is_int(w.n_invited, 1);
	/* It is a scstepd as any other now. */
	says("{\"op\":\"started\",\"id\":7}");
	is_str(w.told, "started 7;");
	they_close(link, 0);
	ok(!w.step.control);
	is_int(w.n_awaited, 1);
	finish();
}

/* An old connection whose end we have not seen gives way. */
TAP_TEST(control_rejoin__in_place_of_an_older_connection)
{
	struct link *link;

	begin();
	link = come();
	must(link);
	ok(w.step.control == &w.links[0] && !w.links[0].is_closed);
	says_at(link, REJOIN);
	ok(w.step.control == link && w.links[0].is_closed);
	finish();
}

#define PARTED "{\"op\":\"parted\",\"id\":7,\"ranks\":[[1000,0]]}"

/* It said so: its time without a link is not that of one that is lost. */
TAP_TEST(control_rejoin__one_that_has_parted)
{
	struct link *link;

	begin();
	says(PARTED);
	is_int(w.n_announced, 1);
	is_int(w.n_parted, 0);
	they_close(w.step.control, 0);
	is_int(w.n_parted, 1);
	is_int(w.n_awaited, 0);
	is_str(w.left, "");
	w.woken(&w.step);
	is_int(w.n_returns, 1);
	link = come();
	must(link);
	says_at(link, REJOIN);
	ok(w.step.control == link);
	is_str(w.sent, "rejoined : found;");
	is_int(w.n_invited, 1);
	/* The next loss is one. */
	they_close(link, 0);
	is_int(w.n_parted, 1);
	is_int(w.n_awaited, 1);
	finish();
}

/* Its own time limit has passed. */
TAP_TEST(control_rejoin__while_it_is_dumped)
{
	struct link *link;

	begin();
	says(PARTED);
	they_close(w.step.control, 0);
	w.is_dumped = true;
	link = come();
	must(link);
	says_at(link, REJOIN);
	is_str(w.sent, "");
	is_int(w.n_invited, 0);
	w.is_dumped = false;
	w.woken(&w.step);
	is_str(w.sent, "rejoined : found;");
	is_int(w.n_invited, 1);
	is_int(w.n_returns, 0);
	finish();
}

TAP_TEST(control__one_that_has_parted_and_ends)
{
	begin();
	says(PARTED);
	w.step.is_leaving = true;
	they_close(w.step.control, 0);
	is_int(w.n_parted, 0);
	finish();
}

static void is_closed_after(const char *text)
{
	struct link *link = come();

	must(link);
	says_at(link, text);
	ok(link->is_closed && !w.step.control && !w.step.is_returning);
	is_str(w.sent, "");
	is_str(w.told, "");
	/* The job goes on. */
	is_str(w.left, "");
}

TAP_TEST(control_rejoin__words_that_do_not_count)
{
	static const char *const words[] = {
		"{\"op\":\"rejoin\",\"id\":8}",
		"{\"op\":\"rejoin\"}",
		"{\"op\":\"rejoin\",\"id\":\"7\"}",
		"{\"op\":\"started\",\"id\":7}",
		"{\"op\":\"ended\",\"id\":7,\"code\":0,\"text\":\"\"}",
		"{\"op\":\"something_new\",\"id\":7}",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		begin_alone();
		is_closed_after(words[i]);
		/* Another attempt is heard. */
		ok(come() != NULL);
		finish();
	}
}

/* One that ends gains no time by coming back. */
TAP_TEST(control_rejoin__step_that_ends)
{
	bool *const states[] = {&w.step.is_leaving, &w.step.is_stopping, &w.step.is_reported};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		begin_alone();
		*states[i] = true;
		is_closed_after(REJOIN);
		finish();
	}
}

TAP_TEST(control_rejoin__step_that_has_gone_meanwhile)
{
	struct link *link, *other;

	begin_alone();
	link = come();
	must(link);
	w.step.is_returning = false;
	other = come();
	must(other);
	TAILQ_REMOVE(&w.d.steps, &w.step, all);
	says_at(link, REJOIN);
	ok(link->is_closed && !w.step.control);
	is_str(w.sent, "");
	they_close(other, 0);
	finish();
}

TAP_TEST(control_rejoin__strangers)
{
	begin_alone();
	w.step.pid = getppid();
	ok(!come());
	w.step.pid = 0;
	ok(!come());
	w.step.pid = getpid();
	w.order.uid = getuid() + 1;
	ok(!come());
	ok(!w.step.is_returning);
	w.order.uid = getuid();
	ok(come() != NULL);
	finish();
}

/* A job's scstepd is its user's, who could fill all descriptors. */
TAP_TEST(control_rejoin__one_at_a_time)
{
	struct link *link;

	begin_alone();
	link = come();
	must(link);
	ok(!come());
	ok(!come());
	they_close(link, 0);
	ok(!w.step.is_returning);
	/* Nobody has said that it was the scstepd. */
	is_int(w.n_awaited, 0);
	link = come();
	must(link);
	says_at(link, REJOIN);
	ok(w.step.control == link);
	finish();
}

TAP_TEST(control_rejoin__no_memory)
{
	begin_alone();
	w.has_no_memory = true;
	ok(!come());
	w.has_no_memory = false;
	ok(come() != NULL);
	finish();
}

TAP_TEST(control_rejoin__client_that_has_gone_again)
{
	begin_alone();
	ev_invoke(w.d.loop, &w.d.rejoin, EV_READ);
	ok(ev_is_active(&w.d.rejoin) && !ev_is_active(&w.d.rejoin_rest));
	is_str(w.said, "");
	finish();
}

/* ---- the socket ---- */

TAP_TEST(control_rejoin__no_descriptor_is_free)
{
	struct rlimit usual, few;
	int fd;

	begin_alone();
	must(!getrlimit(RLIMIT_NOFILE, &usual));
	fd = connect_only();
	few = (struct rlimit){(rlim_t)fd + 1, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	pass(0);
	/* The loop does not spin, and the log tells it. */
	ok(!ev_is_active(&w.d.rejoin));
	okf(strstr(w.said, "descriptors are short") != NULL, "%s", w.said);
	is_int(w.n_links, 0);
	pass(0.11);
	ok(ev_is_active(&w.d.rejoin));
	is_int(w.n_links, 0);
	setrlimit(RLIMIT_NOFILE, &usual);
	pass(0.11);
	pass(0.11);
	is_int(w.n_links, 1);
	close(fd);
	finish();
}

TAP_TEST(control_open__everybody_may_connect)
{
	struct sockaddr_un path;
	struct stat st;

	begin_alone();
	path = address();
	must(!stat(path.sun_path, &st));
	ok(S_ISSOCK(st.st_mode));
	is_int(st.st_mode & 0777, 0666);
	finish();
}

/* scnoded that was killed has left it. */
TAP_TEST(control_open__socket_is_there_already)
{
	struct scnoded old = {0};

	begin_alone();
	old = w.d;
	ev_io_stop(w.d.loop, &w.d.rejoin);
	is_int(control_open(&w.d), 0);
	close(old.rejoin_fd);
	ok(come() != NULL);
	finish();
}

TAP_TEST(control_open__directory_that_is_no_use)
{
	/* With the socket's name and its end it has a byte too many. */
	size_t length = sizeof(((struct sockaddr_un *)0)->sun_path) - strlen("/scnoded.sock");
	char path[200] = "/nonexistent";
	struct scnoded d = {.rejoin_fd = -1, .options = {.run = path}};

	is_int(control_open(&d), -ENOENT);
	close(d.rejoin_fd);
	d.rejoin_fd = -1;
	memset(path + 1, 'x', length - 1);
	path[length] = '\0';
	is_int(control_open(&d), -ENAMETOOLONG);
	is_int(d.rejoin_fd, -1);
	control_close(&d);
}
