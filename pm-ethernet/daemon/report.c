// SPDX-License-Identifier: BSD-3-Clause
/*
 * report - what the daemon knows, as JSON for pm-ethernetctl; the fields are
 * described in pm-ethernetctl(8). Only reads. Job keys are never told:
 * everybody on the host may ask.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/daemon/discover.h"
#include "pm-ethernet/daemon/ethd.h"
#include "pm-ethernet/daemon/report_grid.h"
#include "pm-ethernet/daemon/report_route.h"
#include "pm-ethernet/report.h"
#include "pmcore/util/clock.h"

#define MAC_TEXT 18

#define DROP_NAME(name, text) [ETH_DROP_##name] = text,
static const char *const drop_names[ETH_DROPS] = {[ETH_DROP_NONE] = "none",
						  ETH_DROP_LIST(DROP_NAME)};
#undef DROP_NAME

static json_t *mac_of(const uint8_t mac[ETH_MAC])
{
	char text[MAC_TEXT];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_string(text);
}

/* By reason, those that happened. */
static json_t *drops_of(const uint64_t drops[ETH_DROPS])
{
	json_t *object = json_object();
	int reason;

	for (reason = 0; reason < ETH_DROPS; reason++)
		if (drops[reason])
			json_object_set_new(object, drop_names[reason],
					    json_integer((json_int_t)drops[reason]));
	return object;
}

static const char *copy_name(enum ethd_copy copy)
{
	switch (copy) {
	case ETHD_COPY_ZERO:
		return "yes";
	case ETHD_COPY_COPY:
		return "no";
	case ETHD_COPY_UNKNOWN:
		break;
	}
	return "unknown";
}

static const char *attachment_name(uint32_t attachment)
{
	switch (attachment) {
	case ETH_DIRECT:
		return "direct";
	case ETH_PORT:
		return "port";
	default:
		return "suspended";
	}
}

static const char *direct_name(enum ethd_direct direct)
{
	switch (direct) {
	case ETHD_DIRECT_ANY:
		return "any";
	case ETHD_DIRECT_ROOT:
		return "root";
	case ETHD_DIRECT_NEVER:
		break;
	}
	return "never";
}

static const char *state_name(const struct ethd_rail *rail)
{
	if (!rail->ifindex)
		return "gone";
	return rail->is_up ? "up" : "down";
}

/* The sum over all processors of row @row. All zero when it can't be read:
 * -errno then. */
static int sum_counters(const struct ethd *d, uint32_t row, struct eth_counters *ret)
{
	int n_cpus = libbpf_num_possible_cpus(), cpu, r = 0;
	struct eth_counters *each;
	int reason;

	memset(ret, 0, sizeof(*ret));
	if (n_cpus < 0)
		return n_cpus;
	each = calloc((size_t)n_cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(d->maps.counters, &row, each))
		r = -errno;
	for (cpu = 0; r == 0 && cpu < n_cpus; cpu++) {
		ret->rx_frames += each[cpu].rx_frames;
		ret->rx_bytes += each[cpu].rx_bytes;
		ret->control += each[cpu].control;
		ret->relayed_frames += each[cpu].relayed_frames;
		ret->relayed_bytes += each[cpu].relayed_bytes;
		ret->detours += each[cpu].detours;
		for (reason = 0; reason < ETH_DROPS; reason++)
			ret->drops[reason] += each[cpu].drops[reason];
	}
	free(each);
	return r;
}

/* Adds the counters of row @row to @object. */
static int add_counters(const struct ethd *d, uint32_t row, json_t *object)
{
	struct eth_counters sum;
	int r = sum_counters(d, row, &sum);

	if (r < 0)
		return r;
	json_object_set_new(object, "rx_frames", json_integer((json_int_t)sum.rx_frames));
	json_object_set_new(object, "rx_bytes", json_integer((json_int_t)sum.rx_bytes));
	json_object_set_new(object, "control", json_integer((json_int_t)sum.control));
	json_object_set_new(object, "relayed_frames", json_integer((json_int_t)sum.relayed_frames));
	json_object_set_new(object, "relayed_bytes", json_integer((json_int_t)sum.relayed_bytes));
	json_object_set_new(object, "detours", json_integer((json_int_t)sum.detours));
	json_object_set_new(object, "drops", drops_of(sum.drops));
	return 0;
}

