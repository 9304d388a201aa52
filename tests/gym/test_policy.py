"""The stored policy, which `make gym-policy` trains."""

import numpy as np
import pytest

import tussle
from tussle.errors import TussleError
from tussle.gym import AuroraAction, CongestionEnv, CongestionVectorEnv
from tussle.gym.policy import Policy

LOSSY_LINK = {
    "duration": "30 s",
    "path": {"rate": "4 Mbit/s", "rtt": "80 ms", "loss": "2 %"},
    "flows": [{"algorithm": "reno"}],
}
"""A path that the training did not have; neither did it have these seeds."""


def test_the_stored_policy_beats_reno_on_a_lossy_link_that_it_never_saw():
    policy = Policy.load("lossy-link")
    goodputs, rtts = [], []
    for seed in range(5):
        env = CongestionEnv(LOSSY_LINK, action=AuroraAction(alpha=0.3, limit=1.0))
        seen, _ = env.reset(seed=seed)
        is_over = False
        while not is_over:
            seen, _, _, is_over, info = env.step(policy(seen))
            rtts.append(info.get("rtt_ms", np.nan))
        goodputs.append(env.outcome()["flows"]["goodput_bit_per_s"][0])
    reno = tussle.run(LOSSY_LINK, repetitions=5).flows.collect()["goodput_bit_per_s"].to_list()
    # Reno with a loss rate p has about sqrt(3/2p) = 8.7 packets in a round trip (Mathis et al., 1997):
    # 8.7 x 1448 x 8 bit / 80 ms = 1.3 Mbit/s. The link carries 4 Mbit/s x 1448 / 1500 = 3.86 Mbit/s.
    assert max(reno) < 1.5e6
    assert min(goodputs) > 3.6e6
    # It does not do so by filling the buffer of one BDP, which would be 160 ms.
    assert np.nanmean(rtts) < 140


def test_a_policy_acts_for_many_environments_as_for_one():
    policy = Policy.load("lossy-link")
    envs = CongestionVectorEnv(LOSSY_LINK, num_envs=4, action=AuroraAction(alpha=0.3, limit=1.0))
    seen, _ = envs.reset(seed=1)
    actions = policy(seen)
    assert actions.shape == (4, 1)
    assert np.array_equal(actions[2], policy(seen[2]))


def test_a_policy_is_what_was_saved(tmp_path):
    policy = Policy.load("lossy-link")
    policy.save(tmp_path / "copy.npz")
    copy = Policy.load(tmp_path / "copy.npz")
    seen = np.linspace(0, 2, policy.layers[0][0].shape[1])
    assert np.array_equal(copy(seen), policy(seen))


def test_a_missing_policy_is_one_sentence():
    with pytest.raises(TussleError, match=r"policy: there is no file nothing; .* or one of lossy-link"):
        Policy.load("nothing")
