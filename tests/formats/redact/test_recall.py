"""How many secrets are found, and how much harmless text is not left alone: measured with texts written without the rules."""

from collections import Counter, defaultdict

import pytest

from katod.formats.redact.redactor import redact

from .foreign import APART, Case, cases, harmless, pieces

# The share of the cases of each group that has to be found, and of harmless texts that may be changed.
BARS = {"gitleaks": 0.99, "other": 0.99, "weak": 0.8, "password": 0.97}
MOST_CHANGED = 0.005
LEFT = 2 / 3  # of a piece of a secret; if more is left, it was not found


def is_found(case: Case) -> bool:
    """Return whether nothing of the secret is left, nor most of a part of it."""
    done = redact(case.text)
    return "[REDACTED:" in done and not any(_is_left(piece, done) for piece in pieces(case.secret) or [case.secret])


def _is_left(piece: str, done: str) -> bool:
    size = max(8, int(len(piece) * LEFT)) if len(piece) >= 12 else len(piece)
    return any(piece[start : start + size] in done for start in range(len(piece) - size + 1))


def measure(samples: list[Case]) -> None:
    """Print how many secrets of each group are found, and compare with the bars."""
    total, found, missed = Counter(), Counter(), defaultdict(list)
    for case in samples:
        total[case.group] += 1
        if is_found(case):
            found[case.group] += 1
        else:
            missed[case.group].append(f"{case.kind}: {case.text[:160]}")
    for group, number in total.items():
        print(f"{group}: {found[group]} of {number} found ({found[group] / number:.1%})")
    below = [group for group in total if found[group] < BARS[group] * total[group]]
    assert not below, [missed[group] for group in below]
    assert total.keys() == BARS.keys()


@pytest.mark.slow
@pytest.mark.fault("secrets")
def test_one_secret_of_each_kind_is_found():
    """Of each kind of secret and each form of passwords, one in one place is found, as far as the bars say."""
    measure(list(cases(per_kind=1)))


def test_harmless_text_stays():
    """Hashes, ids, code, templates, paths and examples are unchanged; hardly any is taken for a secret."""
    samples = [sample for sample in harmless() if sample.kind not in APART]
    changed = [sample for sample in samples if redact(sample.text) is not sample.text]
    print(f"{len(changed)} of {len(samples)} harmless texts changed: {changed}")
    assert len(samples) >= 800
    assert len(changed) <= MOST_CHANGED * len(samples), changed


@pytest.mark.slow
def test_most_secrets_are_found_wherever_they_are():
    """Of over 10,000 secrets of over 600 kinds and forms, each in several places, the bars are reached."""
    samples = [case for seed in (1, 2, 3) for case in cases(seed)]
    by_kind = defaultdict(list)
    for case in samples:
        by_kind[case.kind].append(is_found(case))
    print(f"{len(samples)} secrets of {len(by_kind)} kinds and forms")
    assert (len(samples) >= 10_000, len(by_kind) >= 600) == (True, True)
    measure(samples)
    found = [kind for kind, results in by_kind.items() if sum(results) >= 0.9 * len(results)]
    print(f"{len(found)} kinds and forms found in 90 % of their places or more")
    assert len(found) >= 0.95 * len(by_kind)


@pytest.mark.slow
def test_hardly_any_harmless_text_is_changed():
    """With other random values, hardly any harmless text is changed; few published samples are."""
    samples = [sample for seed in (2, 3, 4) for sample in harmless(seed)]
    changed = Counter(sample.kind for sample in samples if redact(sample.text) is not sample.text)
    apart = sum(changed.pop(kind, 0) for kind in APART)
    print(f"{changed.total()} of {len(samples)} harmless texts changed, and {apart} that are counted apart: {changed}")
    assert changed.total() <= MOST_CHANGED * len(samples)
