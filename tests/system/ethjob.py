# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests that break pm-ethernet: options of a job, an MPI job that goes on meanwhile, parts of a test
in one lab."""
import signal
import subprocess
import sys
import time

import ethlab
from systest import BUILD, HERE

sys.path.insert(0, f"{HERE}/../mpi")
import runner                                                           # noqa: E402

__all__ = ["RALLY", "Job", "config", "run_parts", "runner"]
RALLY = f"{BUILD}/mpi/rally"


def config(attach, *more):
    return ",".join(("devices=self+ethernet", f"ethernet.attach={attach}", *more))


class Job:
    """mpirun, going on while the test breaks things."""

    def __init__(self, lab, hosts, program, *arguments, options="", ranks=2, flags=()):
        words = runner.mpirun(ranks, *runner.ONLY, *flags, "-H", hosts,
                              *(("-x", "PM_OPTIONS") if options else ()), program, *arguments)
        env = dict(runner.environment(), PM_BUILD=BUILD)
        if options:
            env["PM_OPTIONS"] = options
        self.process = subprocess.Popen(lab.words("exec", "h0", "--", *words), env=env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def await_traffic(self):
        """The line that tests/mpi/rally prints then; what came before it."""
        said = ""
        while (line := self.process.stdout.readline()) and line != "under way\n":
            said += line
        return said

    def enough(self):
        """Tells tests/mpi/rally; mpirun passes it on."""
        self.process.send_signal(signal.SIGUSR1)

    def end(self, limit_s=30):
        """Exit code and what it printed; None if it had to be stopped."""
        try:
            out, _ = self.process.communicate(timeout=limit_s)
            return self.process.returncode, out
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                out, _ = self.process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                out, _ = self.process.communicate()
            return None, out


def run_parts(suffix, parts, *up):
    with ethlab.lab(suffix, *up) as lab:
        for host in ("h0", "h1") if "--ethernet" in up else ():
            lab.wait_for_peers(host, 2 * (up[0] - 1))
        for part in parts:
            start = time.monotonic()
            part(lab)
            lab.dismiss()
            print(f"# {part.__name__}: {time.monotonic() - start:.1f} s", flush=True)
