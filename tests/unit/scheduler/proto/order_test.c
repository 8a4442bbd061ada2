// SPDX-License-Identifier: BSD-3-Clause
/* order as text with the place beside it. Its fields and their bounds are in decode_test.c. */
#include <errno.h>
#include <string.h>

#include "scheduler/proto/order.h"
#include "tests/harness/tap.h"

#define HOSTS 2

static char a_name[] = "a", b_name[] = "b", address[] = "10.0.0.1:7711", cluster[] = "lab",
	    cwd[] = "/", variable[] = "A=1";
static char *env[] = {variable, NULL}, *none[] = {NULL}, *argv[] = {a_name, NULL};
static uint32_t cores[] = {0};

/* The text of an order for two hosts. */
static struct shared *text_of_two(void)
{
	struct job_app app = {.argv = argv, .env = none, .ranks = HOSTS};
	struct job job = {.name = a_name,
			  .ranks = HOSTS,
			  .cores = 1,
			  .cwd = cwd,
			  .env = env,
			  .apps = &app,
			  .n_apps = 1};
	struct order_host hosts[HOSTS] = {
		{.name = a_name, .address = address, .ranks = 1, .cores = cores, .n_cores = 1},
		{.name = b_name,
		 .address = address,
		 .first = 1,
		 .ranks = 1,
		 .cores = cores,
		 .n_cores = 1}};
	struct order order = {.id = 7,
			      .key = 5,
			      .cluster = cluster,
			      .hosts = hosts,
			      .n_hosts = HOSTS,
			      .here = 1,
			      .job = &job};

	return order_encode_text(&order);
}

TAP_TEST(order_decode_text__each_host_its_place)
{
	struct shared *text = text_of_two();
	char why[256];

	must(text);
	for (int i = 0; i < HOSTS; i++) {
		json_t *here = json_integer(i);
		struct order *order = NULL;

		must(is_int(order_decode_text(&order, text->bytes, text->size, here, why,
					      sizeof(why)),
			    0));
		is_int(order->here, i);
		is_int(order->id, 7);
		is_str(order->hosts[1].name, "b");
		is_str(order->job->env[0], "A=1");
		order_free(order);
		json_decref(here);
	}
	shared_release(text);
}

TAP_TEST(order_decode_text__wrong_place)
{
	json_t *places[] = {json_integer(HOSTS), json_integer(-1), json_string("1"), json_null(),
			    NULL};
	struct shared *text = text_of_two();
	char why[256];

	must(text);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct order *order = NULL;

		is_int(order_decode_text(&order, text->bytes, text->size, places[i], why,
					 sizeof(why)),
		       -EINVAL);
		is_str(why, "order: here must be a whole number from 0 to 1");
		ok(!order);
		json_decref(places[i]);
	}
	shared_release(text);
}

TAP_TEST(order_decode_text__no_order)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {{"{\"id\":1", "order: '}' expected near end of file"},
		     {"", "order: '[' or '{' expected near end of file"},
		     {"{\"id\":1,\"id\":2}", "order: duplicate object key near '\"id\"'"},
		     {"[]", "order: id must be a whole number from 1 to 9223372036854775807"},
		     {"{}", "order: id must be a whole number from 1 to 9223372036854775807"}};
	json_t *here = json_integer(0);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct order *order = NULL;
		char why[256] = "";

		is_int(order_decode_text(&order, wrong[i].text, strlen(wrong[i].text), here, why,
					 sizeof(why)),
		       -EINVAL);
		is_str(why, wrong[i].why);
		ok(!order);
	}
	json_decref(here);
}
