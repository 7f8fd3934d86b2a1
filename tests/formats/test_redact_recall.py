"""How many secrets are found, and how much harmless text is not left alone: measured with generated samples."""

from collections import Counter, defaultdict

import pytest

from katod.formats.redact import redact

from .secrets import Sample, harmless, secrets

# The share of the samples of each group that has to be found, and of harmless texts that may be changed.
BARS = {"shape": 0.97, "named by a vendor": 0.97, "terminal": 0.9}
MOST_CHANGED = 0.01


def is_found(sample: Sample) -> bool:
    """Return whether the secret is replaced to its end."""
    done = redact(sample.text)
    return "[REDACTED:" in done and sample.secret[-8:] not in done


def measure(samples: list[Sample]) -> None:
    """Print how many secrets of each group are found, and compare with the bars."""
    total = Counter(sample.group for sample in samples)
    found = Counter(sample.group for sample in samples if is_found(sample))
    for group, number in total.items():
        print(f"{group}: {found[group]} of {number} found ({found[group] / number:.1%})")
    assert {group for group in total if found[group] < BARS[group] * total[group]} == set()


@pytest.mark.fault("secrets")
def test_one_secret_of_each_kind_is_found():
    """Of each kind, one secret in one place is found."""
    first = {sample.kind: sample for sample in secrets()}
    assert set(Counter(sample.group for sample in first.values())) == set(BARS)
    measure(list(first.values()))


def test_harmless_text_stays():
    """Hashes, ids, code, templates, paths and minified files are unchanged; hardly any is taken for a secret."""
    samples = list({sample.kind: sample for sample in harmless()}.values())
    changed = [sample.text for sample in samples if redact(sample.text) is not sample.text]
    assert len(changed) <= MOST_CHANGED * len(samples), changed


@pytest.mark.slow
def test_most_secrets_are_found_wherever_they_are():
    """Of over 1,000 secrets of 200 kinds, each in several places, the bars are reached, for every kind as well."""
    samples = [sample for seed in (1, 7) for sample in secrets(seed)]
    by_kind = defaultdict(list)
    for sample in samples:
        by_kind[sample.kind].append(is_found(sample))
    print(f"{len(samples)} secrets of {len(by_kind)} kinds")
    assert (len(samples) >= 1000, len(by_kind) >= 200) == (True, True)
    measure(samples)
    found = [kind for kind, results in by_kind.items() if sum(results) >= 0.8 * len(results)]
    print(f"{len(found)} kinds found in 80 % of their places or more")
    assert len(found) >= 0.97 * len(by_kind)


@pytest.mark.slow
def test_hardly_any_harmless_text_is_changed():
    """Of over 500 texts that look like secrets, at most one in a hundred is changed."""
    samples = [sample for seed in (2, 8) for sample in harmless(seed)]
    changed = [sample.text for sample in samples if redact(sample.text) is not sample.text]
    print(f"{len(changed)} of {len(samples)} harmless texts changed: {changed}")
    assert len(samples) >= 500
    assert len(changed) <= MOST_CHANGED * len(samples)
