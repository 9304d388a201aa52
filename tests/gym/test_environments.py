"""The environments: the checks of Gymnasium and PettingZoo, seeds, physics, rivals, and refusals."""

import math
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

import tussle
import tussle.gym
from tussle.dataset import ENGINE_TABLES
from tussle.errors import TussleError
from tussle.gym import CongestionEnv, CongestionVectorEnv, Measured, ParallelCongestionEnv

LINK = {"rate": "10 Mbit/s", "rtt": "40 ms"}
ALONE = {"duration": "4 s", "path": LINK, "flows": [{"algorithm": "reno"}]}
LOSSY = {
    "duration": "3 s",
    "path": {"rate": ["5 Mbit/s", "10 Mbit/s"], "rtt": "40 ms", "loss": "1 %"},
    "flows": [{"algorithm": "reno"}],
}
PAIR = {
    "duration": "10 s",
    "path": LINK,
    "flows": [{"name": "agent", "algorithm": "reno"}, {"name": "rival", "algorithm": "cubic"}],
}
COMING_AND_GOING = {
    "duration": "6 s",
    "path": LINK,
    "flows": [
        {"name": "first", "algorithm": "reno", "stop": "2 s"},
        {"name": "second", "algorithm": "reno", "start": "1 s", "stop": "3 s"},
        {"name": "third", "algorithm": "reno", "start": "4 s"},
        {"name": "rival", "algorithm": "cubic"},
    ],
}
AGENTS = ["first", "second", "third"]

Step = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


def episode(env: CongestionEnv, seed: int, actions: np.random.Generator) -> list[Step]:
    env.reset(seed=seed)
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    low, high = np.maximum(space.low, -1), np.minimum(space.high, 30)
    steps: list[Step] = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(actions.uniform(low, high)))
    return steps


@pytest.mark.parametrize("action", ["aurora", "orca", "cwnd"])
@pytest.mark.parametrize("seen", ["aurora", "orca"])
def test_every_environment_passes_the_check_of_gymnasium(action, seen):
    made = gymnasium.make(
        "tussle/Congestion-v0", scenario=LOSSY, action=action, observation=seen, reward=seen, interval="30 ms"
    )
    with warnings.catch_warnings():
        # Windows in packets are not normalized.
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")
        check_env(made.unwrapped, skip_render_check=True)


def test_several_agents_pass_the_api_test_and_the_seed_test_of_pettingzoo():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        parallel_api_test(ParallelCongestionEnv(COMING_AND_GOING, AGENTS), num_cycles=200)
        parallel_seed_test(lambda: ParallelCongestionEnv(LOSSY), num_cycles=50)


def test_equal_seeds_give_equal_episodes_and_others_give_others():
    first, again, other = (
        episode(CongestionEnv(LOSSY), seed, np.random.default_rng(0)) for seed in (3, 3, 4)
    )
    assert len(first) == len(again)
    for one, two in zip(first, again, strict=True):
        assert one[0].tobytes() == two[0].tobytes()
        assert one[1:] == two[1:]
    assert [step[1] for step in first] != [step[1] for step in other]


@pytest.mark.parametrize("action", ["aurora", "orca", "cwnd"])
def test_environments_of_a_vector_give_what_single_ones_give(action):
    together = CongestionVectorEnv(LOSSY, num_envs=3, action=action)
    alone = [CongestionEnv(LOSSY, action=action) for _ in range(3)]
    seen, _ = together.reset(seed=7)
    for place, env in enumerate(alone):
        assert seen[place].tobytes() == env.reset(seed=7 + place)[0].tobytes()
    random = np.random.default_rng(1)
    ended, restarts = [False] * 3, 0
    for _ in range(120):
        actions = random.uniform(1, 30, (3, 1)) if action == "cwnd" else random.uniform(-1, 1, (3, 1))
        seen, rewards, over, cut, _ = together.step(actions)
        for place, env in enumerate(alone):
            if ended[place]:
                step: Any = (env.reset()[0], 0.0, False, False)
                restarts += 1
            else:
                step = env.step(actions[place])
            assert seen[place].tobytes() == step[0].tobytes()
            assert (rewards[place], over[place], cut[place]) == step[1:4]
            ended[place] = step[2] or step[3]
    # 3 s of at least 40 ms are at most 75 steps, so each began again.
    assert restarts >= 3


def test_the_number_of_environments_changes_no_byte():
    few, many = (CongestionVectorEnv(LOSSY, num_envs=count) for count in (2, 5))
    few.reset(seed=1)
    many.reset(seed=1)
    for _ in range(30):
        one, two = few.step(np.zeros((2, 1))), many.step(np.zeros((5, 1)))
        assert one[0].tobytes() == two[0][:2].tobytes()
        assert one[1].tobytes() == two[1][:2].tobytes()


