"""The public API: what a fault, check, scenario, client, workload, broker or proxy of another package imports.

Everything else in ``harness`` may move or change between versions without notice. What is here changes with an entry
in the changelog. ``docs/reference/api.md`` lists it.
"""

from __future__ import annotations

from harness.model.addresses import Address, LaneAddress
from harness.model.anomaly import Anomaly, ReasonKind
from harness.model.anomaly_row import AnomalyRow, Finder
from harness.model.contract import AnyEvent, Close, Configure, Flush, LoadCommand, OpComplete, OpInvoke
from harness.model.dice import Dice
from harness.model.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import FaultRow, Finding, Frame, FrameKind, LogRecord, ProducePart, Reason
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
from harness.model.verdicts import Guarantee, Level, Outcome, Verdict
from harness.plugins.check import Check, Inconclusive, Requirement, Unsupported
from harness.plugins.client import ClientKind, InstalledClient, Launch
from harness.plugins.cluster import Alterations, BrokerKind, Cluster
from harness.plugins.fault import FaultKind, FaultParam, LiveLane
from harness.plugins.providers import Collected, OneFileEach, Provider
from harness.plugins.proxy import Proxy, ProxyKind, ProxyServer
from harness.plugins.scenario import Consequence, Scenario
from harness.plugins.workload import PackedTrial, Param, Table, WorkloadKind
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedClient, SimulatedClientKind, SimulatedFaultKind

#: Part of the API -> its names, in the order of the reference page.
PARTS = {
    "Checks": (
        "Check",
        "Requirement",
        "Inconclusive",
        "Unsupported",
        "Anomaly",
        "ReasonKind",
        "Finding",
        "Reason",
    ),
    "Evidence": (
        "Evidence",
        "Operation",
        "Frame",
        "FrameKind",
        "ProducePart",
        "LogRecord",
        "FaultRow",
        "view",
    ),
    "Scenarios": ("Scenario", "Consequence", "Workload", "Dice"),
    "Triggers and fault specs": (
        "FaultSpec",
        "AtTime",
        "OnFrame",
        "OnClientEvent",
        "OnPhase",
        "FrameMatch",
    ),
    "Faults": ("FaultKind", "FaultParam", "LiveLane", "SimulatedFaultKind", "SimulatedLane"),
    "Clients": (
        "ClientKind",
        "ClientRef",
        "Launch",
        "InstalledClient",
        "SimulatedClientKind",
        "SimulatedClient",
        "Network",
    ),
    "Clusters and proxies": (
        "BrokerKind",
        "Cluster",
        "Alterations",
        "ProxyKind",
        "ProxyServer",
        "Proxy",
        "LaneAddress",
        "Address",
    ),
    "Workloads": (
        "WorkloadKind",
        "LoadCommand",
        "Param",
        "Table",
        "PackedTrial",
        "AnomalyRow",
        "Finder",
        "TrialSpec",
    ),
    "The contract": ("Configure", "Flush", "Close", "OpInvoke", "OpComplete", "AnyEvent"),
    "Verdicts": ("Guarantee", "Level", "Outcome", "Verdict"),
    "Errors": ("KafkaTrialError", "UsageError", "EnvironmentProblem"),
    "Providers": ("Provider", "OneFileEach", "Collected"),
}

__all__ = [
    "Address",
    "Alterations",
    "Anomaly",
    "AnomalyRow",
    "AnyEvent",
    "BrokerKind",
    "Check",
    "ClientKind",
    "ClientRef",
    "OnClientEvent",
    "Close",
    "Cluster",
    "Collected",
    "Configure",
    "Consequence",
    "Dice",
    "AtTime",
    "EnvironmentProblem",
    "Evidence",
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
    "OnFrame",
    "Guarantee",
    "Inconclusive",
    "InstalledClient",
    "KafkaTrialError",
    "LaneAddress",
    "Launch",
    "Level",
    "LiveLane",
    "LoadCommand",
    "LogRecord",
    "Network",
    "OneFileEach",
    "OpComplete",
    "OpInvoke",
    "Operation",
    "Outcome",
    "PackedTrial",
    "Param",
    "OnPhase",
    "ProducePart",
    "Provider",
    "Proxy",
    "ProxyKind",
    "ProxyServer",
    "Reason",
    "ReasonKind",
    "Requirement",
    "Scenario",
    "SimulatedClient",
    "SimulatedClientKind",
    "SimulatedFaultKind",
    "SimulatedLane",
    "Table",
    "TrialSpec",
    "Unsupported",
    "UsageError",
    "Verdict",
    "Workload",
    "WorkloadKind",
    "view",
]
