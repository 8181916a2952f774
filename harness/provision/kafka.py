"""Kafka's own jars: resolved by the Ivy that PySpark ships, and checked against committed sums before every use.

Ivy needs nothing but a JVM and knows Maven's central repository by itself. What Kafka's modules do not ask for is a
logging binding (the distribution adds it), without which a broker says nothing; ``VERSIONS`` names it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from harness.errors import EnvironmentProblem, unknown
from harness.provision.caches import cache_dir, cache_path, installed
from harness.provision.java import find_java
from harness.provision.tools import attempt, excerpt

log = logging.getLogger(__name__)

Module = tuple[str, str, str]
"""Organisation, name and revision."""

VERSIONS: dict[str, tuple[Module, ...]] = {
    "4.3.1": (
        ("org.apache.kafka", "kafka_2.13", "4.3.1"),
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
    "3.9.2": (
        ("org.apache.kafka", "kafka_2.13", "3.9.2"),
        ("org.slf4j", "slf4j-reload4j", "1.7.36"),
        ("ch.qos.reload4j", "reload4j", "1.2.25"),
    ),
}


@dataclass(frozen=True)
class KafkaDist:
    """One Kafka version on disk: a folder of jars (``kafka-clients`` among them)."""

    version: str
    libs: Path

    @property
    def classpath(self) -> str:
        """For ``java -cp``, in a fixed order (a wildcard's order is up to the file system)."""
        return os.pathsep.join(str(jar) for jar in sorted(self.libs.glob("*.jar")))


def kafka_jars(version: str) -> KafkaDist:
    """The jars of a version in ``VERSIONS``, fetched (45 MB) where they are missing, and checked.

    UsageError: an unknown version. EnvironmentProblem: no Java, not fetched, or a jar that is not the committed one.
    """
    if version not in VERSIONS:
        raise unknown("Kafka version", version, VERSIONS)
    cache_dir()
    libs = installed(libs_path(version), lambda folder: _resolve(version, folder))
    check(version, libs)
    return KafkaDist(version, libs)


def libs_path(version: str) -> Path:
    """Where the jars of a version are, or will be."""
    return cache_path() / "kafka" / version


def check(version: str, libs: Path) -> None:
    """EnvironmentProblem unless the folder holds exactly the jars of the committed list, byte for byte."""
    if wrong := differences(libs, read_sums(version)):
        more = f" (and {len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
        raise EnvironmentProblem(
            f"the jars of Kafka {version} in {libs} are not the ones that were pinned: {wrong[0]}{more}",
            hint=f"rm -rf {libs}",
        )


def read_sums(version: str) -> dict[str, str]:
    """The committed list: jar name to SHA-256, from ``shasum``'s format."""
    text = Path(__file__).with_name("sums").joinpath(f"kafka-{version}.sha256").read_text()
    return {name: digest for digest, name in (line.split() for line in text.splitlines())}


def differences(libs: Path, sums: dict[str, str]) -> list[str]:
    """Each jar that is missing, altered or surplus, in a few words."""
    present = {jar.name for jar in libs.iterdir()}
    wrong = [f"{name} is missing" for name in sorted(sums.keys() - present)]
    wrong += [
        f"{name} was altered" for name in sorted(sums.keys() & present) if _sha256(libs / name) != sums[name]
    ]
    return wrong + [f"{name} is surplus" for name in sorted(present - sums.keys())]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _resolve(version: str, folder: Path) -> None:
    java = find_java()
    log.info("fetching Kafka %s (45 MB)", version)
    work = folder / ".ivy"
    work.mkdir()
    description = work / "ivy.xml"
    description.write_text(_ivy_module(VERSIONS[version]))
    # a user folder of its own, so that nothing in ~/.ivy2 takes part
    ivy: list[str | Path] = [
        java.path,
        f"-Divy.default.ivy.user.dir={work}",
        "-cp",
        _ivy_classpath(),
        "org.apache.ivy.Main",
    ]
    # Maven calls an OSGi jar a `bundle`: without that type a third of the jars would be left out
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    wanted: list[str | Path] = [
        "-ivy",
        description,
        "-confs",
        "default",
        "-retrieve",
        pattern,
        "-types",
        "jar",
        "bundle",
    ]
    ended = attempt([*ivy, *wanted], timeout_s=900)
    if ended.returncode != 0:
        why = excerpt(ended.output, "Server access error", "download failed", "not found")
        raise EnvironmentProblem(f"Kafka {version} could not be fetched: {why}")
    shutil.rmtree(work)
    if wrong := differences(folder, read_sums(version)):
        raise EnvironmentProblem(f"Kafka {version} was fetched, but is not what was pinned: {wrong[0]}")


def _ivy_module(modules: tuple[Module, ...]) -> str:
    wanted = "\n".join(
        f'<dependency org="{organisation}" name="{name}" rev="{revision}" conf="default"/>'
        for organisation, name, revision in modules
    )
    return f"""<ivy-module version="2.0">
<info organisation="kafka-trial" module="broker"/>
<dependencies>
{wanted}
</dependencies>
</ivy-module>
"""


def _ivy_classpath() -> str:
    spec = find_spec("pyspark")
    roots = (spec.submodule_search_locations or []) if spec else []
    jars = [
        str(jar)
        for root in roots
        for name in ("ivy", "commons-cli")
        for jar in Path(root).glob(f"jars/{name}-*.jar")
    ]
    if len(jars) != 2:
        raise EnvironmentProblem("PySpark ships no Ivy here", hint="make quickstart")
    return os.pathsep.join(jars)
