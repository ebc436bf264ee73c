"""`export`: a study as one long table that `import` reads again."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.exchange.export import export_study
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `export`."""
    parser = commands.add_parser("export", help="write a study as one table (CSV or Parquet) that import reads again")
    parser.add_argument("--study", required=True)
    parser.add_argument("--to", metavar="FILE", help="a .parquet or .csv file (default: STUDY.parquet here)")
    parser.set_defaults(act=export_predictions)


def export_predictions(options: Namespace) -> None:
    """Write the table and its sidecar."""
    study = Study(options.study)
    path = Path(options.to) if options.to else Path(f"{study.path.resolve().name}.parquet")
    n_rows, sidecar = export_study(study, path)
    print(f"{n_rows:,} rows are in {path}, what rows cannot say in {sidecar}; bring both along.")
