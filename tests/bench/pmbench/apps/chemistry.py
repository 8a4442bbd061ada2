# SPDX-License-Identifier: BSD-3-Clause
"""GROMACS, Quantum ESPRESSO and NWChem."""
from __future__ import annotations

import gzip
import pathlib
import subprocess

from ..errors import CannotRun, Failed
from .program import Program, Results, must_find

PREPARE_S = 60
PSEUDO = pathlib.Path("/usr/share/doc/quantum-espresso/examples/atomic/pseudo-LDA-0.5/Si.pz-vbc.UPF.gz")
# Its windows go by messages: Open MPI's osc/rdma gives a rank no memory in hosts that are namespaces of one machine.
WINDOWS = (("OMPI_MCA_osc", "pt2pt"),)
BASIS = pathlib.Path("/usr/share/nwchem/libraries/6-31g")

TOPOLOGY = """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""

MD = """\
integrator = md
dt = 0.002
nsteps = 400
cutoff-scheme = Verlet
nstlist = 10
verlet-buffer-tolerance = -1
rlist = 1.0
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
fourierspacing = 0.12
tcoupl = no
gen_vel = yes
gen_temp = 300
gen_seed = 173529
nstenergy = 100
nstcalcenergy = 100
nstlog = 100
"""

BOX = "3.72412"  # nm: twice the edge of GROMACS's own box of water, so that copies of it fit without a gap

SILICON = """\
&control
  calculation = 'scf', prefix = 'silicon', pseudo_dir = '.', outdir = './out', disk_io = 'none'
/
&system
  ibrav = 1, celldm(1) = 10.2, nat = 8, ntyp = 1, ecutwfc = 30.0, nosym = .true.
/
&electrons
  conv_thr = 1.0d-9
/
ATOMIC_SPECIES
Si 28.086 Si.UPF
ATOMIC_POSITIONS crystal
Si 0.00 0.00 0.00
Si 0.50 0.50 0.00
Si 0.50 0.00 0.50
Si 0.00 0.50 0.50
Si 0.25 0.25 0.25
Si 0.75 0.75 0.25
Si 0.75 0.25 0.75
Si 0.25 0.75 0.76
K_POINTS automatic
3 2 2 1 1 1
"""

WATERS = """\
start water
memory total 400 mb
geometry units angstroms
{atoms}
end
basis
 * library 6-31g*
end
scf
 direct
end
task scf energy
"""


def called(words: list[str], directory: pathlib.Path) -> None:
    """A tool that makes a part of the input."""
    try:
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=PREPARE_S, check=False,
                              stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise CannotRun(f"{words[0]} is not installed: apt-get install gromacs") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"not ready within {PREPARE_S} s: {' '.join(words)}") from None
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {' '.join(words)}\n{done.stderr[-1000:]}")


def water_box(directory: pathlib.Path, ranks: int) -> None:
    (directory / "topol.top").write_text(TOPOLOGY, encoding="ascii")
    (directory / "md.mdp").write_text(MD, encoding="ascii")
    called(["gmx", "-quiet", "solvate", "-cs", "spc216", "-box", BOX, BOX, BOX, "-o", "conf.gro", "-p", "topol.top"],
           directory)
    called(["gmx", "-quiet", "grompp", "-f", "md.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "run.tpr"],
           directory)


def energies(directory: pathlib.Path, printed: str) -> Results:
    """The energies of the last step, each in a column of 15 characters below its name."""
    text = (directory / "md.log").read_text(encoding="utf-8").split("<======", maxsplit=1)[0]
    lines = text.rsplit("Energies (kJ/mol)\n", maxsplit=1)[-1].splitlines()
    found: Results = {}
    for names, values in zip(lines[0::2], lines[1::2]):
        if not names.strip():
            break
        found.update({names[at:at + 15].strip(): values[at:at + 15].strip() for at in range(0, len(names), 15)})
    if "Total Energy" not in found:
        raise Failed(f"no energies in md.log, which ends with: {text[-500:]}")
    return found


def silicon(directory: pathlib.Path, ranks: int) -> None:
    (directory / "in.txt").write_text(SILICON, encoding="ascii")
    (directory / "Si.UPF").write_bytes(gzip.decompress(PSEUDO.read_bytes()))


def total_energy(directory: pathlib.Path, printed: str) -> Results:
    return {"total energy": must_find(r"^!\s+total energy\s+=\s+(\S+) Ry", printed, "total energy")[-1][1]}


def waters(directory: pathlib.Path, ranks: int) -> None:
    atoms = [f" {name} {x + 3 * at:.3f} {y:.3f} {z:.3f}" for at in range(5)
             for name, x, y, z in (("O", 0.0, 0.0, 0.117), ("H", 0.0, 0.757, -0.469), ("H", 0.0, -0.757, -0.469))]
    (directory / "in.nw").write_text(WATERS.format(atoms="\n".join(atoms)), encoding="ascii")


def scf_energy(directory: pathlib.Path, printed: str) -> Results:
    return {"SCF energy": must_find(r"Total SCF energy =\s+(\S+)", printed, "SCF energy")[-1][1]}


PROGRAMS = [
    Program("gromacs-water", "gromacs", "gmx_mpi", "GROMACS, 1696 molecules of water with PME, 400 steps", water_box,
            ("-quiet", "mdrun", "-s", "run.tpr", "-reprod", "-ntomp", "1", "-npme", "0", "-notunepme", "-dlb", "no",
             "-noconfout"), energies),
    Program("espresso-silicon", "quantum-espresso", "pw.x",
            "Quantum ESPRESSO, plane waves of 8 atoms of silicon, 12 k-points", silicon, ("-in", "in.txt"),
            total_energy, tolerance=1e-8, needs=(PSEUDO,), data_package="quantum-espresso-data"),
    Program("nwchem-water", "nwchem-openmpi", "nwchem.openmpi",
            "NWChem, Hartree-Fock of 5 molecules of water; ranks share out work as they go", waters, ("in.nw",),
            scf_energy, tolerance=1e-8, needs=(BASIS,), data_package="nwchem-data", env=WINDOWS),
]
