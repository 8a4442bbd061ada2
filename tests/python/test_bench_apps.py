# SPDX-License-Identifier: BSD-3-Clause
"""Readers of programs' output and profiles, and tables made of them, of tests/bench/apps. No program is run."""
import dataclasses
import json
import os
import pathlib
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench.apps import chemistry, cli, hpcc, lammps, links, profile, rows, runs, selection, table  # noqa: E402
from pmbench.apps import figures as apps_figures  # noqa: E402
from pmbench.apps.links import LINKS, PM, TCP, Place  # noqa: E402
from pmbench.apps.program import Program, agree, must_find  # noqa: E402
from pmbench.errors import CannotRun, Failed  # noqa: E402
from pmbench.figure import Bench, NotSeen  # noqa: E402
from pmbench.rounds import Reading, Samples  # noqa: E402
from pmbench.state import FAR, NEAR  # noqa: E402

NEAR_NS, FAR_NS = 50.0, 250.0
UNLIMITED = Place(2, LINKS["unlimited-1500"])

LAMMPS = """\
Step Temp E_pair E_mol TotEng Press
       0         1.44   -6.7733681            0   -4.6134356   -5.0197073
     300   0.74749157   -5.7436445            0   -4.6224756   0.30045309
Loop time of 1.26448 on 2 procs for 300 steps with 16384 atoms
"""

GROMACS = """\
   Energies (kJ/mol)
        LJ (SR)   Coulomb (SR)   Coul. recip.      Potential    Kinetic En.
    1.00000e+04   -9.00000e+04    6.00000e+02   -7.00000e+04    1.00000e+04
   Total Energy    Temperature Pressure (bar)
   -6.00000e+04    3.00000e+02    2.00000e+02

   Energies (kJ/mol)
        LJ (SR)   Coulomb (SR)   Coul. recip.      Potential    Kinetic En.
    1.56237e+04   -9.33891e+04    6.05219e+02   -7.71603e+04    1.30064e+04
   Total Energy    Temperature Pressure (bar)
   -6.41538e+04    3.07542e+02   -2.53051e+02

        <======  ###############  ==>
   Energies (kJ/mol)
"""

HPCC = {"Success": "1", "PTRANS_residual": "0", "MPIRandomAccess_Errors": "0", "MPIRandomAccess_LCG_Errors": "0",
        "MPIFFT_N": "4096", "HPL_N": "1500", "HPL_Anorm1": "263.865", "HPL_AnormI": "262.773", "HPL_Xnorm1": "2619.63",
        "HPL_XnormI": "11.3513", "HPL_time": "0.5", "PTRANS_time": "0.25", "MPIRandomAccess_time": "2",
        "MPIRandomAccess_LCG_time": "3", "RandomlyOrderedRingLatency_usec": "4",
        "RandomlyOrderedRingBandwidth_GBytes": "2", **{f"MPIFFT_time{i}": "0.125" for i in range(7)}}


def rank_profile(rank, ranks, wall_s, calls):
    return {"rank": rank, "ranks": ranks, "wall_s": wall_s, "mpi_s": sum(s for sizes in calls.values()
                                                                         for _, _, s in sizes),
            "calls": {name: {"calls": 1, "seconds": 1.0, "bytes": 1, "sizes": sizes} for name, sizes in calls.items()}}


def write_profiles(directory, told):
    for each in told:
        (directory / f"rank.{each['rank']}").write_text(json.dumps(each), encoding="ascii")
    return directory / "rank"


def tried(**changes):
    program = Program("tried", "tried-package", "true", "a program", lambda directory, ranks: None, (),
                      lambda directory, printed: {})
    return dataclasses.replace(program, **changes)


