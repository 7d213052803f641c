"""Two thousand articles, written once for all tests of their statistics."""

import pytest

from longform.datasets.synthetic_world.articles import write


@pytest.fixture(scope="session")
def articles():
    return [write(3, "wiki", index) for index in range(2000)]
