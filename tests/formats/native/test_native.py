"""Every field of every agent is where it is said to be."""

import pytest

from tests.formats.native.finding import EVENT, RECORD, TRANSCRIPT, documents, found, shown
from tests.formats.native.reasons import reason
from tests.formats.native.table import MODULES, every


@pytest.mark.parametrize("module", MODULES)
def test_each_field_is_where_the_agent_record_is_to_have_it(module):
    """In the entry of the type, and under the name, that the draft has for it; what it has no name for, beside that."""
    wrong = {
        field.path: (places, field.record)
        for field in every(module)
        if (places := ", ".join(found(module, field, RECORD))) != field.record
    }
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_what_is_nowhere_has_a_reason_and_nothing_else_has_one(module):
    """A field that no format has says why; it has an event exactly if it has an entry, unless the record made it up."""
    for field in every(module):
        places = [place for spec in documents() for place in found(module, field, spec.name)]
        assert bool(field.note) != bool(places or shown(module, field)), field.path
        assert bool(found(module, field, EVENT)) <= bool(field.record), field.path


@pytest.mark.parametrize("module", MODULES)
def test_a_format_that_lacks_what_is_in_an_event_has_a_reason(module):
    """Not for each field, but for each kind of places in events."""
    names = [*(spec.name for spec in documents()), TRANSCRIPT]
    for field in every(module):
        events = found(module, field, EVENT)
        lacking = [
            name for name in names if not (shown(module, field) if name == TRANSCRIPT else found(module, field, name))
        ]
        assert [name for name in lacking if events and not reason(name, events[0])] == [], (field.path, events)


@pytest.mark.parametrize("module", MODULES)
def test_a_field_is_listed_once(module):
    """By its path, and every reason is a short sentence."""
    fields = every(module)
    assert len({field.path for field in fields}) == len(fields)
    assert [field.note for field in fields if field.note[-1:] == "." or len(field.note) > 100] == []
