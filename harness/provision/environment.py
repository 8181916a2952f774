"""The environment of each tool that fetches or builds: only what it needs to reach its registry.

A user's shell, or CI, can make a package client skip checksums, build with another program, or run code: ``GOFLAGS``,
``RUSTC_WRAPPER``, ``UV_NO_BINARY``, ``JAVA_TOOL_OPTIONS`` with an agent. Each tool therefore gets only the variables of
these tables. They determine *where* a registry is and how to reach it. *What* it delivers is compared with committed
sums, whichever mirror is used. ``docs/reference/supply_chain.md`` shows the tables.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")

#: Name -> purpose. A name that ends with ``*`` matches all names with that prefix.
EVERY_TOOL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HOME": "the folder of the tool's own settings",
        "LANG": "the language of messages",
        "LC_*": "the same",
        "LOGNAME": "the name of the user",
        "PATH": "folders of programs; relative ones are left out",
        "TMPDIR": "the folder for temporary files",
        "TZ": "the time zone of messages",
        "USER": "the name of the user",
        "XDG_CONFIG_HOME": "the folder of the tool's own settings",
        **{name: "the network's proxy" for each in _PROXIES for name in (each, each.upper())},
        "SSL_CERT_FILE": "the trusted certificates",
        "SSL_CERT_DIR": "the same",
    }
)

#: Tool -> the additional variables that it gets.
KEPT: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "uv": {
            "UV_DEFAULT_INDEX": "the source of packages",
            "UV_INDEX_URL": "the same",
            "UV_INDEX": "the same",
            "UV_EXTRA_INDEX_URL": "the same",
            "UV_FIND_LINKS": "the same",
            "UV_INDEX_*": "names and passwords for these",
            "UV_KEYRING_PROVIDER": "the same",
            "UV_NO_INDEX": "disables the registry",
            "UV_OFFLINE": "disables the network",
            "UV_HTTP_TIMEOUT": "the network timeout",
            "UV_NATIVE_TLS": "the trusted certificates",
            "UV_SYSTEM_CERTS": "the same",
        },
        "pip": {
            "PIP_INDEX_URL": "the source of packages",
            "PIP_EXTRA_INDEX_URL": "the same",
            "PIP_FIND_LINKS": "the same",
            "PIP_NO_INDEX": "disables the registry",
            "PIP_PROXY": "the network's proxy",
            "PIP_CERT": "the trusted certificates",
            "PIP_DEFAULT_TIMEOUT": "the network timeout",
            "REQUESTS_CA_BUNDLE": "the trusted certificates",
        },
        "jgo": {"REQUESTS_CA_BUNDLE": "the trusted certificates"},
        "npm": {
            "npm_config_registry": "the source of packages",
            "NPM_CONFIG_REGISTRY": "the same",
            "npm_config_userconfig": "the file of npm's own settings",
            "NPM_CONFIG_USERCONFIG": "the same",
            "npm_config_cafile": "the trusted certificates",
            "NPM_CONFIG_CAFILE": "the same",
            "NODE_EXTRA_CA_CERTS": "the same",
        },
        "go": {
            "GOPROXY": "the source of modules",
            "CC": "the C compiler, for clients that wrap a C library",
        },
        "cargo": {
            "RUSTUP_HOME": "the folder of rustup's compilers",
            "RUSTUP_TOOLCHAIN": "the compiler that the user selected",
            "CARGO_HTTP_PROXY": "the network's proxy",
            "CARGO_HTTP_CAINFO": "the trusted certificates",
            "CARGO_NET_OFFLINE": "disables the network",
        },
        "java": {
            "JAVA_HOME": "the location of Java",
            "JAVA_TOOL_OPTIONS": "only its options for access to the network",
        },
    }
)

#: Tool -> the variables that are set for it, regardless of the user's environment or settings.
SET: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "uv": {"UV_NO_CACHE": "1", "UV_LINK_MODE": "copy", "UV_PYTHON_DOWNLOADS": "never"},
        "pip": {"PIP_NO_INPUT": "1"},
        "npm": {"npm_config_ignore_scripts": "true"},
        "go": {
            "GO111MODULE": "on",
            "GOENV": "off",
            "GOINSECURE": "",
            "GONOPROXY": "",
            "GONOSUMDB": "",
            "GOPRIVATE": "",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
        },
        "cargo": {"CARGO_BUILD_RUSTC_WRAPPER": "", "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER": ""},
    }
)

_JAVA_NETWORK = (
    "-Dhttp.proxy",
    "-Dhttps.proxy",
    "-Dhttp.nonProxyHosts=",
    "-Djava.net.useSystemProxies=",
    "-Djavax.net.ssl.trustStore",
)


def tool_env(tool: str = "", environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of ``tool``: its part of ``environ``, and the variables set for it.

    A tool without a table gets only the variables of every tool.
    """
    kept = (*EVERY_TOOL, *KEPT.get(tool, ()))
    env = {name: value for name, value in environ.items() if _is_among(name, kept)}
    env["PATH"] = search_path(environ)
    if options := env.pop("JAVA_TOOL_OPTIONS", ""):
        env |= _network_options(options)
    return {**env, **SET.get(tool, {})}


def search_path(environ: Mapping[str, str] = os.environ) -> str:
    """Return PATH without relative folders, whose programs would depend on the current folder."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())


def find_program(name: str) -> Path | None:
    """Return the path of one of the machine's programs, or None."""
    found = shutil.which(name, path=search_path())
    return Path(found) if found else None


def _is_among(name: str, kept: tuple[str, ...]) -> bool:
    return name in kept or any(name.startswith(each[:-1]) for each in kept if each.endswith("*"))


def _network_options(options: str) -> dict[str, str]:
    try:
        words = [word for word in shlex.split(options) if word.startswith(_JAVA_NETWORK)]
    except ValueError:  # an unclosed quotation mark, which Java rejects as well
        return {}
    return {"JAVA_TOOL_OPTIONS": shlex.join(words)} if words else {}
