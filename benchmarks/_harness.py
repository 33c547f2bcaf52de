"""What all benchmarks share: contenders take turns, and every figure is a ratio to the floor of its round.

A benchmark gives `main` its cases, its contenders and the name of the floor:

    Contender = Callable[[str], Callable[[], float] | None]

A contender gets the name of a case and returns a function that does the work once and returns seconds per
unit (`None`: it does not take part). One that raises `ImportError` is named as absent. Nothing here is
asserted: the tests never look at a clock.
"""

import argparse
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

Run = Callable[[], float]
Contender = Callable[[str], Run | None]


def seconds(work: Callable[[], object], units: int = 1, *, at_least: float = 0.02) -> float:
    """Seconds per unit of repeated calls of `work`, over about `at_least` seconds."""
    started = time.perf_counter()
    work()
    once = max(time.perf_counter() - started, 1e-7)
    times = max(1, int(at_least / once))
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times / units


def version(*distributions: str) -> str:
    """The installed versions of peers, for the table's caption; raises `ImportError` where one is absent."""
    try:
        return ", ".join(f"{name} {metadata.version(name)}" for name in distributions)
    except metadata.PackageNotFoundError as error:
        raise ImportError(str(error)) from error


def main(
    title: str,
    cases: Sequence[str],
    contenders: Mapping[str, Contender],
    floor: str,
    *,
    unit: str = "µs",
    scale: float = 1e6,
    rounds: int = 7,
    targets: Mapping[str, str] | None = None,
) -> None:
    """Run everything and print one Markdown table a case: median time and median ratio to the floor."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds counted, after one that is not")
    parser.add_argument("--quick", action="store_true", help="two rounds: does everything run?")
    parser.add_argument(
        "--case", action="append", choices=list(cases), help="only this case; may be repeated"
    )
    parser.add_argument("--json", type=Path, help="also write the raw figures to this file")
    options = parser.parse_args()
    counted = 2 if options.quick else max(1, options.rounds)
    print(
        f"## {title}\n\nPython {platform.python_version()}, {counted} rounds, median; ratio to `{floor}`.\n"
    )
    raw: dict[str, dict[str, list[float]]] = {}
    for case in options.case or cases:
        raw[case] = _measure(case, contenders, counted)
        _print_table(case, raw[case], floor, unit, scale, (targets or {}).get(case))
    if options.json is not None:
        options.json.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")


def _measure(case: str, contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    runs: dict[str, Run] = {}
    for name, contender in contenders.items():
        try:
            run = contender(case)
        except ImportError as error:
            print(f"- {name}: absent ({error})")
            continue
        if run is not None:
            runs[name] = run
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            gc.collect()
            figure = run()
            if number:  # the first round warms up
                figures[name].append(figure)
    return figures


def _print_table(
    case: str, figures: Mapping[str, list[float]], floor: str, unit: str, scale: float, target: str | None
) -> None:
    base = figures.get(floor)
    print(f"\n### {case}" + (f" (target: {target})" if target else ""))
    print(f"\n| contender | {unit} | × floor |\n|---|---:|---:|")
    for name, values in sorted(figures.items(), key=lambda item: statistics.median(item[1])):
        ratio = "–"
        if base:
            ratio = f"{statistics.median(v / b for v, b in zip(values, base, strict=True)):.2f}"
        print(f"| {name} | {statistics.median(values) * scale:.3f} | {ratio} |")
    print()