def test_a_window_below_the_bdp_gives_a_window_per_rtt():
    env = CongestionEnv({**ALONE, "duration": "20 s"}, action="cwnd")
    env.reset(seed=1)
    step = env.step([20.0])
    while not step[3]:
        step = env.step([20.0])
    # A packet of 1500 bytes takes 1.2 ms at 10 Mbit/s, so that the BDP of 40 ms is 33 packets. Two packets
    # per delayed ACK: RTT = 40 ms + 2 x 1.2 ms and some headers. 20 x 1448 x 8 bit / 42.4 ms = 5.46 Mbit/s.
    assert step[4]["rtt_ms"] == pytest.approx(42.4, abs=0.1)
    assert step[4]["in_flight_packets"] == 20
    flows = env.outcome()["flows"]
    assert flows["goodput_bit_per_s"][0] == pytest.approx(20 * 1448 * 8 / 42.4e-3, rel=0.005)
    assert flows["lost_packets"][0] == 0


def test_a_larger_window_is_in_flight_at_once():
    env = CongestionEnv(ALONE, action="cwnd", interval="1 ms")
    env.reset(seed=1)
    # The first ACK comes 40 ms later; the first window has 10 packets.
    assert env.step([10.0])[4]["in_flight_packets"] == 10
    after = env.step([25.0])[4]
    assert (after["in_flight_packets"], after["sent_packets"], after["acks"]) == (25, 15, 0)


def test_a_rate_below_that_of_the_link_is_the_throughput():
    env = CongestionEnv(ALONE, interval="100 ms", observation=rate_seen)
    env.reset(seed=5)
    action = 0.0
    measured: dict[str, float] = {}
    for _ in range(38):
        measured = env.step([action])[4]
        # Rates are of the payload, as in Linux; one above 5 Mbit/s is reduced by 10 % (alpha 0.025 x 4.44).
        action = -4.444 if measured["pacing_mbit_per_s"] > 5 else 0.0
    assert 4 < measured["pacing_mbit_per_s"] <= 5
    throughput = measured["delivered_packets"] * 1448 * 8 / 0.1 / 1e6
    assert throughput == pytest.approx(measured["pacing_mbit_per_s"], rel=0.06)
    assert measured["rtt_ms"] < 45


def rate_seen(measured: Measured) -> np.ndarray:
    return measured.pacing_mbit_per_s[:, None]


def test_orca_without_changes_is_cubic():
    env = CongestionEnv(PAIR, "agent", action="orca")
    env.reset(options={"run": 0}, seed=1)
    while not env.step([0.0])[3]:
        pass
    flows = env.outcome()["flows"]
    plain = tussle.run(PAIR, settings={"flows.0.algorithm": "cubic"}, repetitions=1).flows.collect()
    assert flows["delivered_bytes"].to_list() == plain["delivered_bytes"].to_list()
    assert flows["algorithm"].to_list() == ["agent", "cubic"]


def test_rivals_take_what_the_agent_leaves():
    env = CongestionEnv(PAIR, 0, action="cwnd")
    env.reset(seed=1)
    while not env.step([10.0])[3]:
        pass
    tables = env.outcome()
    assert set(tables) == set(ENGINE_TABLES)
    agent, rival = tables["flows"]["goodput_bit_per_s"].to_list()
    # CUBIC fills the buffer of one BDP: the agent's 10 packets have an RTT between 40 and 83 ms.
    assert 10 * 1448 * 8 / 83e-3 < agent < 10 * 1448 * 8 / 40e-3
    assert agent + rival == pytest.approx(10e6 * 1448 / 1500, rel=0.01)


def test_agents_enter_and_leave_with_their_flows():
    env = ParallelCongestionEnv(COMING_AND_GOING, AGENTS, action="cwnd", interval="50 ms")
    env.reset(seed=1)
    present: dict[str, list[float]] = {}
    ends: dict[str, str] = {}
    while env.agents:
        _, _, over, cut, infos = env.step({agent: [5.0] for agent in env.agents})
        for agent, info in infos.items():
            present.setdefault(agent, []).append(info["time_s"])
            if over[agent] or cut[agent]:
                ends[agent] = "over" if over[agent] else "cut"
    assert [round(present[agent][0], 1) for agent in AGENTS] == [0.1, 1.1, 4.1]
    # After its stop a flow still delivers what its socket has taken: 128 to 256 KiB, 91 to 182 packets, 5 in
    # each round trip of 40 to 80 ms.
    for agent, stop_s in [("first", 2), ("second", 3)]:
        assert stop_s + 91 / 5 * 0.04 < present[agent][-1] < stop_s + (182 + 5) / 5 * 0.08
    assert present["third"][-1] == 6
    assert ends == {"first": "over", "second": "over", "third": "cut"}


