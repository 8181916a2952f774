"""Jars from Maven's central repository, fetched by Ivy, which needs only a JVM. Ivy's own jars are fetched by jgo.

Ivy checks its downloads against the repository's own checksums. Pinned jars are also compared with a committed list:
Ivy's own, Kafka's, the compiler, and the jars of each client version that was tried.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.model.errors import EnvironmentProblem
from harness.provision import jgo, manifest
from harness.provision.caches import installed
from harness.provision.java import find_java
from harness.provision.manifest import FIX, summary
from harness.provision.tools import Ended, attempt, excerpt
from harness.provision.versions import in_order, unknown_version
from harness.text.sentences import Coded

Module = tuple[str, str, str]
"""Organisation, name and revision."""
Fetch = Callable[[str, Sequence[Module], Path], None]
"""What fetches modules into a folder, as :func:`fetch` does."""

#: Ivy, and what its command line needs.
IVY: tuple[Module, ...] = (("org.apache.ivy", "ivy", "2.5.3"), ("commons-cli", "commons-cli", "1.9.0"))
#: Options for a JVM that runs only a few seconds, where the optimising compiler does not pay off.
BRIEFLY = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
#: Ivy's messages for an unreachable repository. It then reports modules as "not found" too.
_OUT_OF_REACH = ("Server access error", "download failed", "Host ")
#: A revision that no module has: Ivy lists all revisions and fetches nothing.
_NO_REVISION = "[99999,)"


def fetch(what: str, modules: Sequence[Module], folder: Path) -> None:
    """Fetch the jars of ``modules`` and their dependencies into a folder. ``what`` is their name in errors.

    Raises UsageError if the first module has no such revision, and EnvironmentProblem without Java or if the download
    failed.
    """
    with TemporaryDirectory(dir=folder, prefix=".ivy-") as work:
        description = Path(work) / "ivy.xml"
        description.write_text(_description(modules))
        pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
        # Maven calls an OSGi jar a `bundle`: without that type a third of the jars would be missing
        kinds = ("-confs", "default", "-types", "jar", "bundle")
        ended = _ivy(Path(work), ["-ivy", str(description), "-retrieve", pattern, *kinds])
    if ended.returncode == 0:
        return
    organisation, name, revision = modules[0]
    if f":: {organisation}#{name};{revision}: not found" in ended.output:
        there = _listed(organisation, name)[0]
        if there and revision not in there:
            raise unknown_version(f"{name} {revision}", name, there[-1])
    raise EnvironmentProblem(
        "fetch-failed", "{what} could not be fetched: {cause}", what=what, cause=_cause(ended)
    )


def published(organisation: str, name: str) -> list[str]:
    """Return every revision of a module in the repository, oldest first. EnvironmentProblem: the query failed."""
    revisions, ended = _listed(organisation, name)
    if not revisions:
        raise EnvironmentProblem(
            "versions-not-listed",
            "the versions of {name} could not be listed: {cause}",
            name=name,
            cause=_cause(ended),
        )
    return revisions


def fetch_pinned(
    what: str, modules: Sequence[Module], folder: Path, sums: Mapping[str, str], by: Fetch = fetch
) -> None:
    """Like :func:`fetch`, but raise EnvironmentProblem unless the result is exactly the jars in ``sums``."""
    by(what, modules, folder)
    if wrong := differences(folder, sums):
        raise EnvironmentProblem(
            "fetched-not-pinned",
            "{what} was fetched, but does not match its pinned checksums: {summary}",
            what=what,
            summary=summary(wrong),
            first=wrong[0],
        )


def pinned(
    what: str, modules: Sequence[Module], kind: str, name: str, sums: Mapping[str, str], by: Fetch = fetch
) -> Path:
    """Return an installation with exactly the jars in ``sums``, fetched if missing, and checked at every use.

    Raises EnvironmentProblem without Java, if the download failed, or if a jar differs from the committed one.
    """
    place = installed(kind, name, lambda folder: fetch_pinned(what, modules, folder, sums, by))
    check(what, place, sums)
    return place


def check(what: str, libs: Path, sums: Mapping[str, str]) -> None:
    """Raise EnvironmentProblem unless the folder contains exactly the jars of the committed list, byte for byte."""
    if wrong := differences(libs, sums):
        raise EnvironmentProblem(
            "installed-not-pinned",
            "the jars of {what} in {libs} do not match their pinned checksums: {summary}",
            hint=FIX,
            what=what,
            libs=libs,
            summary=summary(wrong),
            first=wrong[0],
        )


def read_sums(name: str) -> dict[str, str]:
    """Return a committed list, as jar name to SHA-256, from ``shasum``'s format."""
    return sums_in(Path(__file__).with_name("sums") / f"{name}.sha256")


