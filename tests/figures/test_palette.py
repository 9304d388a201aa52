"""Colours are distinguishable on paper, on light and dark screens, and by colour-blind readers."""

from itertools import combinations

import pytest

from tussle.figures._palette import _ALGORITHMS, SHARES, algorithm_colour, contrast, ink_on, share_colour

DARK_PAGE = "#16181d"
UNKNOWN = ["swift", "sprout", "a", "ABC", "verus", "x" * 60]

# Machado, Oliveira and Fernandes 2009, severity 1, for linear sRGB.
DEFICIENCIES = {
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
}


@pytest.mark.parametrize("name", [*_ALGORITHMS, *UNKNOWN])
def test_line_colours_contrast_with_light_and_dark_backgrounds(name: str):
    """WCAG 2.2, 1.4.11 asks for 3 to 1."""
    assert contrast(algorithm_colour(name), "#ffffff") >= 3
    assert contrast(algorithm_colour(name), DARK_PAGE) >= 3


def test_no_two_algorithms_have_one_colour():
    colours = [algorithm_colour(name) for name in [*_ALGORITHMS, *UNKNOWN]]
    assert len(set(colours)) == len(colours)


def test_the_colour_of_an_unknown_algorithm_depends_on_its_name_only():
    assert algorithm_colour("swift") == algorithm_colour("swift") == "#6175d1"


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_first_four_colours_are_distinguishable(deficiency: str):
    """A distance of 0.1 in Oklab is several times the smallest noticeable difference."""
    seen = {
        name: _oklab(algorithm_colour(name), DEFICIENCIES[deficiency])
        for name in ("reno", "cubic", "bic", "vegas")
    }
    for (one, a), (other, b) in combinations(seen.items(), 2):
        distance = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5
        assert distance > 0.1, (one, other)


def test_the_fair_share_has_the_lightest_colour_and_both_extremes_are_dark():
    against_black = [contrast(colour, "#000000") for colour in SHARES]
    assert against_black[:5] == sorted(against_black[:5])
    assert against_black[4:] == sorted(against_black[4:], reverse=True)


@pytest.mark.parametrize("percent", range(0, 101, 5))
def test_numbers_on_shares_are_readable(percent: int):
    """WCAG 2.2, 1.4.3 asks for 4.5 to 1."""
    colour = share_colour(percent / 100)
    assert contrast(colour, ink_on(colour)) >= 4.5


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def _oklab(colour: str, matrix: list[list[float]]) -> list[float]:
    """Björn Ottosson, A perceptual color space for image processing, 2020."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [max(0.0, sum(w * c for w, c in zip(row, linear, strict=True))) for row in matrix]
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    lms = [sum(w * c for w, c in zip(row, seen, strict=True)) ** (1 / 3) for row in cones]
    axes = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return [sum(w * c for w, c in zip(row, lms, strict=True)) for row in axes]
