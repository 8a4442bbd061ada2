# SPDX-License-Identifier: BSD-3-Clause
"""options - the library's tunables as PM_OPTIONS text.

Only what the file says is written; everything else stays at the library's default.
"""

from .optiontable import TABLE

# In the order they are printed. Options of one run belong in its environment only.
KEYS = tuple(option.name for option in TABLE if option.scope != "RUN")


def _text(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list):
        return "+".join(value)
    return str(value)


def flatten(table):
    """A [pm] or [overrides.X] table as key -> text, in the order of KEYS."""
    flat = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat.update((f"{name}.{key}", _text(item)) for key, item in value.items())
        else:
            flat[name] = _text(value)
    return {key: flat[key] for key in KEYS if key in flat}


def of_networks(networks):
    """The options that follow from the networks: devices in order, rails, MTU, port."""
    if not networks:
        return {}
    out = {"devices": "+".join(["self"] + [network.type for network in networks])}
    for network in networks:
        if network.rails:
            out[f"{network.type}.rails"] = "+".join(rail.label() or "" for rail in network.rails)
        if network.mtu:
            out["udp.mtu"] = str(network.mtu)
        if network.ports:
            out["udp.port"] = str(network.ports[0])
    return out


def line(options):
    """The environment setting; needs no quoting in a shell or in systemd's EnvironmentFile."""
    return "PM_OPTIONS=" + ",".join(f"{key}={options[key]}" for key in KEYS if key in options)
