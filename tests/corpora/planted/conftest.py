"""Two thousand articles, written once for all tests of their statistics."""

import pytest

from longform.corpora.planted.articles import write


@pytest.fixture(scope="session")
def articles():
    return [write(3, "wiki", index) for index in range(2000)]
