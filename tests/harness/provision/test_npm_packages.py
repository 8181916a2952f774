"""A Node program with its packages, where npm is a shell script: no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision.node import NodeRuntime
from harness.provision.npm_packages import node_program, published
from testkit.codes import raises_code

#: An npm that has the package: it installs one, and records which Node it would run on, and its arguments.
INSTALL = """
    while [ "$1" != --prefix ]; do words="$words $1"; shift; done
    mkdir "$2/node_modules"
    echo "$words" > "$2/node_modules/words"
    command -v node > "$2/node_modules/node"
    [ "$1" = --prefix ] && echo once >> "$0.calls" """
GONE = "npm error code ETARGET\nnpm error notarget No matching version found for tiny@9.9.9."
NO_NETWORK = "npm error code EAI_AGAIN\nnpm error request to somewhere failed, reason: getaddrinfo EAI_AGAIN"
WRONG_NODE = """npm error code EBADENGINE
npm error engine Unsupported engine
npm error notsup Not compatible with your version of node/npm: tiny@1.0.0"""


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    """Return a program and a library, whose folder contains other files too."""
    library = tmp_path / "sources" / "library"
    library.mkdir(parents=True)
    main = library.parent / "main.mjs"
    main.write_text("import './library/index.mjs'")
    (library / "index.mjs").write_text("export default 1")
    (library / "notes.md").write_text("not a module")
    return main, library


@pytest.fixture
def node(machine: Any) -> NodeRuntime:
    """A Node that is not on the PATH, with an npm that has every package."""
    path = machine.has("node", "exit 1", machine.cache.parent / "elsewhere")
    return NodeRuntime(path, (24, 0, 0), (_npm(machine, INSTALL),))


def _npm(machine: Any, script: str) -> Path:
    npm: Path = machine.has("npm", f"PATH=$GIVEN:$PATH\n{script}")
    # The first line of a machine's scripts would hide the PATH that npm is given.
    npm.write_text(npm.read_text().replace("#!/bin/sh\n", "#!/bin/sh\nGIVEN=$PATH\n", 1))
    return npm


def says(machine: Any, text: str, code: int = 1, view: str = "") -> None:
    """Make npm print ``text`` and fail, except that ``npm view`` prints ``view``."""
    _npm(
        machine, f"[ $1 = view ] && [ -n '{view}' ] && echo '{view}' && exit\necho '{text}' >&2; exit {code}"
    )


def test_a_program_is_installed_beside_its_imports(node: NodeRuntime, sources: tuple[Path, Path]) -> None:
    folder = node_program(node, ["tiny@1.0.0", "plug-in@2.0.0"], sources)
    held = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert held == {"main.mjs", "library/index.mjs", "node_modules/words", "node_modules/node"}
    assert folder.name.startswith("tiny@1.0.0-")


def test_no_package_runs_scripts_during_installation(node: NodeRuntime, sources: tuple[Path, Path]) -> None:
    words = (node_program(node, ["tiny@1.0.0"], sources) / "node_modules" / "words").read_text().split()
    assert words[0] == "install"
    assert {"--ignore-scripts", "--no-package-lock", "tiny@1.0.0"} <= set(words)


def test_npm_runs_on_the_node_of_the_program(node: NodeRuntime, sources: tuple[Path, Path]) -> None:
    folder = node_program(node, ["tiny@1.0.0"], sources)
    assert Path((folder / "node_modules" / "node").read_text().strip()) == node.path


def test_a_program_is_installed_once(node: NodeRuntime, sources: tuple[Path, Path], machine: Any) -> None:
    first = node_program(node, ["tiny@1.0.0"], sources)
    assert node_program(node, ["tiny@1.0.0"], sources) == first
    assert (machine.bin / "npm.calls").read_text() == "once\n"


def test_another_version_source_or_node_gives_another_program(
    node: NodeRuntime, sources: tuple[Path, Path]
) -> None:
    folders = {node_program(node, ["tiny@1.0.0"], sources), node_program(node, ["tiny@1.0.1"], sources)}
    folders.add(node_program(NodeRuntime(node.path, (24, 0, 1), node.npm), ["tiny@1.0.0"], sources))
    (sources[1] / "index.mjs").write_text("export default 2")
    folders.add(node_program(node, ["tiny@1.0.0"], sources))
    assert len(folders) == 4


def test_the_scope_of_a_package_is_not_a_folder(
    node: NodeRuntime, sources: tuple[Path, Path], machine: Any
) -> None:
    folder = node_program(node, ["@scope/tiny@1.0.0"], sources)
    assert folder.parent == machine.cache / "installed" / "node"


def test_an_unknown_version_is_a_usage_error_with_the_newest(
    node: NodeRuntime, sources: tuple[Path, Path], machine: Any
) -> None:
    says(machine, GONE, view='"2.2.4"')
    with raises_code(
        UsageError, "unknown-client-version", named="tiny@9.9.9", package="tiny", newest="2.2.4"
    ):
        node_program(node, ["tiny@9.9.9"], sources)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            GONE,
            r"No matching version found for tiny@9\.9\.9",
        ),  # of a dependency, not of the requested package
        (NO_NETWORK, "request to somewhere failed, reason: getaddrinfo EAI_AGAIN"),
        (WRONG_NODE, "Not compatible with your version of node/npm"),
        ("npm error A complete log of this run can be found in: x", "A complete log .* in: x"),
        ("", "it said nothing"),
    ],
)
def test_a_failed_installation_names_the_cause(
    node: NodeRuntime, sources: tuple[Path, Path], machine: Any, said: str, why: str
) -> None:
    says(machine, said)
    with raises_code(EnvironmentProblem, "install-failed", package="tiny@1.0.0", cause=re.compile(why)):
        node_program(node, ["tiny@1.0.0"], sources)
    assert not [
        path for path in (machine.cache / "installed" / "node").iterdir() if not path.name.startswith(".")
    ]


def test_versions_are_listed_oldest_first(node: NodeRuntime, machine: Any) -> None:
    _npm(machine, """echo '["2.0.0", "1.9.0", "1.10.0-beta.2", "1.10.0"]'; echo npm warn of something >&2""")
    assert published(node, "tiny") == ["1.9.0", "1.10.0-beta.2", "1.10.0", "2.0.0"]


def test_a_single_version_is_a_list_too(node: NodeRuntime, machine: Any) -> None:
    _npm(machine, """echo '"1.1.0"'""")
    assert published(node, "tiny") == ["1.1.0"]


def test_an_unreachable_registry_is_an_environment_problem(node: NodeRuntime, machine: Any) -> None:
    says(machine, NO_NETWORK)
    with raises_code(EnvironmentProblem, "versions-not-listed", package="tiny"):
        published(node, "tiny")
