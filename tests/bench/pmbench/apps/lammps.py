# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS: particles in boxes, cut so that neighbours exchange their surfaces at each step."""
from __future__ import annotations

import pathlib

from ..errors import Failed
from .program import Program, Results

POTENTIAL = pathlib.Path("/usr/share/lammps/potentials/Cu_u3.eam")
THERMO_HEAD = "Step "

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 16 0 16 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 100
run 300
"""

CHAIN = """\
units lj
atom_style bond
special_bonds fene
read_data data.txt
neighbor 0.4 bin
neigh_modify every 1 delay 1
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
pair_style lj/cut 1.12
pair_modify shift yes
pair_coeff 1 1 1.0 1.0 1.12
velocity all create 1.0 4928459 loop geom
fix 1 all nve
timestep 0.005
thermo 200
run 1000
"""

METAL = """\
units metal
atom_style atomic
lattice fcc 3.615
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
pair_style eam
pair_coeff 1 1 {potential}
velocity all create 1600.0 376847 loop geom
neighbor 1.0 bin
neigh_modify every 1 delay 5 check yes
fix 1 all nve
timestep 0.005
thermo 50
run 150
"""

SALT = """\
units lj
atom_style charge
lattice sc 0.5
region box block 0 16 0 16 0 16
create_box 2 box
create_atoms 1 box
variable odd atom (round(x/lx*16)+round(y/ly*16)+round(z/lz*16))%2
group odd variable odd
set group odd type 2
set type 1 charge 1.0
set type 2 charge -1.0
mass * 1.0
velocity all create 1.0 87287 loop geom
pair_style lj/cut/coul/long 2.5 4.0
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-3
neighbor 0.3 bin
fix 1 all nve
timestep 0.002
thermo 100
run 300
"""

SIDE = 24       # beads of a chain, and chains along each of two edges
SPACING = 1.05  # of beads, below the length where a FENE bond breaks


def chains() -> str:
    """A data file: SIDE * SIDE straight chains of SIDE beads, side by side in a periodic box."""
    atoms = [f"{at + 1} {at // SIDE + 1} 1 {at % SIDE * SPACING:.4f} {at // SIDE % SIDE * SPACING:.4f} "
             f"{at // SIDE ** 2 * SPACING:.4f}" for at in range(SIDE ** 3)]
    bonded = [at for at in range(1, SIDE ** 3) if at % SIDE]
    bonds = [f"{number} 1 {at} {at + 1}" for number, at in enumerate(bonded, 1)]
    edges = [f"0 {SIDE * SPACING:.4f} {axis}lo {axis}hi" for axis in "xyz"]
    return "\n".join(["chains", "", f"{len(atoms)} atoms", f"{len(bonds)} bonds", "1 atom types", "1 bond types",
                      "2 extra bond per atom", "", *edges, "", "Masses", "", "1 1.0", "", "Atoms", "", *atoms, "",
                      "Bonds", "", *bonds, ""])


def thermo(directory: pathlib.Path, printed: str) -> Results:
    """The last line of the table that LAMMPS prints while it runs."""
    lines = printed.splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith(THERMO_HEAD)]
    ends = [at for at, line in enumerate(lines) if line.startswith("Loop time")]
    if not heads or not ends or ends[-1] <= heads[-1] + 1:
        raise Failed(f"no table of LAMMPS in the output, which ends with: {printed[-500:]}")
    return dict(zip(lines[heads[-1]].split(), lines[ends[-1] - 1].split()))


def lammps(name: str, text: str, script: str, data: str = "", needs: tuple[pathlib.Path, ...] = ()) -> Program:
    def prepare(directory: pathlib.Path, ranks: int) -> None:
        (directory / "in.txt").write_text(script.format(potential=POTENTIAL), encoding="ascii")
        if data:
            (directory / "data.txt").write_text(data, encoding="ascii")
    return Program(name, "lammps", "lmp", text, prepare, ("-in", "in.txt", "-log", "none"), thermo, needs=needs,
                   data_package="lammps-data")


PROGRAMS = [
    lammps("lammps-melt", "LAMMPS, Lennard-Jones melt of 16 384 atoms, 300 steps", MELT),
    lammps("lammps-chain", f"LAMMPS, bead-spring chains of {SIDE ** 3} atoms, 1000 steps", CHAIN, chains()),
    lammps("lammps-metal", "LAMMPS, copper by an EAM potential, 6912 atoms, 150 steps", METAL, needs=(POTENTIAL,)),
    lammps("lammps-salt", "LAMMPS, charges with long range by PPPM (FFT), 4096 atoms, 300 steps", SALT),
]