static json_t *rail_names(const struct ethd *d, const struct ethd_context *context)
{
	json_t *names = json_array();
	uint32_t i;

	for (i = 0; i < context->n_rails; i++)
		json_array_append_new(names, json_string(d->rails[context->rails[i]].name));
	return names;
}

static json_t *context_of(const struct ethd *d, uint32_t number)
{
	const struct ethd_context *context = &d->contexts[number];
	json_t *object;
	char port[ETH_NAME];

	object = json_pack("{s:i, s:i, s:I, s:s, s:b, s:o}", "context", (int)number, "pid",
			   (int)context->pid, "uid", (json_int_t)context->uid, "attachment",
			   attachment_name(context->attachment), "is_adopted", !context->client,
			   "rails", rail_names(d, context));
	if (object && context->port >= 0) {
		snprintf(port, sizeof(port), "pepu%d", context->port);
		json_object_set_new(object, "port", json_string(port));
	}
	if (object && context->job)
		json_object_set_new(object, "is_zero_copy",
				    json_boolean(context->job->is_zero_copy));
	return object;
}

static int report_status(const struct ethd *d, json_t *ret)
{
	json_t *contexts = json_array();
	uint32_t number;
	char type[8];

	snprintf(type, sizeof(type), "0x%04x", d->options.type);
	json_object_set_new(ret, "version", json_string(PM_VERSION));
	json_object_set_new(ret, "host", json_integer(d->host));
	json_object_set_new(ret, "host_name", json_string(d->discover->host_name));
	json_object_set_new(ret, "ethertype", json_string(type));
	json_object_set_new(ret, "mode", json_string(ethd_mode_name(d->mode)));
	json_object_set_new(ret, "is_frags", json_boolean(d->is_frags));
	json_object_set_new(ret, "direct", json_string(direct_name(d->options.direct)));
	json_object_set_new(ret, "chunk_bytes", json_integer(d->chunk_bytes));
	json_object_set_new(ret, "n_rails", json_integer(d->n_rails));
	json_object_set_new(ret, "n_peers", json_integer(d->discover->peers.n_peers));
	json_object_set_new(ret, "n_unread", json_integer((json_int_t)d->n_unread));
	json_object_set_new(ret, "duplicate", json_string(d->duplicate));
	json_object_set_new(ret, "grid", ethd_report_grid(d));
	for (number = 1; number < ETH_CONTEXTS; number++)
		if (d->contexts[number].key)
			json_array_append_new(contexts, context_of(d, number));
	json_object_set_new(ret, "contexts", contexts);
	return 0;
}

static int report_rails(const struct ethd *d, json_t *ret)
{
	json_t *rails = json_array();
	uint32_t i;
	int r = 0;

	for (i = 0; i < d->n_rails && r == 0; i++) {
		const struct ethd_rail *rail = &d->rails[i];
		json_t *object = json_pack("{s:i, s:s, s:s, s:s, s:o, s:i, s:i, s:s, s:b, s:s}",
					   "rail", (int)i, "nic", rail->name, "driver",
					   rail->driver, "state", state_name(rail), "mac",
					   mac_of(rail->mac), "mtu", (int)rail->mtu, "speed_mbit",
					   (int)rail->speed_mbit, "mode", ethd_mode_name(d->mode),
					   "is_programmed", rail->is_programmed, "zero_copy",
					   copy_name(rail->copy));

		r = object ? add_counters(d, i, object) : -ENOMEM;
		json_array_append_new(rails, object);
	}
	json_object_set_new(ret, "rails", rails);
	return r;
}

