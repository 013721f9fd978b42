"""What is known of a drawn program before anything is measured."""
import dataclasses
import typing

# What theory says of taking time away from a function, against what its criticality predicts.
ADDITIVE = "additive"  # the same
HIDDEN = "hidden"      # nothing, and nothing is predicted
BOUND = "bound"        # at most that: branches that are tied, little slack, delays that hold up what real work does not
NULL = "null"          # hidden behind a wait that it has nothing to do with; nothing is taken away

MATTERS, DOES_NOT_MATTER = "MATTERS", "DOES_NOT_MATTER"


@dataclasses.dataclass
class Function:
    name: str
    kind: str
    criticality: typing.Optional[float]  # None: not known to a hundredth
    calls: typing.Optional[float]        # per unit; None: not known to a hundredth
    removed_s: float = 0                 # from each call
    gain: typing.Optional[float] = 0     # of that, in parts of a unit; None: not known to a hundredth
    verdict: typing.Optional[str] = None
    file: typing.Optional[str] = None    # where it is not in the program's own
    straight: bool = True  # what a delay costs is in proportion to it; else criticality depends on which ones are tried

    def __post_init__(self):
        if self.verdict is None and self.criticality is not None:
            self.verdict = MATTERS if abs(self.criticality) > 0.1 else DOES_NOT_MATTER


@dataclasses.dataclass
class Case:
    family: str
    program: str      # a file of programs/
    parameters: dict  # what it is told
    unit_s: float     # what a unit takes, without what Python itself does between its waits
    functions: list   # of Function
    top_percent: int = 20  # of a unit, that the largest dose injects
    options: tuple = ()    # more ones of sbumpctl sweep

    def function(self, name):
        return next(one for one in self.functions if one.name == name)


def null(calls=1):
    return Function("null", NULL, 0, calls, file="work.py")


# Of a program that has it in a process beside.
BYSTANDER = {"options": ("--children",)}


def bystander():
    return null(calls=None)
