"""A property: one promise of a client that Hypothesis tries to break, in virtual time.

A property is a function of the client's components and of drawn examples. It raises AssertionError if the promise is
broken. It is a value: the test suite runs every property on the true client, ``kafka-trial mutants`` runs it on clients
with one defect, and docs/reference/requirements lists the behaviours that it checks. Hypothesis state machines are
properties too.

A situation that rarely arises by chance is an explicit example. Explicit examples are tried before all drawn ones,
whatever the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import example as explicit_example
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from hypothesis.strategies import SearchStrategy

from clients.reference.consumer.components import Components as ConsumerComponents
from clients.reference.producer.producer import Components

#: Packages whose modules contain properties. The package's name is the suite's.
SUITES = ("state_transitions", "timeout_expiry", "delivery")

Hold = Callable[..., None]

AnyComponents = Components | ConsumerComponents
"""The classes of a producer's or of a consumer's parts."""

Step = tuple[str, Mapping[str, Any]]
"""The name of a rule of a state machine, and its arguments."""


def step(rule: str, **arguments: Any) -> Step:
    """Return one step of an explicit example of a state machine."""
    return rule, arguments


@dataclass(frozen=True)
class Property:
    """A property, with the stable id ``suite/name``. ``requirements`` are the behaviour ids that it tests.

    ``made_of`` makes the components of the client without a defect: a producer or a consumer.

    Exactly one of ``hold`` and ``machine`` is set. ``hold`` is called with the components and one example.
    ``machine`` is a state machine whose ``components`` attribute is set before it runs. ``explicit`` are
    arguments of ``hold``, ``walks`` are runs of ``machine`` by name.
    """

    suite: str
    name: str
    requirements: tuple[str, ...]
    statement: str
    examples: Mapping[str, SearchStrategy[Any]]
    made_of: type[Components] | type[ConsumerComponents] = Components
    hold: Hold | None = None
    machine: type[RuleBasedStateMachine] | None = None
    explicit: tuple[Mapping[str, Any], ...] = ()
    walks: Mapping[str, Sequence[Step]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """``suite/name``, which is unique."""
        return f"{self.suite}/{self.name}"


@dataclass(frozen=True)
class Broken:
    """A property that did not hold: the number of the example (from 1), and the error."""

    prop: Property
    example: int
    error: Exception


_PROPERTIES: dict[str, Property] = {}


def client_property(*requirements: str, **examples: SearchStrategy[Any]) -> Callable[[Hold], Hold]:
    """Declare that a function ``(components, **example)`` is a property of producers.

    Its docstring's first line is the promise.
    """
    return _declaring(requirements, examples, Components)


def consumer_property(*requirements: str, **examples: SearchStrategy[Any]) -> Callable[[Hold], Hold]:
    """Declare a property of consumers, as :func:`client_property` does. It gets the components of a consumer."""
    return _declaring(requirements, examples, ConsumerComponents)


def _declaring(
    requirements: tuple[str, ...],
    examples: Mapping[str, SearchStrategy[Any]],
    made_of: type[Components] | type[ConsumerComponents],
) -> Callable[[Hold], Hold]:
    def declare(hold: Hold) -> Hold:
        explicit = tuple(getattr(hold, "explicit_examples", ()))
        body = {"hold": hold, "explicit": explicit, "made_of": made_of}
        _add(hold.__module__, hold.__name__, requirements, getdoc(hold), examples, **body)
        return hold

    return declare


def example(**arguments: Any) -> Callable[[Hold], Hold]:
    """Add an example that is tried before the drawn ones.

    Place it below ``prop``, with all arguments except the components.
    """

    def declare(hold: Hold) -> Hold:
        found = (arguments, *getattr(hold, "explicit_examples", ()))
        hold.explicit_examples = found  # type: ignore[attr-defined]
        return hold

    return declare


def stateful_property(
    *requirements: str, walks: Mapping[str, Sequence[Step]] | None = None
) -> Callable[[type[Any]], type[Any]]:
    """Declare a RuleBasedStateMachine to be a property. It finds the client's classes in ``self.components``."""

    def declare(machine: type[Any]) -> type[Any]:
        module, doc = machine.__module__, getdoc(machine)
        _add(module, machine.__name__, requirements, doc, {}, machine=machine, walks=walks or {})
        return machine

    return declare


