"""The `scapo` command. Each room owns its command in `command.py`; heavy imports happen inside the commands."""

import sys

import typer

from scapo.errors import ScapoError

app = typer.Typer(
    name="scapo",
    help="Token-level credit for reinforcement learning with verifiable rewards.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a ScapoError is printed as a sentence, exit status 2."""
    try:
        app()
    except ScapoError as error:
        print(f"scapo: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
