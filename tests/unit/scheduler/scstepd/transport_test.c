// SPDX-License-Identifier: BSD-3-Clause
/*
 * transport: what ranks bring to fences, and what the leader makes of it.
 */
#include "scheduler/scstepd/transport.h"

#include "tests/unit/scheduler/scstepd/fake_step.h"

#define WITH "\0btl.tcp.4.1\0..\0mtl.pm.0.1\0"
#define WITHOUT "\0btl.tcp.4.1\0.."
#define TOLD "{\"op\":\"without_pm\"}"

static char *names[] = {(char *)"a", (char *)"b", (char *)"c", (char *)"d", (char *)"e",
			(char *)"f", (char *)"g", (char *)"h", (char *)"i", (char *)"j"};

static void begin(void)
{
	fake_open(10, 1);
	for (size_t i = 0; i < 10; i++)
		fake.small.order.hosts[i].name = names[i];
	fake.step.tmpdir = (char *)"/tmp";
}

static void end(void)
{
	transport_close();
	fake_close();
}

static void look(const char *data, size_t size)
{
	transport_look(&fake.step, data, size);
}

#define LOOK(text) look(text, sizeof(text) - 1)

TAP_TEST(transport_look__with_mtl_pm)
{
	begin();
	LOOK(WITH);
	LOOK(WITHOUT); /* a later fence tells nothing new */
	ok(!fake.first);
	end();
}

TAP_TEST(transport_look__without)
{
	begin();
	look(NULL, 0);
	LOOK("\0of another MPI\0");
	ok(!fake.first);
	LOOK(WITHOUT);
	fake_sent(0, TOLD, "");
	LOOK(WITHOUT);
	ok(!fake.first);
	end();
}

TAP_TEST(transport_look__another_is_chosen)
{
	static char *const choices[] = {(char *)"OMPI_MCA_pml=ob1", (char *)"OMPI_MCA_mtl=^pm",
					(char *)"OMPI_MCA_mtl=psm2,pm2"};

	for (size_t i = 0; i < 3; i++) {
		char *env[] = {choices[i], NULL};

		begin();
		fake.small.job.env = env;
		LOOK(WITHOUT);
		ok(!fake.first);
		end();
	}
}

TAP_TEST(transport_look__named_in_a_list)
{
	char *env[] = {(char *)"OMPI_MCA_mtl=psm2,pm", NULL};

	begin();
	fake.small.job.env = env;
	LOOK(WITHOUT);
	fake_sent(0, TOLD, "");
	end();
}

/* The line begins so; then there is no other. */
static void is_line(const char *want)
{
	char *line = transport_line(&fake.step);

	if (!ok(line != NULL))
		return;
	line[strlen(want) < strlen(line) ? strlen(want) : 0] = 0;
	is_str(line, want);
	free(line);
	ok(!transport_line(&fake.step));
}

TAP_TEST(transport_line__one_host)
{
	begin();
	ok(!transport_line(&fake.step));
	transport_told(&fake.step, 2);
	is_line("host c: Open MPI has no mtl/pm there, or cannot use it, and takes another "
		"transport than");
	transport_told(&fake.step, 3);
	ok(!transport_line(&fake.step));
	end();
}

TAP_TEST(transport_line__all_hosts)
{
	begin();
	for (size_t i = 0; i < 10; i++)
		transport_told(&fake.step, i);
	is_line("hosts a, b, c, d, e, f, g, h and 2 more: Open MPI has no mtl/pm there, or cannot "
		"use it, and takes "
		"another transport;");
	end();
}
