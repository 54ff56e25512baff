"""Placeholder"""
from __future__ import annotations
from pathlib import Path
from jobs.benchmarks.edge_assembly.instances import Instance
def table(instances: list[Instance], repeats: int, folder: Path) -> list[str]:
    return []
