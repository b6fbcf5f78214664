import json

from datasets import Dataset

from scapo.engines.trl import ScapoConfig, ScapoTrainer


def train(tiny_model, tiny_tokenizer, rows, reward, **config):
    trainer = ScapoTrainer(
        tiny_model, reward, ScapoConfig(**config), train_dataset=Dataset.from_list(rows), processing_class=tiny_tokenizer
    )
    trainer.train()
    return trainer


def test_a_short_run_leaves_metrics_and_samples(tiny_model, tiny_tokenizer, rows, reward, settings, tmp_path):
    train(tiny_model, tiny_tokenizer, rows, reward, **settings(max_steps=3, n_0=2))
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").open()]
    for l in lines: print(l)
    print((tmp_path / "run/samples.jsonl").read_text()[:900])
    assert [line["step"] for line in lines] == [1, 2, 3]