def _add(
    module: str,
    name: str,
    requirements: tuple[str, ...],
    doc: str | None,
    examples: Mapping[str, SearchStrategy[Any]],
    **body: Any,
) -> None:
    suite = module.split(".")[-2]
    statement = (doc or "").splitlines()[0] if doc else ""
    made = Property(suite, name, requirements, statement, examples, **body)
    if not (statement and requirements):
        raise ValueError(f"property {made.id} needs a docstring and requirements")
    if made.id in _PROPERTIES and _PROPERTIES[made.id].hold is not made.hold:
        raise ValueError(f"two properties are called {made.id}")
    _PROPERTIES[made.id] = made


def properties() -> dict[str, Property]:
    """Return all properties by id, in a stable order."""
    _import_all()
    return dict(sorted(_PROPERTIES.items()))


@cache
def _import_all() -> None:
    """Import the modules of all suites, which declares their properties."""
    for suite in SUITES:
        package = import_module(f"{__package__}.{suite}")
        for found in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{found.name}")


def try_property(
    tried: Property, components: AnyComponents, examples: int, *, at_seed: int = 0, shrink: bool = False
) -> Broken | None:
    """Look for an example that breaks ``tried`` on a client made of ``components``. Return None if none was found.

    The same arguments try the same examples. With ``shrink``, the error is that of the smallest example.
    """
    count = _Count()
    phases = (Phase.explicit, Phase.generate) + ((Phase.shrink,) if shrink else ())
    chosen = settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        if tried.machine is not None:
            counting = _counting(tried.machine, components, count)
            for steps in tried.walks.values():
                walk(counting, steps)
            run_state_machine_as_test(seed(at_seed)(counting), settings=chosen)
        elif tried.examples:
            prop = given(**tried.examples)(_property(tried, components, count))
            for arguments in reversed(tried.explicit):
                prop = explicit_example(**arguments)(prop)
            chosen(seed(at_seed)(prop))()
        else:
            _property(tried, components, count)()
    except Exception as error:
        return Broken(tried, count.until_broken, error)
    return None


def walk(machine: type[Any], steps: Sequence[Step]) -> None:
    """Run a state machine once with the given steps. Its invariants are checked after each."""
    run = machine()
    invariants = run.invariants() if callable(run.invariants) else run.invariants  # a method before 6.140
    for rule, arguments in steps:
        getattr(run, rule)(**arguments)
        for invariant in invariants:
            invariant.function(run)
    run.teardown()


@dataclass
class _Count:
    """How many examples were tried until the first one failed. Later ones are repetitions by Hypothesis."""

    tried: int = 0
    broken_at: int = 0

    @property
    def until_broken(self) -> int:
        return self.broken_at or self.tried


def _property(tried: Property, components: AnyComponents, count: _Count) -> Hold:
    hold = tried.hold
    assert hold is not None

    def run(**example: Any) -> None:
        count.tried += 1
        try:
            hold(components, **example)
        except UnsatisfiedAssumption:
            raise
        except Exception:  # also what a component raises because it is broken
            count.broken_at = count.broken_at or count.tried
            raise

    return run


def _counting(machine: type[Any], components: AnyComponents, count: _Count) -> type[Any]:
    """Return the machine on these components, counting how often it was started."""

    def begin(self: Any) -> None:
        count.tried += 1
        machine.__init__(self)

    return type(machine.__name__, (machine,), {"components": components, "__init__": begin})


def by_requirement() -> Iterator[tuple[str, Property]]:
    """Yield (behaviour id, property) for every property."""
    for declared in properties().values():
        for requirement in declared.requirements:
            yield requirement, declared
