"""The table of prices inside the package `genai-prices`, if that is installed, or in a file. Nothing is downloaded."""

import re
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import orjson

from katod.errors import PricesError, with_extra
from katod.formats.text.when import utc
from katod.smallfile import read_small
from katod.usage.cells import STEPS
from katod.usage.pricing import EXTRA, ModelRates, NoPrices, PriceSteps, PriceTable

PACKAGE: Final = "genai-prices"
_LARGEST: Final = 64 * 1024 * 1024  # bytes
_FREE: Final = re.compile(r"[-:]free\Z")  # the same model without a price, which the table may take for that with one


def open_table(source: str) -> PriceTable:
    """Return the prices that the configuration names: those of the installed package, of a file, or none.

    Raises PricesError if it is a file that cannot be read.
    """
    if source == "none":
        return NoPrices()
    if source != "auto":
        return FilePrices(Path(source).expanduser())
    try:
        return InstalledPrices(version(PACKAGE))
    except PackageNotFoundError:
        return NoPrices()


class InstalledPrices:
    """The prices of the installed package, which is loaded when the first one is asked for."""

    def __init__(self, number: str) -> None:
        self.label = f"{PACKAGE} {number}"
        self._known: dict[tuple[str, int], ModelRates | None] = {}

    def rates(self, model: str, day: int) -> ModelRates | None:
        """Return the prices of a model at noon (UTC) of a day, None if the table has none for it."""
        if (model, day) not in self._known:
            self._known[model, day] = self._looked_up(model, noon(day))
        return self._known[model, day]

    def _looked_up(self, model: str, when: datetime) -> ModelRates | None:
        return _rates(_package().data_snapshot.get_snapshot(), model, when)


class FilePrices(InstalledPrices):
    """The prices in a file of the package's own form. Raises PricesError if it cannot be read.

    A model whose prices change at another size of the prompt than those of `STEPS` has none: answers are summed up
    between these.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("")
        try:
            self._snapshot = _snapshot(read_small(path, _LARGEST))
            changed = utc(path.stat().st_mtime)[:10]
        except ImportError:
            raise PricesError(
                "a file with prices needs genai-prices, which is not installed", hint=with_extra(EXTRA)
            ) from None
        except OSError as error:
            raise PricesError(f"{path}: {error.strerror}") from error
        except Exception as error:  # whatever the package finds wrong with it
            raise PricesError(f"{path} has no prices in the JSON of {PACKAGE}") from error
        self.label = f"{path.name} of {changed}"

    def _looked_up(self, model: str, when: datetime) -> ModelRates | None:
        found = _rates(self._snapshot, model, when)
        steps = [one for one in found or () if one is not None]
        return found if all(start in STEPS for one in steps for start, _ in one.tiers) else None


def noon(day: int) -> datetime:
    """Return the time at which prices are asked for: some of them depend on the hour."""
    return datetime.combine(date.fromordinal(day), time(12), UTC)


def _rates(snapshot: Any, model: str, when: datetime) -> ModelRates | None:
    usage = _package().Usage(input_tokens=0, output_tokens=0)
    try:
        found = snapshot.calc(usage, model, None, None, when)
    except (LookupError, ValueError):
        return None
    price = found.model_price
    given, made = _steps(price.input_mtok), _steps(price.output_mtok)
    if given is None or made is None or (given.base and _FREE.search(model)):
        return None
    written = _steps(price.cache_write_mtok) or given
    return ModelRates(
        given,
        made,
        _steps(price.cache_read_mtok) or given,
        written,
        _steps(price.cache_write_1h_mtok) or written,
        _steps(price.output_reasoning_mtok),
    )


def _snapshot(data: bytes) -> Any:
    """Return the prices in the JSON of the package, which has no public function for a file."""
    package, providers = _package(), orjson.loads(data)
    if not isinstance(providers, list) or not providers:
        raise ValueError("not a list of providers")
    return package.data_snapshot.DataSnapshot(package.types._providers_from_raw(providers), from_auto_update=False)  # noqa: SLF001


@cache
def _package() -> Any:
    import genai_prices  # noqa: PLC0415 - an extra, and slow to load

    return genai_prices


def _steps(price: Any) -> PriceSteps | None:
    """Return a price of the package, which is a decimal number or has tiers."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return PriceSteps(float(price))
    return PriceSteps(float(price.base), tuple((tier.start, float(tier.price)) for tier in tiers))
