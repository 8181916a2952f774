"""The JSON Schema of a campaign file, for editors: its keys, faults and settings.

It describes what is installed, with bounds. A third-party fault kind therefore changes the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from harness.planning.campaign_file import CampaignFile
from harness.planning.fault_tables import OWN, AboutKind
from harness.planning.setting_values import known
from harness.plugins import registry
from harness.plugins.fault import FaultKind, FaultParam
from harness.plugins.workload import Values

Schema = dict[str, Any]

_RANGE: Final[Schema] = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


def schema() -> Schema:
    """Return the whole schema as one document."""
    _, components = msgspec.json.schema_components([CampaignFile, AboutKind], ref_template="#/$defs/{name}")
    about, root = components.pop("AboutKind"), components.pop("CampaignFile")
    root["properties"]["configurations"]["additionalProperties"] = _configuration()
    components["Generated"]["properties"]["kinds"] |= {
        "properties": {name: _kind(kind) for name, kind in registry.table("faults").items()},
        "additionalProperties": False,
    }
    for table in (root, *components.values()):
        if "properties" in table:
            table["additionalProperties"] = False
    definitions = components | {"Range": _RANGE} | about["properties"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": definitions}


def _kind(kind: FaultKind) -> Schema:
    own = {key: {"$ref": f"#/$defs/{key}"} for key in OWN}
    return {
        "description": kind.summary,
        "type": "object",
        "properties": {param.name: _param(param) for param in kind.params} | own,
        "additionalProperties": False,
    }


def _param(param: FaultParam) -> Schema:
    one = {"type": "integer", "minimum": int(param.low), "maximum": int(param.high)}
    return {
        "description": param.what,
        "anyOf": [one, {"$ref": "#/$defs/Range"}, {"$ref": "#/$defs/OneOf"}],
        "default": int(param.default),
    }


def _configuration() -> Schema:
    """Return the schema of a configuration: settings with quoted names.

    TOML reads those without quotes as nested tables.
    """
    return {
        "type": "object",
        "properties": {name: _setting(values) for name, values in known().items()},
        "additionalProperties": {"type": "object"},
    }


def _setting(known: Sequence[Values]) -> Schema:
    """Return the schema of a setting; several workloads may give it different values."""
    schemas = [_values(values) for values in known]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _values(values: Values) -> Schema:
    match values:
        case None:
            return {"type": "boolean"}
        case range():
            return {"type": "integer", "minimum": values[0], "maximum": values[-1]}
    return {"enum": [*values, *(int(word) for word in values if word.removeprefix("-").isdecimal())]}
