# SPDX-License-Identifier: BSD-3-Clause
"""words - numbers, users and hosts as people read them."""

import pwd
import time

from pmtopo import hostlist


def user(uid):
    """A user's name; the number of one unknown here."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def now(answer):
    """The time by scored's clock, which the times of an answer are of: ours may be off. An older scored tells none."""
    return answer["now_ns"] / 1e9 if "now_ns" in answer else time.time()


def duration(count):
    """Seconds as 42s, 5:03, 2:05:03, 3d 04:05."""
    count = max(0, int(count))
    minutes, rest = divmod(count, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}:{minutes:02}"
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if minutes else f"{rest}s"


def size(count):
    """Bytes in binary units, without a fraction."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 10000:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.0f} TiB"


def time_ns(count):
    """A span, signed, in the unit that suits it."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(count) >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} ns" if count else "0"


def percent(part):
    """A share, None where there is none."""
    return "-" if part is None else f"{100 * part:.0f} %"


def hosts(names):
    """n[0-3]; in order, each once."""
    return hostlist.fold(sorted(set(names), key=natural)) if names else "-"


def natural(name):
    """A key of sorting: n2 before n10."""
    parts, digits = [], ""
    for letter in name:
        if letter.isdigit():
            digits += letter
            continue
        if digits:
            parts.append((1, int(digits), digits))
            digits = ""
        parts.append((2, ord(letter), letter))
    if digits:
        parts.append((1, int(digits), digits))
    return parts


def count(number, noun):
    """1 job, 2 jobs."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
