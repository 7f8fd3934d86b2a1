"""Building blocks for tests: a `World` to run katod in, records as agents write them, a `Live` daemon."""

import pytest

pytest.register_assert_rewrite("tests.support.world", "tests.support.live", "tests.support.records.base")
