"""Package registries on this machine, so that tests install with the real package clients and without a network."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import io
import json
import shutil
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.provision.cargo_programs import CargoProgram

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
#: The script creates a file if it is run.
SETUP = "open({mark!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='tiny-trial', version='1.0')\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of an empty cache."""
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of another project, which is the working directory and contains the cache."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(folder / "cache"))
    return folder


@pytest.fixture
def evil(tmp_path: Path) -> tuple[Path, Path]:
    """Return a program that must not be started, and the file that it creates."""
    program, mark = tmp_path / "evil", tmp_path / "evil-was-here"
    program.write_text(f'#!/bin/sh\ntouch {mark}\nexec "$@"\n')
    program.chmod(0o755)
    return program, mark


def packed(files: dict[str, str]) -> bytes:
    """Return a ``.tar.gz`` with these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content.encode()))
    return made.getvalue()


class PyPI:
    """A folder with distributions of ``tiny-trial``, the only source of packages for uv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def wheel(self, version: str = "1.0", text: str = "") -> str:
        """Publish a wheel and return its SHA-256."""
        info = f"tiny_trial-{version}.dist-info"
        files = {
            "tiny_trial.py": f"version = {version!r}\n{text}",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-trial\nVersion: {version}\n",
            f"{info}/WHEEL": WHEEL,
        }
        files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
        path = self.folder / f"tiny_trial-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, content in files.items():
                wheel.writestr(name, content)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def source(self, mark: Path) -> str:
        """Publish a source package whose build creates the file ``mark``, and return its SHA-256."""
        top = "tiny_trial-1.0"
        files = {
            f"{top}/PKG-INFO": "Metadata-Version: 2.1\nName: tiny-trial\nVersion: 1.0\n",
            f"{top}/setup.py": SETUP.format(mark=str(mark)),
        }
        path = self.folder / f"{top}.tar.gz"
        path.write_bytes(packed(files))
        return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def pypi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PyPI:
    made = PyPI(tmp_path / "wheels")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(made.folder))
    return made


class GoProxy:
    """A module proxy in a folder, with ``example.com/tiny`` 1.0.0. ``sums`` are the lines of its go.sum."""

    module = "example.com/tiny"

    def __init__(self, folder: Path) -> None:
        files = {"go.mod": f"module {self.module}\n\ngo 1.23\n", "tiny.go": "package tiny\n\nfunc F() {}\n"}
        at, prefix = folder / self.module / "@v", f"{self.module}@v1.0.0"
        at.mkdir(parents=True)
        (at / "list").write_text("v1.0.0\n")
        (at / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
        (at / "v1.0.0.mod").write_text(files["go.mod"])
        with zipfile.ZipFile(at / "v1.0.0.zip", "w") as made:
            for name, content in files.items():
                made.writestr(f"{prefix}/{name}", content)
        whole = self._sum({f"{prefix}/{name}": content for name, content in files.items()})
        alone = self._sum({"go.mod": files["go.mod"]})
        self.sums = f"{self.module} v1.0.0 {whole}\n{self.module} v1.0.0/go.mod {alone}\n"

    @staticmethod
    def _sum(files: dict[str, str]) -> str:
        lines = [
            f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items())
        ]
        return f"h1:{base64.b64encode(hashlib.sha256(''.join(lines).encode()).digest()).decode()}"


@pytest.fixture
def go_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoProxy:
    made = GoProxy(tmp_path / "proxy")
    monkeypatch.setenv("GOPROXY", f"file://{tmp_path / 'proxy'}")
    return made


TINY_LOCK = """version = 3

[[package]]
name = "tiny"
version = "1.0.0"
source = "registry"
checksum = "{checksum}"

[[package]]
name = "verifiable-tiny"
version = "0.1.0"
dependencies = [
 "tiny",
]
"""


class Crates:
    """A registry of crates in a folder, with ``tiny`` 1.0.0, which is set in the cargo settings of the user."""

    def __init__(self, folder: Path, home: Path) -> None:
        top = "tiny-1.0.0"
        manifest = '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n'
        crate = packed({f"{top}/Cargo.toml": manifest, f"{top}/src/lib.rs": "pub fn f() {}\n"})
        self.checksum = hashlib.sha256(crate).hexdigest()
        (folder / "index" / "ti" / "ny").mkdir(parents=True)
        (folder / f"{top}.crate").write_bytes(crate)
        entry = {"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": self.checksum, "features": {}}
        (folder / "index" / "ti" / "ny" / "tiny").write_text(json.dumps({**entry, "yanked": False}) + "\n")
        home.mkdir()
        self.settings = home / "config.toml"
        self.settings.write_text(
            f'[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "{folder}"\n'
        )

    def program(self, root: Path, checksum: str) -> CargoProgram:
        """Return a program that depends on ``tiny``, with a lock file."""
        (root / "verifiable" / "src").mkdir(parents=True)
        (root / "verifiable" / "Cargo.toml").write_text(
            '[package]\nname = "verifiable-tiny"\nversion = "0.1.0"\nedition = "2021"\n'
            '[workspace]\n[dependencies]\ntiny = "1"\n'
        )
        (root / "verifiable" / "src" / "main.rs").write_text("fn main() { tiny::f() }\n")
        lock = root / "Cargo.lock"
        lock.write_text(TINY_LOCK.format(checksum=checksum))
        return CargoProgram("tiny", "1.0.0", root, "verifiable", (), lock=lock)


@functools.cache
def works(*argv: str) -> bool:
    """Whether a program exists and works. The cargo of rustup fails if the user has not selected a toolchain."""
    return (
        shutil.which(argv[0]) is not None
        and subprocess.run(argv, capture_output=True, check=False).returncode == 0
    )


@pytest.fixture
def crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crates:
    if not works("cargo", "--version"):
        pytest.skip("cargo is missing or does not work")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    return Crates(tmp_path / "crates", tmp_path / "cargo")


class Npm:
    """An npm registry on a local port, with ``tiny`` 1.0.0, whose install script creates the file ``mark``."""

    def __init__(self, mark: Path) -> None:
        self.script = {"postinstall": f"touch {mark}"}
        self.manifest = {"name": "tiny", "version": "1.0.0", "scripts": self.script}
        self.tarball = packed({"package/package.json": json.dumps(self.manifest), "package/index.js": ""})
        digest = base64.b64encode(hashlib.sha512(self.tarball).digest()).decode()
        self.integrity = f"sha512-{digest}"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        npm = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                dist = {"tarball": f"{npm.url}tiny/-/tiny-1.0.0.tgz", "integrity": npm.integrity}
                about = {"name": "tiny", "dist-tags": {"latest": "1.0.0"}}
                versions = {"versions": {"1.0.0": {**npm.manifest, "dist": dist}}}
                is_tarball = self.path.endswith(".tgz")
                body = npm.tarball if is_tarball else json.dumps({**about, **versions}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Npm]:
    made = Npm(tmp_path / "script-ran")
    monkeypatch.setenv("npm_config_registry", made.url)
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "no-npmrc"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()
