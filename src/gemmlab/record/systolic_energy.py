"""The energy of a systolic array's run: counts times a table that somebody published."""

from gemmlab.record.section import Section


class SystolicEnergyTerm(Section, frozen=True, kw_only=True):
    """One thing that takes energy, how often it happens, and what that adds up to."""

    what: str  #: in words
    count: int  #: multiply-adds, or bytes
    unit: str  #: of the count: MAC or B
    energy_j: float  #: count times the table's figure; its lower end where the table gives a range
    energy_high_j: float  #: count times its upper end


class SystolicEnergy(Section, frozen=True, kw_only=True):
    """Predicted: energy of arithmetic and memory; never without the table's name, source and node."""

    table: str  #: the table of energies
    source: str  #: where its figures were published
    node: str  #: process and voltage that they hold for
    energy_j: float  #: of all terms, at the lower end of what the table gives as a range
    energy_high_j: float  #: at the upper end
    no_reuse_j: float  #: the same, were both operands of every multiply-add read from SRAM
    terms: tuple[SystolicEnergyTerm, ...]  #: what it is made of
    left_out: tuple[str, ...] = ()  #: what the table has no figure for
