"""Train the policy `lossy-link` of tussle.gym with Stable-Baselines3 (`make gym-policy`).

Minutes on one core. The paths of the training are not the one on which docs and tests measure the policy.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.vec_env import (  # pyright: ignore[reportMissingImports]
    DummyVecEnv,
    VecNormalize,
)

import tussle.gym
from tussle.gym.policy import Policy

STORED = Path(tussle.gym.__file__).parent / "policies" / "lossy-link.npz"
SCENARIO = {
    "question": "What is the best rate on a link that loses packets at random?",
    "duration": "30 s",
    "path": {
        "rate": ["1.5 Mbit/s", "2.5 Mbit/s", "6 Mbit/s"],
        "rtt": ["60 ms", "100 ms"],
        "loss": ["1 %", "3 %"],
    },
    "flows": [{"algorithm": "reno"}],
}
ENVIRONMENTS = 8


def make(number: int) -> tussle.gym.CongestionEnv:
    """Return an environment of the training."""
    environment = tussle.gym.CongestionEnv(
        SCENARIO,
        action=tussle.gym.AuroraAction(alpha=0.3, limit=1.0),
        reward=tussle.gym.AuroraReward(latency=20_000.0),
    )
    environment.reset(seed=1_000 + number)
    return environment


def trained(steps: int, seed: int) -> Policy:
    """Return a policy after that many steps of PPO."""
    torch.set_num_threads(1)
    worlds = DummyVecEnv([lambda number=number: make(number) for number in range(ENVIRONMENTS)])
    learner = PPO(
        "MlpPolicy",
        # Rewards are proportional to the rates of the links.
        VecNormalize(worlds, norm_obs=False, gamma=0.95),
        n_steps=512,
        batch_size=512,
        gamma=0.95,
        learning_rate=1e-3,
        ent_coef=0.0,
        policy_kwargs={"net_arch": [32, 16], "log_std_init": -0.5},
        seed=seed,
        device="cpu",
    )
    learner.learn(steps)
    network = [*learner.policy.mlp_extractor.policy_net, learner.policy.action_net]
    linear = [each for each in network if isinstance(each, torch.nn.Linear)]
    return Policy([(_numbers(each.weight), _numbers(each.bias)) for each in linear])


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy().astype(np.float64)


def main() -> None:
    """Train, and write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=200_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("-o", "--output", type=Path, default=STORED)
    chosen = arguments.parse_args()
    began = time.perf_counter()
    trained(chosen.steps, chosen.seed).save(chosen.output)
    print(f"{chosen.output.name}: {chosen.steps} steps in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
