"""A small policy network in numpy: a trained policy works without the library that trained it."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tussle.errors import TussleError
from tussle.gym._measured import Floats

_STORED = Path(__file__).parent / "policies"
_DIGITS = 6
"""Actions are rounded, so that the order in which a processor adds does not decide what a packet does."""


class Policy:
    """A multilayer perceptron with tanh between its layers: from observations to actions."""

    def __init__(self, layers: list[tuple[Floats, Floats]]) -> None:
        self.layers = layers
        """The weights (outputs, inputs) and the biases of each layer."""

    def __call__(self, observation: npt.ArrayLike) -> Floats:
        """Return the action for an observation, or one row of actions for each row of observations."""
        values = np.asarray(observation, np.float64)
        for index, (weights, biases) in enumerate(self.layers):
            values = values @ weights.T + biases
            if index < len(self.layers) - 1:
                values = np.tanh(values)
        return np.round(np.clip(values, -1.0, 1.0), _DIGITS)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the layers as a `.npz` file."""
        named: dict[str, Any] = {}
        for index, (weights, biases) in enumerate(self.layers):
            named |= {f"weights-{index}": weights, f"biases-{index}": biases}
        np.savez_compressed(path, **named)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a file that `save` wrote, or the stored policy of that name, such as "lossy-link".

        Raises TussleError if there is neither.
        """
        file = Path(path)
        if not file.suffix:
            file = _STORED / f"{path}.npz"
        if not file.is_file():
            stored = ", ".join(sorted(each.stem for each in _STORED.glob("*.npz")))
            raise TussleError(
                f"policy: there is no file {path}; give a file of Policy.save, or one of {stored}"
            )
        with np.load(file) as named:
            count = len(named.files) // 2
            return cls([(named[f"weights-{index}"], named[f"biases-{index}"]) for index in range(count)])
