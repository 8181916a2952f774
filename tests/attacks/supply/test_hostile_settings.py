"""Package clients ignore hostile settings in the environment and in the working directory."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import EnvironmentProblem
from harness.provision import cargo_programs, go_programs
from harness.provision.environment import EVERY_TOOL, KEPT, SET, find_program, tool_env
from harness.provision.go import go_tool, run_go
from harness.provision.go_programs import GoProgram
from harness.provision.node import NodeRuntime, node_runtime
from harness.provision.npm_packages import node_program
from harness.provision.python_env import pinned_env, python_env
from testkit.codes import raises_code

ANY_NAME = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="="), min_size=1)
#: Settings that make a tool skip checksums, build with another program, or run code.
HOSTILE = {
    "go": ("GOFLAGS", "GOENV", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOPRIVATE", "GOSUMDB", "GOROOT"),
    "cargo": ("RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC", "CARGO_TARGET_DIR", "RUSTC_BOOTSTRAP"),
    "uv": ("UV_NO_BINARY", "UV_CONFIG_FILE", "UV_INSECURE_HOST", "UV_NO_VERIFY_HASHES", "UV_OVERRIDE", "UV_CACHE_DIR"),
    "pip": ("PIP_NO_BINARY", "PIP_TRUSTED_HOST", "PIP_CONFIG_FILE", "PIP_PYTHON", "PIP_TARGET"),
    "npm": ("npm_config_ignore_scripts", "npm_config_script_shell", "NODE_OPTIONS", "npm_config_strict_ssl"),
    "java": ("_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "IVY_HOME"),
}  # fmt: skip
EVERYWHERE = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "BASH_ENV",
    "GIT_SSH_COMMAND",
    "AWS_SECRET_ACCESS_KEY",
)


@given(environ=st.dictionaries(ANY_NAME, st.text(max_size=5)), tool=st.sampled_from((*KEPT, "")))
def test_tools_get_only_variables_of_the_tables(environ: dict[str, str], tool: str) -> None:
    named = (*EVERY_TOOL, *KEPT.get(tool, ()))
    seen = tool_env(tool, environ).items() - SET.get(tool, {}).items() - {("PATH", os.defpath)}
    for name, value in seen:
        assert value == environ[name]
        assert any(name == each or (each[-1] == "*" and name.startswith(each[:-1])) for each in named)


@pytest.mark.parametrize("tool", HOSTILE)
def test_hostile_variables_are_removed(tool: str) -> None:
    hostile = dict.fromkeys((*HOSTILE[tool], *EVERYWHERE), "/evil")
    seen = tool_env(tool, {**hostile, "HTTPS_PROXY": "there"})
    assert "/evil" not in seen.values()
    assert seen["HTTPS_PROXY"] == "there"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("-javaagent:/evil.jar -Dhttps.proxyHost=there", "-Dhttps.proxyHost=there"),
        ("-Djavax.net.ssl.trustStore=/a -XX:OnOutOfMemoryError=/evil", "-Djavax.net.ssl.trustStore=/a"),
        ("@/evil", None),
        ("-Xbootclasspath/a:/evil", None),
        ("'-Dhttp.proxyHost=open", None),
    ],
)  # fmt: skip
def test_only_network_options_of_the_jvm_are_kept(options: str, kept: str | None) -> None:
    assert tool_env("java", {"JAVA_TOOL_OPTIONS": options}).get("JAVA_TOOL_OPTIONS") == kept


def test_program_in_working_directory_is_not_used(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (elsewhere, elsewhere / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "go").write_text("#!/bin/sh\n")
        (folder / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f".:bin::{elsewhere / 'none'}")
    assert find_program("go") is None
    assert tool_env("go")["PATH"] == str(elsewhere / "none")


@pytest.mark.long("installs with the real package clients")
def test_go_ignores_environment_and_user_settings(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GOENV": "off"}
    own = subprocess.run([go_tool(), "env", "GOSUMDB"], env=plain, check=True, capture_output=True, text=True)
    hostile = "GOFLAGS=-toolexec=/evil -insecure\nGONOSUMDB=*\nGOINSECURE=*\nGOPRIVATE=*\nGOSUMDB=off\nGOPROXY=there\n"
    for name in ("config/go/env", "env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(hostile.replace("there", name))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GOENV", str(tmp_path / "env"))
    for name in ("GOFLAGS", "GONOSUMDB", "GOSUMDB"):
        monkeypatch.setenv(name, "/evil")
    monkeypatch.delenv("GOPROXY", raising=False)
    names = ("GOENV", "GOFLAGS", "GONOSUMDB", "GOINSECURE", "GOPRIVATE", "GOSUMDB", "GOTOOLCHAIN", "GOPROXY")
    said = json.loads(run_go(go_tool(), "env", "-json", *names).output)
    assert said == {
        "GOENV": "",  # off
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
        "GONOSUMDB": "",
        "GOINSECURE": "",
        "GOPRIVATE": "",
        "GOSUMDB": own.stdout.strip(),  # the default of this Go
        "GOTOOLCHAIN": "local",
        "GOPROXY": "config/go/env",  # from the user's settings, which cannot be set with a variable
    }


@pytest.mark.long("installs with the real package clients")
def test_cargo_ignores_settings_of_parent_folders(
    elsewhere: Path, evil: tuple[Path, Path], crates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, mark = evil
    (elsewhere / ".cargo").mkdir()
    (elsewhere / ".cargo" / "config.toml").write_text(
        f'[build]\nrustc-wrapper = "{program}"\n[target.x86_64-unknown-linux-gnu]\nlinker = "{program}"\n'
    )
    (elsewhere / "Cargo.toml").write_text('[workspace]\nmembers = ["**"]\n')
    (elsewhere / "rust-toolchain.toml").write_text('[toolchain]\npath = "/evil"\n')
    for name in ("RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"):
        monkeypatch.setenv(name, str(program))
    assert cargo_programs.built(crates.program(elsewhere / "sources", crates.checksum)).exists()
    assert not mark.exists()


@pytest.mark.long("installs with the real package clients")
def test_uv_ignores_settings_of_parent_folders_and_never_builds(
    elsewhere: Path, pypi: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "no-binary = true\nno-build = false\n"
    (elsewhere / "uv.toml").write_text(f"[pip]\n{hostile}")
    (elsewhere / "pyproject.toml").write_text(f"[tool.uv.pip]\n{hostile}")
    (elsewhere / "cache").mkdir()
    (elsewhere / "cache" / "uv.toml").write_text(f"[pip]\n{hostile}")
    monkeypatch.setenv("UV_NO_BINARY", "1")
    monkeypatch.setenv("UV_CONFIG_FILE", str(elsewhere / "uv.toml"))
    mark = tmp_path / "built"
    pypi.source(mark)
    pypi.wheel()
    assert python_env("tiny-trial==1.0").exists()
    assert not mark.exists()


@pytest.mark.long("installs with the real package clients")
def test_package_without_a_wheel_is_refused(cache: Path, pypi: Any, tmp_path: Path) -> None:
    mark = tmp_path / "built"
    digest = pypi.source(mark)
    with raises_code(EnvironmentProblem, "no-wheel", name="tiny-trial==1.0"):
        python_env("tiny-trial==1.0")
    pins = tmp_path / "pins.txt"
    pins.write_text(f"tiny-trial==1.0 --hash=sha256:{digest}\n")
    with raises_code(EnvironmentProblem, "no-wheel"):
        pinned_env("tiny-trial", pins)
    assert not mark.exists()


@pytest.mark.long("installs with the real package clients")
def test_wheel_with_another_hash_is_refused(cache: Path, pypi: Any, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"tiny-trial==1.0 --hash=sha256:{pypi.wheel()}\n")
    pypi.wheel(text="import os\n")
    with raises_code(EnvironmentProblem, "install-failed", name="tiny-trial==1.0"):
        python_env("tiny-trial==1.0", lock=lock)


@pytest.mark.long("installs with the real package clients")
def test_lock_without_a_hash_is_refused(cache: Path, pypi: Any, tmp_path: Path) -> None:
    pypi.wheel()
    lock = tmp_path / "requirements.txt"
    for text in ("tiny-trial==1.0\n", "tiny-trial\n"):
        lock.write_text(text)
        with raises_code(EnvironmentProblem, "install-failed"):
            python_env("tiny-trial==1.0", lock=lock)


@pytest.fixture
def node() -> NodeRuntime:
    return node_runtime((20, 0, 0))


@pytest.fixture
def node_sources(tmp_path: Path) -> list[Path]:
    (tmp_path / "main.mjs").write_text("import 'tiny'\n")
    return [tmp_path / "main.mjs"]


@pytest.mark.long("installs with the real package clients")
def test_npm_ignores_parent_folders_and_runs_no_scripts(
    node: NodeRuntime,
    elsewhere: Path,
    npm: Any,
    node_sources: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for folder in (elsewhere, elsewhere / "cache"):
        folder.mkdir(exist_ok=True)
        (folder / ".npmrc").write_text("ignore-scripts=false\nregistry=http://127.0.0.1:1/\n")
    monkeypatch.setenv("npm_config_ignore_scripts", "false")
    monkeypatch.setenv("NODE_OPTIONS", "--require=/evil.js")
    folder = node_program(node, ["tiny@1.0.0"], node_sources)
    assert (folder / "node_modules" / "tiny" / "package.json").is_file()
    assert not (tmp_path / "script-ran").exists()


@pytest.mark.long("installs with the real package clients")
@pytest.mark.parametrize("is_right", [True, False])
def test_npm_installs_only_the_locked_package(
    node: NodeRuntime, cache: Path, npm: Any, node_sources: list[Path], tmp_path: Path, is_right: bool
) -> None:
    wanted = {"tiny": "1.0.0"}
    integrity = npm.integrity if is_right else f"sha512-{'A' * 86}=="
    packages = {
        "": {"dependencies": wanted},
        "node_modules/tiny": {"version": "1.0.0", "integrity": integrity, "hasInstallScript": True},
    }
    lock = tmp_path / "lock" / "package.json"
    lock.parent.mkdir()
    lock.write_text(json.dumps({"private": True, "dependencies": wanted}))
    locked = {"name": "adapter", "lockfileVersion": 3, "requires": True, "packages": packages}
    (lock.parent / "package-lock.json").write_text(json.dumps(locked))
    if is_right:
        folder = node_program(node, ["tiny@1.0.0"], node_sources, lock=lock)
        assert (folder / "node_modules" / "tiny" / "package.json").is_file()
    else:
        with raises_code(EnvironmentProblem, "install-failed", package="tiny@1.0.0"):
            node_program(node, ["tiny@1.0.0"], node_sources, lock=lock)
    assert not (tmp_path / "script-ran").exists()


@pytest.fixture
def tiny_go(tmp_path: Path, go_proxy: Any) -> GoProgram:
    """Return a program that depends on the module ``tiny``, with a lock file."""
    sources, lock = tmp_path / "go-sources", tmp_path / "go-lock"
    sources.mkdir()
    lock.mkdir()
    (sources / "main.go").write_text(
        f'package main\n\nimport "{go_proxy.module}"\n\nfunc main() {{ tiny.F() }}\n'
    )
    (lock / "go.mod").write_text(f"module adapter\n\ngo 1.23\n\nrequire {go_proxy.module} v1.0.0\n")
    (lock / "go.sum").write_text(go_proxy.sums)
    return GoProgram("tiny", "1.0.0", go_proxy.module, (go_proxy.module,), sources, {}, lock=lock / "go.mod")


@pytest.mark.long("installs with the real package clients")
def test_go_module_is_verified_when_fetched_and_on_every_build(
    elsewhere: Path, tiny_go: GoProgram, evil: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, mark = evil
    (elsewhere / "go.mod").write_text("module evil\n")
    (elsewhere / "go.work").write_text("go 1.23\nuse ./evil\n")
    monkeypatch.setenv("GOFLAGS", f"-toolexec={program}")
    sums = tiny_go.lock.with_name("go.sum") if tiny_go.lock else Path()
    right = sums.read_text()
    sums.write_text(right.replace(right.split()[2], f"h1:{'A' * 43}="))
    with raises_code(EnvironmentProblem, "build-failed", named="tiny 1.0.0"):
        go_programs.built(tiny_go)
    sums.write_text("")
    with raises_code(EnvironmentProblem, "build-failed", named="tiny 1.0.0"):
        go_programs.built(tiny_go)
    sums.write_text(right)
    assert go_programs.built(tiny_go).exists()
    [module] = (elsewhere / "cache" / "go" / "modules").glob("example.com/tiny@*")
    (module / "tiny.go").write_text("package tiny\n\nfunc F() { println(1) }\n")
    with raises_code(EnvironmentProblem, "modules-not-pinned"):
        go_programs.built(dataclasses.replace(tiny_go, tags=("again",)))
    assert not mark.exists()
