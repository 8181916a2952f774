"""The public API: what a fault, check, scenario, client, workload, broker or proxy of another package imports.

Everything else in ``harness`` may move or change between versions without notice. What is here changes with an entry
in the changelog. ``docs/reference/api.md`` lists it.
"""

from __future__ import annotations

from harness.model.addresses import Address, LaneAddress
from harness.model.anomaly import Anomaly, ReasonKind, Sample
from harness.model.anomaly_row import AnomalyRow, Finder
from harness.model.contract import (
    CONTRACT_VERSION,
    AnyEvent,
    Close,
    Configure,
    Configured,
    Fatal,
    Flush,
    LoadCommand,
    OpComplete,
    OpInvoke,
    Setting,
    ShutdownComplete,
    StartupComplete,
    Stats,
    UnknownCommand,
)
from harness.model.dice import Dice
from harness.model.errors import EnvironmentProblem, KafkaTrialError, UsageError, unknown
from harness.model.evidence import Evidence, Operation, view
from harness.model.mode import BOTH_MODES, Mode
from harness.model.rows import (
    Ending,
    FaultRow,
    Finding,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    Reason,
    TrialRecord,
    TrialVerdict,
)
from harness.model.spec import (
    AtTime,
    ClientRef,
    FaultSpec,
    FrameMatch,
    OnClientEvent,
    OnFrame,
    OnPhase,
    TrialSpec,
    Workload,
)
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level, Outcome, Verdict
from harness.plugins.behaviour import Behaviour
from harness.plugins.check import Check, Inconclusive, Requirement, Unsupported
from harness.plugins.client import ClientKind, Launch
from harness.plugins.cluster import Alterations, BrokerKind, Cluster, ClusterNeeds
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, passed, toxic_name
from harness.plugins.mutant import Mutant
from harness.plugins.perturbation import Perturbation
from harness.plugins.providers import Collected, OneFileEach, Provider
from harness.plugins.proxy import NoSuchToxic, Proxy, ProxyKind, ProxyServer
from harness.plugins.registry import broker, client, fault, scenario, workload
from harness.plugins.scenario import Consequence, Scenario
from harness.plugins.workload import ColumnData, Config, PackedTrial, Param, Table, WorkloadKind
from harness.simulated.connection import SimulatedConnection
from harness.simulated.judged import judged, simulate
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedClient, SimulatedClientKind, SimulatedFaultKind

#: Part of the API -> its names, in the order of the reference page.
PARTS = {
    "Checks": (
        "Check",
        "Requirement",
        "Behaviour",
        "Inconclusive",
        "Unsupported",
        "Anomaly",
        "ReasonKind",
        "Finding",
        "Reason",
        "Sample",
    ),
    "Mutants and perturbations": (
        "Mutant",
        "Perturbation",
    ),
    "Trials in virtual time": (
        "simulate",
        "judged",
        "TrialVerdict",
    ),
    "Evidence": (
        "Evidence",
        "TrialRecord",
        "Phases",
        "Ending",
        "Operation",
        "Frame",
        "FrameKind",
        "ProducePart",
        "LogRecord",
        "FaultRow",
        "view",
        "NS_PER_MS",
    ),
    "Scenarios": (
        "Scenario",
        "Consequence",
        "Workload",
        "Dice",
    ),
    "Triggers and fault specs": (
        "FaultSpec",
        "AtTime",
        "OnFrame",
        "OnClientEvent",
        "OnPhase",
        "FrameMatch",
    ),
    "Faults": (
        "FaultKind",
        "Fault",
        "FaultParam",
        "LiveLane",
        "SimulatedFaultKind",
        "SimulatedLane",
        "passed",
        "toxic_name",
        "BOTH_MODES",
        "Mode",
    ),
    "Clients": (
        "ClientKind",
        "ClientRef",
        "Launch",
        "SimulatedClientKind",
        "SimulatedClient",
        "Network",
        "SimulatedConnection",
    ),
    "The contract": (
        "Configure",
        "LoadCommand",
        "Flush",
        "Close",
        "StartupComplete",
        "Configured",
        "OpInvoke",
        "OpComplete",
        "Stats",
        "Fatal",
        "UnknownCommand",
        "ShutdownComplete",
        "AnyEvent",
        "Setting",
        "CONTRACT_VERSION",
    ),
    "Clusters and proxies": (
        "BrokerKind",
        "Cluster",
        "ClusterNeeds",
        "Alterations",
        "ProxyKind",
        "ProxyServer",
        "Proxy",
        "NoSuchToxic",
        "LaneAddress",
        "Address",
    ),
    "Workloads": (
        "WorkloadKind",
        "Param",
        "Config",
        "Table",
        "ColumnData",
        "PackedTrial",
        "AnomalyRow",
        "Finder",
        "TrialSpec",
    ),
    "Verdicts": (
        "Guarantee",
        "Level",
        "Outcome",
        "Verdict",
    ),
    "Registered parts": (
        "broker",
        "client",
        "fault",
        "scenario",
        "workload",
    ),
    "Errors": (
        "KafkaTrialError",
        "UsageError",
        "EnvironmentProblem",
        "unknown",
    ),
    "Providers": (
        "Provider",
        "OneFileEach",
        "Collected",
    ),
}