def found(name, ours, theirs, place=UNLIMITED, ns=NEAR_NS, parts=()):
    """Of rounds of (run, mpi) seconds on both sides."""
    samples = Samples()
    for side, values in ((PM, ours), (TCP, theirs)):
        for each in values:
            for point, value in enumerate((*each, *parts)):
                samples.add(side, Reading(value, point, ns, ns))
    of = profile.Profile(1.0, 1.0, {("MPI_Send", 64): (0.5, 10.0), ("MPI_Wait", 0): (0.75, 3.0)})
    state = NEAR if ns == NEAR_NS else FAR
    program = tried(name=name, part_names=tuple(f"part {i}" for i in range(len(parts))))
    return runs.Found(runs.Case(program, place), samples, {(side, state): [of] for side in (PM, TCP)}, len(ours))


# --- profiles -------------------------------------------------------------------------------------

def test_profile__of_all_ranks(tmp_path):
    base = write_profiles(tmp_path, [rank_profile(0, 2, 2.0, {"MPI_Send": [[64, 4, 1.0]], "MPI_Wait": [[0, 2, 0.5]]}),
                                     rank_profile(1, 2, 3.0, {"MPI_Send": [[64, 2, 0.5], [128, 2, 0.5]]})])
    read = profile.read(base, 2)
    assert read.wall_s == 3.0 and read.mpi_s == 1.25
    assert read.calls == {("MPI_Send", 64): (0.75, 3.0), ("MPI_Send", 128): (0.25, 1.0), ("MPI_Wait", 0): (0.25, 1.0)}


@pytest.mark.parametrize("told, why", [
    ([rank_profile(0, 2, 1.0, {"MPI_Send": [[1, 1, 0.1]]})], "rank 1 wrote no profile"),
    ([rank_profile(rank, 1, 1.0, {"MPI_Send": [[1, 1, 0.1]]}) for rank in (0, 1)], "as 1 ranks, not as 2"),
    ([rank_profile(rank, 2, 1.0, {}) for rank in (0, 1)], "no MPI call was counted")])
def test_profile__refused(tmp_path, told, why):
    with pytest.raises(Failed, match=why):
        profile.read(write_profiles(tmp_path, told), 2)


def test_profile__dearest_calls():
    one = profile.Profile(1.0, 1.0, {("MPI_Send", 64): (0.25, 2.0), ("MPI_Wait", 0): (0.5, 1.0)})
    other = profile.Profile(1.0, 1.0, {("MPI_Send", 64): (0.75, 4.0)})
    assert profile.dearest([one, other], 2) == [("MPI_Send", 64, 0.5, 3.0), ("MPI_Wait", 0, 0.25, 0.5)]


# --- what programs print --------------------------------------------------------------------------

def test_lammps__last_line_of_the_table(tmp_path):
    told = lammps.thermo(tmp_path, LAMMPS)
    assert told["Step"] == "300" and told["TotEng"] == "-4.6224756" and len(told) == 6


@pytest.mark.parametrize("text", ["", "Step Temp\n", "Step Temp\nLoop time of 1\n", "Loop time of 1\nStep Temp\n1 2\n"])
def test_lammps__without_a_table(tmp_path, text):
    with pytest.raises(Failed, match="no table"):
        lammps.thermo(tmp_path, text)


def test_lammps__chains_are_whole():
    lines = lammps.chains().splitlines()
    assert f"{lammps.SIDE ** 3} atoms" in lines and f"{lammps.SIDE ** 2 * (lammps.SIDE - 1)} bonds" in lines
    at = lines.index("Atoms") + 2
    atoms = [[float(word) for word in line.split()] for line in lines[at:at + lammps.SIDE ** 3]]
    bonds = [[int(word) for word in line.split()] for line in lines[lines.index("Bonds") + 2:] if line]
    for _, _, a, b in bonds:
        assert atoms[a - 1][1] == atoms[b - 1][1]  # both ends belong to one chain
        assert sum((p - q) ** 2 for p, q in zip(atoms[a - 1][3:], atoms[b - 1][3:])) < 1.5 ** 2


