"""The simulator: many sources, many workers and a virtual clock, without Spark.

>>> from evenkey.core.streams import generated
>>> stream = generated("zipf(z=1.4,keys=100)", messages=1000)
>>> report = simulate(stream, "pkg", workers=4, sources=2)
>>> int(report.loads.sum()), report.pairs <= 2 * report.keys
(1000, True)
"""

from __future__ import annotations

from evenkey.simulation.estimation import Estimation, Global, Local, Probing, parse_estimation
from evenkey.simulation.feeding import Feed
from evenkey.simulation.key_hashes import HashName
from evenkey.simulation.policies import Observed, Policy
from evenkey.simulation.policy_report import PolicyEpoch, PolicyReport
from evenkey.simulation.policy_simulator import MoveCosts, simulate_policies
from evenkey.simulation.report import Agreement, SimulationReport
from evenkey.simulation.simulator import Setting, simulate, simulate_all
from evenkey.simulation.source_routers import Messages as Messages
from evenkey.simulation.source_routers import Sources as Sources

__all__ = [
    "Agreement",
    "Estimation",
    "Feed",
    "Global",
    "HashName",
    "Local",
    "MoveCosts",
    "Observed",
    "Policy",
    "PolicyEpoch",
    "PolicyReport",
    "Probing",
    "Setting",
    "SimulationReport",
    "parse_estimation",
    "simulate",
    "simulate_all",
    "simulate_policies",
]
