"""Jars from Maven's central repository, fetched by PyPI's ``jgo``, which is small and needs no JVM.

jgo only warns if a checksum is wrong, so it is used for pinned jars only: for Ivy, which then fetches all others. It
runs in an environment of its own, pinned by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.model.errors import EnvironmentProblem
from harness.provision.python_env import pinned_env
from harness.provision.tools import attempt, excerpt

JGO = Path(__file__).with_name("jgo.txt")

#: Arguments: a folder, and GROUP:NAME:VERSION for each jar. An error is only named, since its text has addresses.
PROGRAM = """
import sys
from pathlib import Path
from jgo.maven import MavenContext

context = MavenContext(repo_cache=Path(sys.argv[1]))
try:
    for word in sys.argv[2:]:
        group, name, version = word.split(":")
        context.project(group, name).at_version(version).artifact().resolve()
except Exception as error:
    sys.exit(type(error).__name__)
"""


def fetch(what: str, modules: Sequence[tuple[str, str, str]], folder: Path) -> None:
    """Fetch the jars of ``modules``, without their dependencies, into a folder. ``what`` is their name in errors.

    A module is an organisation, a name and a revision. Raises EnvironmentProblem if jgo cannot be installed or cannot
    fetch them.
    """
    with TemporaryDirectory(dir=folder, prefix=".jgo-") as work:
        words = [":".join(module) for module in modules]
        ended = attempt(
            [pinned_env("jgo", JGO), "-I", "-c", PROGRAM, work, *words], tool="jgo", timeout_s=300
        )
        if ended.returncode != 0:
            why = f"Maven's central repository gave an error ({excerpt(ended.output)})"
            hint = "SSLError: let REQUESTS_CA_BUNDLE name the certificates to trust"
            raise EnvironmentProblem(
                "fetch-failed",
                "{what} could not be fetched: {cause}",
                hint=hint if "SSLError" in why else None,
                what=what,
                cause=why,
            )
        for jar in Path(work).rglob("*.jar"):
            jar.rename(folder / jar.name)