def test_gromacs__energies_of_the_last_step(tmp_path):
    (tmp_path / "md.log").write_text(GROMACS, encoding="utf-8")
    told = chemistry.energies(tmp_path, "")
    assert told["Total Energy"] == "-6.41538e+04" and told["Pressure (bar)"] == "-2.53051e+02" and len(told) == 8


def test_gromacs__without_energies(tmp_path):
    (tmp_path / "md.log").write_text("Fatal error\n", encoding="utf-8")
    with pytest.raises(Failed, match="no energies"):
        chemistry.energies(tmp_path, "")


def test_chemistry__energies_as_they_are_printed(tmp_path):
    printed = "!    total energy              =     -63.12345678 Ry\n"
    assert chemistry.total_energy(tmp_path, printed) == {"total energy": "-63.12345678"}
    printed = "         Total SCF energy =   -380.004935618755\n"
    assert chemistry.scf_energy(tmp_path, printed) == {"SCF energy": "-380.004935618755"}
    with pytest.raises(Failed, match="no SCF energy in the output, which ends with: nothing"):
        chemistry.scf_energy(tmp_path, "nothing")


def write_hpcc(directory, **changes):
    lines = "\n".join(f"{key}={value}" for key, value in {**HPCC, **changes}.items())
    (directory / "hpccoutf.txt").write_text(f"{hpcc.BEGIN}\n{lines}\n{hpcc.END}\n", encoding="ascii")


def test_hpcc__results_and_parts(tmp_path):
    write_hpcc(tmp_path)
    assert hpcc.results(tmp_path, "")["HPL_Xnorm1"] == "2619.63"
    assert dict(zip(hpcc.PART_NAMES, hpcc.parts(tmp_path))) == {
        "HPL": 0.5, "PTRANS": 0.25, "RandomAccess": 2.0, "RandomAccess, LCG": 3.0, "FFT": 0.875,
        "ring of 8 bytes": 4e-6, "ring of 2 MB": 1e-3}


def test_hpcc__failed(tmp_path):
    write_hpcc(tmp_path, Success="0")
    with pytest.raises(Failed, match="its own checks failed"):
        hpcc.results(tmp_path, "")
    (tmp_path / "hpccoutf.txt").write_text("HPL ERROR\n", encoding="ascii")
    with pytest.raises(Failed, match="no summary"):
        hpcc.results(tmp_path, "")


# --- programs and places --------------------------------------------------------------------------

@pytest.mark.parametrize("one, other, tolerance, same", [
    ("1.0", "1.0", 0.0, True), ("1.0", "1.00", 0.0, True), ("1.0", "1.1", 0.0, False), ("1.0", "1.0001", 1e-3, True),
    ("-1.0", "-1.1", 1e-3, False), ("nan", "1.0", 1.0, False), ("ok", "OK", 1.0, False)])
def test_agree(one, other, tolerance, same):
    assert agree(one, other, tolerance) is same


def test_compare__names_what_differs():
    tried().compare({"energy": "1.0"}, {"energy": "1.0"})
    with pytest.raises(Failed, match="tried: energy is 1.0 in one run and 2.0 in another"):
        tried().compare({"energy": "1.0"}, {"energy": "2.0"})
    with pytest.raises(Failed, match="tried: results"):
        tried().compare({"energy": "1.0"}, {})


def test_must_find__all_places():
    assert [match[1] for match in must_find(r"^a=(\d)$", "a=1\na=2\n", "a")] == ["1", "2"]


def test_program__says_what_to_install():
    with pytest.raises(CannotRun, match="not installed: apt-get install tried-package"):
        tried(executable="no-such-program-here").path()
    with pytest.raises(CannotRun, match="/no/such/file is not installed: apt-get install tried-data"):
        tried(needs=(pathlib.Path("/no/such/file"),), data_package="tried-data").path()


