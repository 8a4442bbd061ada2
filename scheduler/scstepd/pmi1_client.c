// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/pmi1_client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Why it was lost is better known from its end, or from its abort. */
static void lose(struct client *client)
{
	client->state = CLIENT_LOST;
	if (!client->is_aborting)
		ev_timer_start(client->pmi->loop, &client->timeout);
}

void pmi1_hang_up(struct client *client)
{
	if (client->fd < 0)
		return;
	ev_io_stop(client->pmi->loop, &client->readable);
	ev_io_stop(client->pmi->loop, &client->writable);
	close(client->fd);
	client->fd = -1;
	if (client->state == CLIENT_SILENT)
		client->state = CLIENT_NEVER;
	else if (client->state == CLIENT_ACTIVE || client->state == CLIENT_BARRIER)
		lose(client);
}

void pmi1_fail(struct client *client, const char *format, ...)
{
	struct pmi1 *pmi = client->pmi;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	client->state = CLIENT_LOST;
	pmi1_hang_up(client);
	pmi->ops->abort(client->rank, 1, text, pmi->owner);
}

void pmi1_flush(struct client *client)
{
	ssize_t n = send(client->fd, client->out, client->n_out, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		pmi1_hang_up(client);
		return;
	}
	if (n > 0) {
		client->n_out -= (size_t)n;
		memmove(client->out, client->out + n, client->n_out);
	}
	if (client->n_out) {
		ev_io_stop(client->pmi->loop, &client->readable);
		ev_io_start(client->pmi->loop, &client->writable);
	} else {
		ev_io_stop(client->pmi->loop, &client->writable);
		ev_io_start(client->pmi->loop, &client->readable);
	}
}

/* At most the answer to a barrier and the answer to one line more are under way: both have room. */
void pmi1_answer(struct client *client, const char *format, ...)
{
	size_t room = PMI1_OUT_MAX - client->n_out;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(client->out + client->n_out, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room) {
		pmi1_fail(client, "PMI-1: it does not read its answers");
		return;
	}
	client->n_out += (size_t)n;
	pmi1_flush(client);
}
