# SPDX-License-Identifier: BSD-3-Clause
"""emit - writes the resolved form, cluster.json (configs/schema/cluster.schema.json), and any file in one step.

One line per host, so that two versions compare well. Output depends on the input only.
"""

import contextlib
import errno
import json
import os

VERSION = 1


def _dense(value):
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def _given(**fields):
    """Keys without a value are left out."""
    return {key: value for key, value in fields.items() if value is not None}


def _network(network):
    rails = [_given(rail=place, device=rail.device, subnet=rail.subnet, dim=rail.dim)
             for place, rail in enumerate(network.rails)]
    return _given(name=network.name, type=network.type, mtu=network.mtu,
                  ports=network.ports and list(network.ports), ethertype=network.ethertype,
                  mode=network.mode, direct=network.direct, watch_ms=network.watch_ms, rails=rails)


def _host(host):
    out = _given(id=host.id, name=host.name, state=host.state, address=host.address,
                 coords=host.coords and list(host.coords))
    out["rails"] = [_given(**rail._asdict()) for rail in host.rails]
    if host.pm:
        out["pm"] = host.pm
    return out


def _list(items):
    """A JSON array with one line per item, as pieces of text."""
    yield "["
    for place, item in enumerate(items):
        yield (",\n    " if place else "\n    ") + _dense(item)
    yield "\n  ]"


def pieces(cluster):
    """The JSON text in pieces."""
    yield f'{{\n  "version": {VERSION},\n  "name": {_dense(cluster.name)},\n  "topology": '
    yield _dense(cluster.topology and {"kind": cluster.topology.kind,
                                       "dims": list(cluster.topology.dims)})
    yield f',\n  "pm": {_dense(cluster.pm)}'
    if cluster.scheduler:
        yield f',\n  "scheduler": {_dense(cluster.scheduler)}'
    yield ',\n  "networks": '
    yield from _list(map(_network, cluster.networks))
    yield ',\n  "groups": '
    yield from _list({"name": name, "hosts": ids} for name, ids in cluster.groups.items())
    yield ',\n  "hosts": '
    yield from _list(map(_host, cluster.hosts))
    yield "\n}\n"


def _permissions(handle, path):
    """Gives the open file the permissions of the file it is about to replace."""
    try:
        os.fchmod(handle, os.stat(path).st_mode & 0o777)
    except FileNotFoundError:
        pass


def _open_nameless(folder):
    """A file without a name, gone with the process; None where the file system has none."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            return None
        raise


def _fill(handle, parts, path):
    """Writes everything to the disk and closes the file."""
    with os.fdopen(os.dup(handle), "w", encoding="ascii") as file:
        file.writelines(parts)
        file.flush()
        _permissions(handle, path)
        os.fsync(handle)


def _name(handle, is_nameless, folder, temporary, path):
    """Puts the complete file in the place of the old one. folder: descriptor of the directory."""
    if is_nameless:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of a killed process that had our number
        # Only with a descriptor of the directory does Python follow the link in /proc.
        os.link(f"/proc/self/fd/{handle}", os.path.basename(temporary), dst_dir_fd=folder,
                follow_symlinks=True)
    os.rename(temporary, path)
    os.fsync(folder)


def write(cluster, path):
    """Writes cluster.json, see replace()."""
    replace(pieces(cluster), path)


def replace(parts, path):
    """Writes pieces of text to a file in one step: readers see the old one or the whole new one. Raises OSError.

    The new file gets its name when it is complete, so even kill -9 leaves no part of it behind.
    """
    path = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(path), f".scconf-{os.getpid()}")
    with contextlib.ExitStack() as stack:
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        handle = _open_nameless(os.path.dirname(path))
        is_nameless = handle is not None
        if not is_nameless:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # of a killed process, or of somebody who guessed our number
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
            handle = os.open(temporary, flags, 0o666)
        stack.callback(os.close, handle)
        try:
            _fill(handle, parts, path)
            _name(handle, is_nameless, folder, temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
