// SPDX-License-Identifier: BSD-3-Clause
/*
 * pm-ethernetd: brings the parts up in order, says when it is ready, takes down what nobody uses.
 * Exit codes are those of pm-ethernetd(8).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pm-ethernet/daemon/charges.h"
#include "pm-ethernet/daemon/clients.h"
#include "pm-ethernet/daemon/contexts.h"
#include "pm-ethernet/daemon/ethd.h"
#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/daemon/jobs.h"
#include "pm-ethernet/daemon/loop.h"
#include "pm-ethernet/daemon/options.h"
#include "pm-ethernet/daemon/ports.h"
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/programs.h"
#include "pm-ethernet/daemon/rails.h"
#include "pm-ethernet/daemon/sockets.h"
#include "pm-ethernet/daemon/state.h"
#include "pmcore/util/notify.h"
#include "pmcore/util/owndir.h"

static struct ethd *create(const struct ethd_options *options)
{
	struct ethd *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->options = *options;
	d->board_fd = d->port_program = d->door_program = -1;
	d->spare = d->epoll = d->signals = d->listener = d->netlink = d->closer = d->held =
		d->lock = d->guard = -1;
	memset(&d->maps, -1, sizeof(d->maps));
	for (uint32_t c = 0; c < ETH_CONTEXTS; c++)
		d->contexts[c] = (struct ethd_context){.pidfd = -1, .inbox = -1, .port = -1};
	return d;
}

/* The keys of jobs lie there, and what running processes believe. */
static int check_run(const struct ethd *d, char *why, size_t why_size)
{
	static const char *const files[] = {"lock", "state", "state.new", "board"};
	int err = owndir_open(d->options.run, 0755, "run directory", "--run", why, why_size);

	for (size_t i = 0; !err && i < sizeof(files) / sizeof(files[0]); i++)
		err = owndir_file(d->options.run, files[i], why, why_size);
	return err;
}

/* One daemon per run directory, and per network namespace, as ports and programs would collide. */
static int lock_host(struct ethd *d, char *why, size_t why_size)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0pm-ethernetd"};
	char path[PATH_MAX];
	int err = check_run(d, why, why_size);

	if (err)
		return err == -EACCES ? ETHD_EXIT_KERNEL : ETHD_EXIT_FAILED;
	snprintf(path, sizeof(path), "%s/lock", d->options.run);
	d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock < 0) {
		err = errno;
		snprintf(why, why_size,
			 "%s: %m; run as root, or choose another directory with --run", path);
		return err == EACCES ? ETHD_EXIT_KERNEL : ETHD_EXIT_FAILED;
	}
	if (flock(d->lock, LOCK_EX | LOCK_NB)) {
		snprintf(why, why_size,
			 "another pm-ethernetd runs with --run %s; stop that one first",
			 d->options.run);
		return ETHD_EXIT_RUNNING;
	}
	d->guard = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (d->guard >= 0 && !bind(d->guard, (struct sockaddr *)&name,
				   sizeof(name.sun_family) + sizeof("pm-ethernetd")))
		return ETHD_EXIT_OK;
	err = errno;
	snprintf(why, why_size,
		 err == EADDRINUSE ? "another pm-ethernetd serves this host, with another --run; "
				     "one serves all NICs"
				   : "a unix socket can't be had");
	return err == EADDRINUSE ? ETHD_EXIT_RUNNING : ETHD_EXIT_FAILED;
}

