"""The languages with a skeleton: the location of each file, and the commands that build and start the program.

The commands are for a shell in the skeleton's folder. The README lists them, and the tests run them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Language:
    """A language with a skeleton.

    ``library`` is the folder of the contract library below ``clients/adapters``, and ``sources`` the patterns of the
    files to copy from it to ``place``. ``program`` is the file to complete, and ``build_file`` the file that names the
    client.
    """

    name: str
    library: str
    sources: tuple[str, ...]
    program: str
    build_file: str
    needs: str
    build: str
    command: str
    place: str = "verifiable"


LANGUAGES: Final = {
    language.name: language
    for language in (
        Language(
            name="python",
            library="python_lib/verifiable",
            sources=("*.py",),
            program="main.py",
            build_file="requirements.txt",
            needs="Python 3.8 or later",
            build="python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt",
            command=".venv/bin/python main.py",
        ),
        Language(
            name="go",
            library="go_lib/verifiable",
            sources=("*.go",),
            program="main.go",
            build_file="go.mod",
            needs="Go 1.23 or later",
            build="go build -o adapter .",
            command="./adapter",
        ),
        Language(
            name="node",
            library="node_lib/verifiable",
            sources=("*.mjs",),
            program="main.mjs",
            build_file="package.json",
            needs="Node 20 or later, with npm",
            build="npm install",
            command="node main.mjs",
        ),
        Language(
            name="java",
            library="java_lib/verifiable",
            sources=("*.java",),
            program="src/main/java/adapter/Main.java",
            build_file="pom.xml",
            needs="a JDK, 17 or later, and Maven",
            build="mvn --quiet package",
            command="java -jar target/adapter.jar",
            place="src/main/java/verifiable",
        ),
        Language(
            name="rust",
            library="rust_lib/verifiable",
            sources=("Cargo.toml", "src/*.rs"),
            program="src/main.rs",
            build_file="Cargo.toml",
            needs="Rust 1.85 or later",
            build="cargo build",
            command="target/debug/adapter",
        ),
    )
}
