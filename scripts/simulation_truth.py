"""The simulator beside real servers, as a table: python -m scripts.simulation_truth"""

from tests.truth.simulated_runs import RUNS


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def main() -> None:
    print("| run | figure | measured | simulated | error | accepted | note |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for run in RUNS:
        for check in run():
            accepted = "shown only" if check.tolerance is None else f"{check.tolerance:.0%}" if check.tolerance else "exact"
            print(
                f"| {check.run} | {check.figure} | {_number(check.measured)} | {_number(check.simulated)} | {check.error:+.1%} "
                f"| {accepted if check.holds else accepted + ' MISSED'} | {check.note} |"
            )


if __name__ == "__main__":
    main()
