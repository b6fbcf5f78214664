"""The `scapo` command. Each room owns its `command.py`; heavy imports happen inside the commands."""

import sys

import typer

from scapo.compare.command import CONTEXT as COMPARE_CONTEXT
from scapo.compare.command import compare
from scapo.decode.command import decode
from scapo.diagnose.command import diagnose
from scapo.engines.trl.command import CONTEXT as TRAIN_CONTEXT
from scapo.engines.trl.command import train
from scapo.engines.verl.command import to_verl
from scapo.errors import ScapoError
from scapo.evaluate.command import evaluate
from scapo.evaluate.variants.command import noop, thinkbench
from scapo.perturb.command import perturb
from scapo.plan.command import plan
from scapo.problems.command import app as problems
from scapo.problems.world.command import world, world_pretrain
from scapo.report.command import report
from scapo.reward.command import verify

app = typer.Typer(
    name="scapo",
    help="Token-level credit for reinforcement learning with verifiable rewards.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command("world")(world)
app.command("world-pretrain")(world_pretrain)
problems.command("noop")(noop)
problems.command("thinkbench")(thinkbench)
problems.command("to-verl")(to_verl)
app.add_typer(problems, name="problems")
app.command("perturb")(perturb)
app.command("verify")(verify)
app.command("train", context_settings=TRAIN_CONTEXT)(train)
app.command("compare", context_settings=COMPARE_CONTEXT)(compare)
app.command("evaluate")(evaluate)
app.command("diagnose")(diagnose)
app.command("decode")(decode)
app.command("report")(report)
app.command("plan")(plan)


def main() -> None:
    """Run the command line; a ScapoError is printed as a sentence, exit status 2."""
    try:
        app()
    except ScapoError as error:
        print(f"scapo: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