def test_a_finite_flow_ends_its_episode():
    env = CongestionEnv({**ALONE, "flows": [{"algorithm": "reno", "bytes": "200 kB"}]}, action="cwnd")
    env.reset(seed=1)
    steps = [env.step([20.0]) for _ in range(20)]
    ends = [place for place, step in enumerate(steps) if step[2]]
    # 139 packets of 1448 bytes, 20 in each RTT: seven round trips, and one for what is on its way.
    assert ends
    assert 6 <= ends[0] <= 9
    assert sum(step[4]["delivered_packets"] for step in steps[: ends[0] + 1]) == 139


def test_a_chosen_run_is_that_run_of_the_scenario():
    outcomes = []
    for seed in (1, 2):
        env = CongestionEnv(LOSSY, action="orca")
        env.reset(seed=seed, options={"run": 11})
        while not env.step([0.0])[3]:
            pass
        outcomes.append(env.outcome()["flows"])
    assert outcomes[0].equals(outcomes[1])
    # Point 1 has 10 Mbit/s; 10 repetitions of each point.
    plain = tussle.run(LOSSY, algorithm="cubic").flows.collect()
    assert outcomes[0]["delivered_bytes"][0] == plain["delivered_bytes"][11]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scenario": PAIR}, "flow: the scenario has 2 flows; give one of agent, rival"),
        ({"scenario": PAIR, "flow": "agnt"}, 'flow: unknown flow "agnt"; did you mean "agent"?'),
        ({"scenario": PAIR, "flow": 2}, "flow: 2 is not a flow; give a name or a number below 2"),
        ({"scenario": "one-cubic"}, "unknown scenario"),
        ({"scenario": ALONE, "interval": "30 mm"}, "interval: "),
        ({"scenario": ALONE, "interval": -1}, "interval: -1 is not an interval; give a time such as 30 ms"),
        ({"scenario": ALONE, "interval": "0 s"}, "interval: it is 0"),
        ({"scenario": ALONE, "action": "arora"}, 'action: unknown action "arora"; did you mean "aurora"?'),
        (
            {"scenario": ALONE, "action": tussle.gym.OrcaAction("cubik")},
            "action: no algorithm is called cubik",
        ),
        ({"scenario": ALONE, "observation": 3}, "observation: 3 is not an observation"),
        ({"scenario": ALONE, "observation": lambda measured: measured.acks}, "return \\(1, features\\)"),
        ({"scenario": ALONE, "reward": "power"}, "reward: unknown reward"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, words):
    with pytest.raises(TussleError, match=words) as refused:
        CongestionEnv(**arguments)
    assert "\n" not in str(refused.value)


_untyped: Any = tussle.gym


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: _untyped.AuroraAction("x"), 'alpha of AuroraAction is "x"; give a finite number above 0'),
        (lambda: _untyped.AuroraAction(limit=math.inf), "limit of AuroraAction is Infinity"),
        (lambda: _untyped.WindowAction("x"), 'most_packets of WindowAction is "x"; give 2 to'),
        (lambda: _untyped.WindowAction(1), "most_packets of WindowAction is 1"),
        (lambda: _untyped.AuroraObservation("x"), 'the history is "x" intervals; give 1 or more'),
    ],
)
def test_a_wrong_part_of_an_environment_is_one_sentence(make, words):
    with pytest.raises(TussleError, match=words):
        make()


def test_mistakes_in_an_episode_are_one_sentence():
    env = CongestionEnv(ALONE, reward=lambda measured: measured.values)
    env.reset(seed=1)
    with pytest.raises(TussleError, match="outcome: there is none before the end"):
        env.outcome()
    with pytest.raises(TussleError, match="action: its shape is"):
        env.step([1.0, 2.0])
    with pytest.raises(TussleError, match="reward: the function returned the shape"):
        env.step([1.0])
    with pytest.raises(TussleError, match="options: the run is 5; give a number from 0 to 0"):
        env.reset(options={"run": 5})
    late = CongestionEnv({**ALONE, "duration": "1 s", "flows": [{"algorithm": "reno", "start": "0.99 s"}]})
    with pytest.raises(TussleError, match="no agent connects within the run"):
        late.reset(seed=1)


@pytest.mark.parametrize("package", ["gymnasium", "pettingzoo"])
def test_a_missing_package_is_one_sentence(package):
    # `import tussle` needs neither package, and does not import them.
    code = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        f"util.find_spec = lambda name, *more: None if name == {package!r} else find(name, *more)\n"
        "import tussle\n"
        "assert 'gymnasium' not in sys.modules\n"
        "try:\n    from tussle.gym import ParallelCongestionEnv\n"
        "except tussle.TussleError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"needs the package {package}; install it with" in done.stdout
