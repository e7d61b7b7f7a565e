"""PUPO in RL4CO: its attention model and REINFORCE, with weighted log-probabilities. Tried with RL4CO 0.7.0."""
from typing import Any

import puretour
from rl4co.envs import TSPEnv  # type: ignore[import-untyped,unused-ignore]
from rl4co.models import AttentionModel, AttentionModelPolicy  # type: ignore[import-untyped,unused-ignore]
from rl4co.utils import RL4COTrainer  # type: ignore[import-untyped,unused-ignore]


class PupoPolicy(AttentionModelPolicy):  # type: ignore[misc,unused-ignore]
    def forward(self, td: Any, env: Any = None, phase: str = "train", **options: Any) -> Any:
        if phase != "train":
            return super().forward(td, env, phase=phase, **options)
        options.update(return_actions=True, return_sum_log_likelihood=False)
        out = super().forward(td, env, phase=phase, **options)
        weights = puretour.pupo_weights(td["locs"], out["actions"])  # (B, N)
        out["log_likelihood"] = (out["log_likelihood"] * weights).sum(1)
        return out


def train(nodes: int = 20, instances: int = 12_800, epochs: int = 1, batch: int = 128) -> None:
    env = TSPEnv(generator_params={"num_loc": nodes})
    model = AttentionModel(
        env,
        policy=PupoPolicy(env_name=env.name, num_encoder_layers=3),
        baseline="rollout",
        batch_size=batch,
        train_data_size=instances,
        val_data_size=128,
        test_data_size=128,
        optimizer_kwargs={"lr": 1e-4},
    )
    trainer = RL4COTrainer(max_epochs=epochs, accelerator="cpu", logger=None, enable_checkpointing=False)
    trainer.fit(model)
    print(f"mean length {-trainer.callback_metrics['val/reward']:.3f}")


if __name__ == "__main__":
    train()