static void choose_host_id(struct ethd *d)
{
	const uint8_t *mac = d->rails[0].mac;

	d->host = d->options.has_host_id ? d->options.host_id
					 : (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 |
						   (uint32_t)mac[4] << 8 | mac[5];
}

/* Goes on with what the daemon before us left in the kernel, or takes it away. */
static int resume_kernel(struct ethd *d, int n_adopted, char *why, size_t why_size)
{
	int err = d->is_resumed ? ethd_programs_adopt(d) : 0;

	if (err && n_adopted) {
		snprintf(why, why_size,
			 "the maps of running contexts can't be had: %s; end their processes first",
			 strerror(-err));
		return ETHD_EXIT_KERNEL;
	}
	if (!err && d->is_resumed && !n_adopted)
		err = ethd_programs_fit(d);
	if (err) {
		ethd_say("the maps of an earlier daemon can't be used: %s; made anew, nothing is "
			 "relayed until neighbours are heard",
			 strerror(-err));
		d->is_resumed = false;
	}
	if (!d->is_resumed) {
		ethd_programs_unpin(d);
		ethd_ports_remove(d);
	}
	return ETHD_EXIT_OK;
}

/* Files, kernel programs and ports. */
static int open_kernel(struct ethd *d, int n_adopted, char *why, size_t why_size)
{
	int err, code = resume_kernel(d, n_adopted, why, why_size);
	/* another mode would stop relaying for a moment; who asks for one gets it */
	bool is_mode_fixed = n_adopted || (d->is_resumed && d->options.mode == ETHD_MODE_AUTO);

	if (code)
		return code;
	if (ethd_board_open(d, !d->is_resumed, why, why_size))
		return ETHD_EXIT_FAILED;
	if (ethd_programs_open(d, is_mode_fixed, why, why_size))
		return d->maps.host < 0 ? ETHD_EXIT_KERNEL : ETHD_EXIT_NIC;
	err = ethd_ports_adopt(d);
	if (err) {
		snprintf(why, why_size, "the interfaces of this host can't be listed: %s",
			 strerror(-err));
		return ETHD_EXIT_FAILED;
	}
	ethd_contexts_sweep(d);
	for (uint16_t c = 1; c < ETH_CONTEXTS; c++)
		if (d->contexts[c].key)
			ethd_process_watch(d, c);
	/* what happened between the first look and the watch */
	ethd_rails_refresh(d);
	return ETHD_EXIT_OK;
}

static int open_loop(struct ethd *d, char *why, size_t why_size)
{
	int err = ethd_loop_open(d);

	if (!err)
		return ETHD_EXIT_OK;
	snprintf(why, why_size, "events of this host can't be watched: %s", strerror(-err));
	return ETHD_EXIT_FAILED;
}

static int open_services(struct ethd *d, char *why, size_t why_size)
{
	int err = ethd_discover_open(d);

	if (err) {
		snprintf(why, why_size, "other hosts can't be looked for: %s; run as root",
			 strerror(-err));
		return ETHD_EXIT_KERNEL;
	}
	return ethd_clients_open(d, why, why_size) ? ETHD_EXIT_FAILED : ETHD_EXIT_OK;
}

static void remove_all(struct ethd *d)
{
	ethd_ports_remove(d);
	ethd_programs_remove(d);
	ethd_state_remove(d);
}

/* Checks whether this kernel's sockets can be handed out, and to how many processes of a job. */
static int check_kernel(struct ethd *d, char *why, size_t why_size)
{
	int err;

	if (!xsk_is_tied_by_kernel()) {
		snprintf(
			why, why_size,
			"this kernel would let whoever is handed a socket send on any interface; "
			"Linux 6.5 or later is needed, or an older one as patched since July 2023");
		return ETHD_EXIT_KERNEL;
	}
	err = xsk_probe(d->is_frags);
	if (err == -EINVAL && d->is_frags) {
		snprintf(why, why_size,
			 "AF_XDP of this kernel takes no large frames; set the MTU of the NICs to "
			 "3498 or less, or use Linux 6.6 or later");
		return ETHD_EXIT_KERNEL;
	}
	d->is_one_slot = err == -EBUSY;
	if (d->is_one_slot)
		ethd_say("before Linux 6.4 the queues of the NICs are for one process of a job; "
			 "its others on this host get ports");
	return ETHD_EXIT_OK;
}

static int start(struct ethd *d, char *why, size_t why_size)
{
	int n_missing, n_adopted, code = lock_host(d, why, why_size);

	if (code)
		return code;
	n_missing = ethd_rails_open(d, why, why_size);
	if (n_missing < 0)
		return ETHD_EXIT_NIC;
	choose_host_id(d);
	n_adopted = ethd_state_load(d, why, why_size);
	if (n_adopted < 0)
		return ETHD_EXIT_USAGE;
	/* a NIC that is lost while contexts run, or others are relayed, is none to stop for */
	if (n_missing && !d->is_resumed)
		return ETHD_EXIT_NIC;
	code = check_kernel(d, why, why_size);
	if (code)
		return code;
	if (ethd_programs_mount(d, why, why_size))
		return ETHD_EXIT_KERNEL;
	code = open_loop(d, why, why_size);
	if (!code)
		code = open_kernel(d, n_adopted, why, why_size);
	if (!code)
		code = open_services(d, why, why_size);
	if (code && !d->is_resumed)
		remove_all(d);
	if (!code && d->is_resumed)
		ethd_say("%d contexts of an earlier daemon%s go on%s%s", n_adopted,
			 d->grid ? ", and relaying," : "", n_missing ? ", but there is " : "",
			 n_missing ? why : "");
	if (!code)
		ethd_state_save(d);
	return code;
}

static void say_ready(const struct ethd *d)
{
	char names[ETH_RAILS * ETH_NAME];
	int err;

	ethd_rails_names(d, names, sizeof(names));
	printf("pm-ethernetd: ready, host %u, rails %s, %s mode\n", d->host, names,
	       ethd_mode_name(d->mode));
	fflush(stdout);
	err = notify_service("READY=1");
	if (err)
		ethd_say("the service manager was not told: %s", strerror(-err));
}

/*
 * Contexts in use outlive us; the next daemon adopts them. Without any this host leaves the
 * network.
 */
static void stop(struct ethd *d)
{
	uint32_t n = ethd_contexts_count(d, (uid_t)-1);

	notify_service("STOPPING=1");
	if (d->is_leaving_all)
		ethd_say("all is left as it is for the next daemon");
	else if (n)
		ethd_say("%u contexts are in use and go on without us", n);
	else
		remove_all(d);
}

/* Descriptors go with the process. */
static int destroy(struct ethd *d, int code)
{
	ethd_discover_close(d);
	ethd_grid_close(d);
	ethd_clients_forget(d);
	while (d->jobs)
		ethd_job_destroy(d, d->jobs);
	ethd_charges_forget(d);
	free(d->options.points);
	ethd_names_free(&d->options.names);
	free(d);
	return code;
}

/* Some descriptors for each context and connection, as many as we may have. */
static void raise_files(struct ethd *d)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		files = (struct rlimit){.rlim_max = ETHD_FILES};
	/* the privileged have more than their limit for the asking, but not everywhere */
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ETHD_FILES, ETHD_FILES})) {
		files.rlim_cur = files.rlim_max < ETHD_FILES ? files.rlim_max : ETHD_FILES;
	}
	if (!getrlimit(RLIMIT_NOFILE, &files))
		ethd_clients_bound(d, files.rlim_cur < ETHD_FILES ? (uint32_t)files.rlim_cur
								  : ETHD_FILES);
}

int main(int argc, char **argv)
{
	struct ethd_options options;
	char why[1024] = "";
	struct ethd *d;
	int code = ethd_options_parse(argc, argv, &options, why, sizeof(why));

	if (code) {
		if (code < 0)
			ethd_say("%s", why);
		return code < 0 ? ETHD_EXIT_USAGE : ETHD_EXIT_OK;
	}
	d = create(&options);
	if (!d) {
		ethd_say("%s", strerror(ENOMEM));
		return ETHD_EXIT_FAILED;
	}
	raise_files(d);
	code = start(d, why, sizeof(why));
	if (code) {
		ethd_say("%s", why);
		return destroy(d, code);
	}
	say_ready(d);
	code = ethd_loop_run(d);
	if (code)
		ethd_say("the loop ended: %s", strerror(-code));
	stop(d);
	return destroy(d, code ? ETHD_EXIT_FAILED : ETHD_EXIT_OK);
}
