# SPDX-License-Identifier: BSD-3-Clause
"""report - lines of rounds as a page. Pure but for reading and writing its two files."""
import dataclasses
import json
import os

from .rounds import Round

LINES, PAGE = "rounds.jsonl", "README.md"
HEAD = """# The long run

Written by `make soak HOURS=n`. A virtual cluster of four hosts has pm-ethernetd, scored and scnoded. In each round
two users have a job of four ranks each on the same cores, by turns: rings of messages and
reductions over raw Ethernet, each byte checked. One fault or two meet the first job, or the daemons of all. A round is
good when no byte was wrong, the broken job ended within 10 s with an error, and each other job went on to its end.
Nor may a process, control group, file or port be left. The last column counts from the end of the fault:
a killed process is dead then, and all of a host that fell has been started anew.
`tests/soak/soak --seed SEED --rounds 1` repeats a round.
"""


def read(directory):
    """Rounds of earlier runs; [] = there are none."""
    try:
        with open(os.path.join(directory, LINES), encoding="utf-8") as f:
            return [Round(**json.loads(line)) for line in f]
    except FileNotFoundError:
        return []


def _row(name, rounds):
    ends = [each.noticed_s for each in rounds if each.noticed_s]
    return (f"| {name} | {len(rounds)} | {sum(each.is_good() for each in rounds)} | "
            f"{sum(not each.data for each in rounds)} | {sum(not each.others for each in rounds)} | "
            f"{sum(bool(each.left) for each in rounds)} | {max(ends) if ends else ''} |")


def page(rounds):
    """The page, as text."""
    bad = [each for each in rounds if not each.is_good()]
    hours = sum(each.seconds for each in rounds) / 3600
    lines = [HEAD, f"{len(rounds)} rounds in {hours:.1f} h, {len(bad)} of them not good.", "",
             "| fault | rounds | good | wrong data | another user's job lost | something left | "
             "slowest end after it, s |",
             "|---|---|---|---|---|---|---|"]
    names = sorted({name for each in rounds for name in each.faults})
    lines += [_row(name, [each for each in rounds if name in each.faults]) for name in names]
    lines += [_row("all", rounds), ""]
    if bad:
        lines += ["Rounds that were not good:", ""]
        for each in bad:
            why = "; ".join([*each.wrong, *(f"left: {one}" for one in each.left)]).replace("\n", " ")
            lines.append(f"- seed {each.seed}, {' and '.join(each.faults)}: {why[:400]}")
        lines.append("")
    return "\n".join(lines)


def write(directory, rounds):
    """Both files; each is whole at any time."""
    os.makedirs(directory, exist_ok=True)
    for name, text in ((LINES, "".join(json.dumps(dataclasses.asdict(each)) + "\n" for each in rounds)),
                       (PAGE, page(rounds))):
        path = os.path.join(directory, name)
        with open(f"{path}.new", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(f"{path}.new", path)