def test_measure_all__missing_programs_are_skipped(monkeypatch):
    absent = tried(executable="no-such-program-here")
    monkeypatch.setattr(selection, "PROGRAMS", {"tried": absent})
    shown = []
    got = selection.measure_all(selection.Choice(("tried",)), 1, 0.0, lambda text: None, shown.append)
    assert got.found == [] and got.missing == shown
    assert [(each.why, each.has_failed) for each in shown] == [("not installed: apt-get install tried-package", False)]


def test_places__one_host_has_no_links():
    names = [place.name for place in links.places([1, 2], ["unlimited-1500", "4x1g-9000"])]
    assert names == ["1 host", "2 hosts, unlimited-1500", "2 hosts, 4x1g-9000"]
    assert [Place(n, links.INSIDE).nodes() for n in (1, 2, 4)] == ["-nodes=1x2", "-nodes=2x1", "-nodes=4x1"]


def test_environment__both_sides_use_all_rails_and_yield_alike(monkeypatch):
    monkeypatch.setattr(links, "program", lambda path: path)
    monkeypatch.setattr(links, "component_dir", lambda: "/components")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    place = Place(4, LINKS["2x1g-1500"])
    ours, theirs = (links.environment(side, place) for side in (PM, TCP))
    assert theirs["OMPI_MCA_btl_tcp_if_include"] == "eth1,eth2" and theirs["OMPI_MCA_btl"] == "tcp,vader,self"
    assert ours["OMPI_MCA_mtl"] == "pm"
    assert ours["OMPI_MCA_mpi_yield_when_idle"] == theirs["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert "OMPI_MCA_mpi_yield_when_idle" not in links.environment(TCP, UNLIMITED)


def test_links__limited_ones_have_a_rate():
    assert "--rate" in LINKS["1x1g-1500"].options(2) and "--direct" not in LINKS["1x1g-1500"].options(2)
    assert "--direct" in LINKS["unlimited-9000"].options(2) and "--direct" not in LINKS["unlimited-9000"].options(4)


# --- rows and pages -------------------------------------------------------------------------------

def test_rows__medians_of_the_state_that_was_seen():
    [row] = rows.rows_of(found("hpcc", [(2.0, 0.5), (4.0, 1.5)], [(4.0, 2.0), (4.0, 2.0)], parts=(1.0,)))
    assert (row.state, row.rounds, row.run_ratio, row.mpi_ratio) == (NEAR, 2, 0.75, 0.5)
    assert row.run[PM] == rows.Span(3.0, 2.0, 4.0) and row.start_s(PM) == 2.0 and list(row.parts) == ["part 0"]
    assert row.calls[PM][0] == ("MPI_Wait", 0, 0.75, 3.0)


def test_rows__too_few_rounds_give_none():
    short = found("hpcc", [(2.0, 1.0)], [(4.0, 2.0)])
    short.rounds = 2
    assert rows.rows_of(short) == []


def two_rows():
    return [row for name, ours in (("hpcc", 4.0), ("lammps-melt", 1.0))
            for row in rows.rows_of(found(name, [(ours, ours)], [(2.0, 2.0)]))]


def test_rows__worst_and_mean():
    assert rows.worst(two_rows()).program == "hpcc"
    assert rows.mean_of_mpi(two_rows()) == pytest.approx(1.0)  # of 2 and 1/2


def test_table__written_and_read_again(tmp_path):
    missing = [selection.Missing("gromacs-water", "any place", "not installed: apt-get install gromacs", False)]
    table.write(tmp_path, two_rows(), missing)
    assert [row.as_json() for row in table.read(tmp_path)] == [json.loads(json.dumps(r.as_json())) for r in two_rows()]
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| hpcc | 2 hosts, unlimited-1500 | near | 4 [4 4] | 2 [2 2] | **2.000** |" in page
    assert "2 rows, 1 of them with a run time above 1.0; the worst is 2.000 (hpcc, 2 hosts, unlimited-1500)" in page
    assert "| hpcc | 2 hosts, unlimited-1500 | near | MPI_Wait | 0 | 3 | 0.75 | 0.75 |" in page
    assert "| lammps-melt | 2 hosts, unlimited-1500 | near | MPI_Wait" not in page  # it is not slower
    assert "gromacs-water, any place: not installed: apt-get install gromacs" in page


def test_table__newer_rows_replace_older_ones(tmp_path):
    older = two_rows()
    newer = rows.rows_of(found("hpcc", [(1.0, 1.0)], [(2.0, 2.0)]))
    assert [row.run_ratio for row in table.merged(older, newer)] == [0.5, 0.5]
    assert table.read(tmp_path) == []


def test_span__keeps_fractions_of_a_microsecond():
    assert rows.Span.of([4e-7]).median == 4e-7


# --- figures and the command line -----------------------------------------------------------------

def judged(monkeypatch, name, all_found, missing=()):
    monkeypatch.setattr(apps_figures, "_measured", {})
    monkeypatch.setattr(apps_figures, "measure_all", lambda *_: selection.Table(list(all_found), list(missing)))
    [figure] = [each for each in apps_figures.FIGURES if each.name == name]
    return {outcome.state: outcome for outcome in figure.outcomes(Bench(rounds=1))}


def test_figures__worst_program_counts(monkeypatch):
    outcomes = judged(monkeypatch, "apps-worst", [found("hpcc", [(3.0, 1.0)], [(2.0, 4.0)]),
                                                  found("lammps-melt", [(1.0, 1.0)], [(2.0, 2.0)])])
    assert outcomes[NEAR].ratio == 1.5 and outcomes[NEAR].met is False
    assert outcomes[NEAR].at == "hpcc, 2 hosts, unlimited-1500" and isinstance(outcomes[FAR], NotSeen)


def test_figures__mean_of_mpi_time(monkeypatch):
    outcomes = judged(monkeypatch, "apps-mean", [found("hpcc", [(3.0, 1.0)], [(2.0, 4.0)]),
                                                 found("lammps-melt", [(1.0, 1.0)], [(2.0, 1.0)])])
    assert outcomes[NEAR].ratio == pytest.approx(0.5) and outcomes[NEAR].met is True


def test_figures__a_failed_run_fails_the_figure(monkeypatch):
    failed = selection.Missing("hpcc", "1 host", "results differ", True)
    with pytest.raises(Failed, match="hpcc, 1 host: results differ"):
        judged(monkeypatch, "apps-worst", [found("hpcc", [(1.0, 1.0)], [(2.0, 2.0)])], [failed])


def test_figures__nothing_installed(monkeypatch):
    absent = selection.Missing("hpcc", "any place", "not installed: apt-get install hpcc", False)
    with pytest.raises(CannotRun, match="apt-get install hpcc"):
        judged(monkeypatch, "apps-mean", [], [absent])


@pytest.mark.parametrize("words, why", [
    (["--programs", "doom"], "no program named 'doom'"), (["--links", "string"], "no link named 'string'"),
    (["--hosts", "3"], "no number of hosts named '3'"), (["--rounds", "0"], "not a number of 1 or more"),
    (["--add"], "name its directory by --write")])
def test_cli__refuses(capsys, words, why):
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    assert end.value.code == 2 and why in capsys.readouterr().err


@pytest.mark.parametrize("rounds, failed, status", [(0, False, 77), (0, True, 2), (1, False, 0), (1, True, 2)])
def test_cli__exit_status(monkeypatch, tmp_path, rounds, failed, status):
    def measure_all(choice, count, limit_s, progress, show):
        if rounds:
            show(found("hpcc", [(1.0, 1.0)], [(2.0, 2.0)]))
        show(selection.Missing("lammps-melt", "1 host", "why it is missing", failed))
    monkeypatch.setattr(cli, "measure_all", measure_all)
    assert cli.main(["--write", str(tmp_path / "apps")]) == status
    page = tmp_path / "apps" / "README.md"
    assert page.exists() is bool(rounds)
    assert not rounds or "lammps-melt, 1 host: why it is missing" in page.read_text(encoding="utf-8")