static json_t *ear_of(const struct ethd *d, const struct ethd_ear *ear, uint32_t rail,
		      uint64_t now_ns)
{
	static const uint8_t no_mac[ETH_MAC];
	json_t *object = json_pack(
		"{s:i, s:s, s:o, s:i, s:s, s:i, s:i, s:b, s:f, s:f, s:i}", "rail", (int)rail, "nic",
		d->rails[rail].name, "mac", mac_of(ear->mac), "their_rail", ear->rail, "their_nic",
		ear->rail_name, "mtu", (int)ear->mtu, "own_mtu", (int)d->rails[rail].mtu,
		"is_alive", ear->is_alive, "rtt_us", ear->rtt_ns / 1e3, "heard_s",
		(double)(now_ns - ear->heard_ns) / 1e9, "unanswered", (int)ear->unanswered);

	if (object && memcmp(ear->rival, no_mac, ETH_MAC))
		json_object_set_new(object, "rival", mac_of(ear->rival));
	return object;
}

static json_t *peer_of(const struct ethd *d, const struct ethd_peer *peer, uint64_t now_ns)
{
	json_t *rails = json_array();
	uint32_t rail;

	for (rail = 0; rail < d->n_rails; rail++)
		if (ethd_ear_is_used(&peer->ears[rail]))
			json_array_append_new(rails, ear_of(d, &peer->ears[rail], rail, now_ns));
	return json_pack("{s:I, s:s, s:o, s:o}", "host", (json_int_t)peer->id, "name",
			 peer->host_name, "at", ethd_report_place(d, peer->id), "rails", rails);
}

static int report_peers(const struct ethd *d, json_t *ret)
{
	uint64_t now_ns = clock_monotonic_ns();
	json_t *peers = json_array();
	uint32_t place;

	for (place = 0; place < ETH_HOSTS; place++)
		if (d->discover->peers.places[place])
			json_array_append_new(peers,
					      peer_of(d, d->discover->peers.places[place], now_ns));
	json_object_set_new(ret, "peers", peers);
	json_object_set_new(ret, "no_room", json_integer((json_int_t)d->discover->peers.no_room));
	return 0;
}

static json_t *discovery_of(const struct ethd_probe *probe)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "asked", (json_int_t)probe->asked,
			 "answered", (json_int_t)probe->answered, "queries",
			 (json_int_t)probe->queries, "answers", (json_int_t)probe->answers, "stale",
			 (json_int_t)probe->stale, "send_failed", (json_int_t)probe->send_failed,
			 "refused", drops_of(probe->refused));
}

static int report_counters(const struct ethd *d, json_t *ret)
{
	json_t *rails = json_array(), *ports = json_object();
	uint32_t i;
	int r;

	r = add_counters(d, ETH_RAILS, ports);
	for (i = 0; i < d->n_rails && r == 0; i++) {
		json_t *object = json_pack("{s:i, s:s}", "rail", (int)i, "nic", d->rails[i].name);

		r = object ? add_counters(d, i, object) : -ENOMEM;
		json_object_set_new(object, "discovery", discovery_of(&d->discover->probes[i]));
		json_array_append_new(rails, object);
	}
	json_object_set_new(ret, "rails", rails);
	json_object_set_new(ret, "ports", ports);
	return r;
}

int ethd_report(struct ethd *d, uint32_t topic, const char *about, char **ret_json, char *why,
		size_t why_size)
{
	json_t *object = json_object();
	char *text = NULL;
	int r;

	switch (topic) {
	case ETH_TOPIC_STATUS:
		r = report_status(d, object);
		break;
	case ETH_TOPIC_RAILS:
		r = report_rails(d, object);
		break;
	case ETH_TOPIC_PEERS:
		r = report_peers(d, object);
		break;
	case ETH_TOPIC_COUNTERS:
		r = report_counters(d, object);
		break;
	case ETH_TOPIC_ROUTE:
		r = ethd_report_route(d, about, object, why, why_size);
		break;
	default:
		r = -EINVAL;
	}
	if (r == 0)
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (r < 0)
		return r;
	if (!text)
		return -ENOMEM;
	*ret_json = text;
	return 0;
}