def sums_in(file: Path) -> dict[str, str]:
    """Return a list of jars from a file that :func:`write_sums` wrote."""
    return {jar: digest for digest, jar in (line.split() for line in file.read_text().splitlines())}


def write_sums(folder: Path, file: Path) -> None:
    """Write the jars of a folder with their SHA-256 into a file."""
    lines = [f"{_sha256(jar)}  {jar.name}\n" for jar in sorted(folder.glob("*.jar"))]
    file.write_text("".join(lines))


def differences(libs: Path, sums: Mapping[str, str]) -> list[Coded]:
    """Describe each jar that is missing, altered or surplus."""
    present = {jar.name for jar in libs.iterdir()}
    wrong = [manifest.missing(name) for name in sorted(sums.keys() - present)]
    both = sorted(sums.keys() & present)
    wrong += [manifest.altered(name) for name in both if _sha256(libs / name) != sums[name]]
    return wrong + [manifest.surplus(name) for name in sorted(present - sums.keys())]


def classpath(folder: Path) -> str:
    """Return the jars of a folder for ``java -cp``, sorted (a wildcard's order depends on the file system)."""
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))


def ivy_classpath() -> str:
    """Return the class path of Ivy, fetched if missing. Errors: those of :func:`pinned`."""
    version = IVY[0][2]
    return classpath(pinned(f"Ivy {version}", IVY, "ivy", version, read_sums(f"ivy-{version}"), by=jgo.fetch))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(organisation: str, name: str) -> tuple[list[str], Ended]:
    with TemporaryDirectory(prefix="kafka-trial-ivy-") as work:
        ended = _ivy(Path(work), ["-debug", "-notransitive", "-dependency", organisation, name, _NO_REVISION])
    found = re.search(r"found revs: \[(.+)\]", ended.output)
    return in_order(found[1].split(", ")) if found else [], ended


def _cause(ended: Ended) -> str:
    """Return why Ivy failed, without the address in its message."""
    reached = not any(words in ended.output for words in _OUT_OF_REACH)
    line = excerpt(ended.output, *(("not found",) if reached else _OUT_OF_REACH))
    return re.sub(r"^(WARN|ERROR): | (at )?url[ =]\S+", "", line).rstrip(".")


def _ivy(work: Path, words: Sequence[str]) -> Ended:
    # a separate user folder, so that ~/.ivy2 has no effect
    user = f"-Divy.default.ivy.user.dir={work}"
    ivy: list[str | Path] = [
        find_java().path,
        *BRIEFLY,
        user,
        "-cp",
        ivy_classpath(),
        "org.apache.ivy.Main",
        *words,
    ]
    return attempt(ivy, tool="java", timeout_s=900)


def _description(modules: Sequence[Module]) -> str:
    wanted = "\n".join(
        f'<dependency org="{organisation}" name="{name}" rev="{revision}" conf="default"/>'
        for organisation, name, revision in modules
    )
    return f"""<ivy-module version="2.0">
<info organisation="kafka-trial" module="jars"/>
<dependencies>
{wanted}
</dependencies>
</ivy-module>
"""