#: What the names that have no docstring mean.
NOTES = {
    "AnyEvent": "Any of the events of a client, from `StartupComplete` to `ShutdownComplete`.",
    "Address": "A host and a port.",
    "BOTH_MODES": "The `modes` of a fault kind that works in live and in simulated trials.",
    "CONTRACT_VERSION": "The version of the contract, for `StartupComplete.contract_version`.",
    "ColumnData": "The rows of a table of packed evidence: column -> its values, all of one length.",
    "Config": "The settings of a client: Java name -> value.",
    "Finder": "A function from evidence to the `AnomalyRow`s of one kind, or to None if it cannot judge the trial.",
    "NS_PER_MS": "Nanoseconds in a millisecond. All times of evidence are nanoseconds of the monotonic clock.",
    "Sample": "A row that shows a finding: column -> text, whole number or None.",
    "Setting": "The value of a setting: text, a whole number, or true or false.",
}

__all__ = [
    "BOTH_MODES",
    "CONTRACT_VERSION",
    "NS_PER_MS",
    "Address",
    "Alterations",
    "Anomaly",
    "AnomalyRow",
    "AnyEvent",
    "AtTime",
    "Behaviour",
    "BrokerKind",
    "Check",
    "ClientKind",
    "ClientRef",
    "Close",
    "Cluster",
    "ClusterNeeds",
    "Collected",
    "ColumnData",
    "Config",
    "Configure",
    "Configured",
    "Consequence",
    "Dice",
    "Ending",
    "EnvironmentProblem",
    "Evidence",
    "Fatal",
    "Fault",
    "FaultKind",
    "FaultParam",
    "FaultRow",
    "FaultSpec",
    "Finder",
    "Finding",
    "Flush",
    "Frame",
    "FrameKind",
    "FrameMatch",
    "Guarantee",
    "Inconclusive",
    "KafkaTrialError",
    "LaneAddress",
    "Launch",
    "Level",
    "LiveLane",
    "LoadCommand",
    "LogRecord",
    "Mode",
    "Mutant",
    "Network",
    "NoSuchToxic",
    "OnClientEvent",
    "OnFrame",
    "OnPhase",
    "OneFileEach",
    "OpComplete",
    "OpInvoke",
    "Operation",
    "Outcome",
    "PackedTrial",
    "Param",
    "Perturbation",
    "Phases",
    "ProducePart",
    "Provider",
    "Proxy",
    "ProxyKind",
    "ProxyServer",
    "Reason",
    "ReasonKind",
    "Requirement",
    "Sample",
    "Scenario",
    "Setting",
    "ShutdownComplete",
    "SimulatedClient",
    "SimulatedClientKind",
    "SimulatedConnection",
    "SimulatedFaultKind",
    "SimulatedLane",
    "StartupComplete",
    "Stats",
    "Table",
    "TrialRecord",
    "TrialSpec",
    "TrialVerdict",
    "UnknownCommand",
    "Unsupported",
    "UsageError",
    "Verdict",
    "Workload",
    "WorkloadKind",
    "broker",
    "client",
    "fault",
    "judged",
    "passed",
    "scenario",
    "simulate",
    "toxic_name",
    "unknown",
    "view",
    "workload",
]
