#!/usr/bin/env bash
# The whole road on one small machine: world, rewrites, two trainings, evaluation, diagnosis, report.
# Every line is a command that works on your own model and data too. An interrupted run goes on where it was.
set -euo pipefail
RUN=${RUN:-runs/quickstart}
export OMP_NUM_THREADS=1  # small models run slower when threads outnumber free cores

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
start=$SECONDS

say "1/6  A small world of word problems with a planted shortcut, and a base policy that fell for it"
scapo world "$RUN/world"

say "2/6  Four rewrites of every problem that keep its answer"
scapo perturb "$RUN/world/train.jsonl" -o "$RUN/train.perturbed.jsonl"
scapo perturb "$RUN/world/test_conflict.jsonl" -o "$RUN/conflict.perturbed.jsonl"

say "3/6  Train GRPO (in the background) and SCAPO (shown), one core each"
scapo train recipes/quickstart.yaml --resume --label GRPO --method.credit outcome --output "$RUN/grpo" >"$RUN/grpo.log" 2>&1 &
grpo=$!
trap 'kill $grpo 2>/dev/null || true' EXIT
scapo train recipes/quickstart.yaml --resume --label SCAPO --output "$RUN/scapo"
wait $grpo || { tail -n 20 "$RUN/grpo.log"; exit 1; }
trap - EXIT

say "4/6  Evaluate base, GRPO and SCAPO on four test sets"
scapo evaluate "$RUN/world/base" --label base --suite world --data world="$RUN/world" --limit 100 -o "$RUN/eval-base" &
scapo evaluate "$RUN/grpo/model" --label GRPO --suite world --data world="$RUN/world" --limit 100 -o "$RUN/eval-grpo"
wait
scapo evaluate "$RUN/scapo/model" --label SCAPO --suite world --data world="$RUN/world" --limit 100 -o "$RUN/eval-scapo"

say "5/6  Where does the base policy's probability drift when only the wording changes?"
scapo diagnose "$RUN/world/base" "$RUN/conflict.perturbed.jsonl" -o "$RUN/drift"

say "6/6  Report"
scapo report "$RUN/grpo" "$RUN/scapo" "$RUN/eval-base" "$RUN/eval-grpo" "$RUN/eval-scapo" "$RUN/drift" -o "$RUN/report.html"
printf '\nDone in %d s. Open %s\n' $((SECONDS - start)) "$RUN/report.html"
