"""The client that people use: `ringtap.Client`."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO, Iterator, Literal

from . import models
from ._frames import calls_frame, kpis_frame
from ._transport import Events, Transport
from .api import Api
from .errors import Incomplete

if TYPE_CHECKING:
    import pandas

By = Literal["total", "trunk", "trunk_in", "trunk_out", "direction", "codec", "device", "prefix", "code"]
Every = Literal["minute", "hour", "day"]
Target = str | os.PathLike[str] | BinaryIO


class Client(Api):
    """A console of ringtap, asked with a token.

        with ringtap.Client("https://tap.example.org:8443", "rt_...", fingerprint="AB:CD:...") as client:
            for call in client.calls("from:*123 loss>2"):
                print(call.from_user, call.mos)

    The token may be left to the environment, `RINGTAP_TOKEN`. `fingerprint` is the SHA-256 fingerprint of the
    certificate that the console made for itself (`openssl x509 -in certificate.pem -noout -fingerprint
    -sha256`): the client talks to nobody else. `ca_file` trusts a certificate by a file; without either, the
    system decides. `zone` is that of times in searches, such as Europe/Berlin; `timeout`, in seconds, how long
    each piece of an answer may take.

    Requests that fail raise `ringtap.RingtapError`: a `ringtap.Problem` where the console says why. A client
    may be used by several threads at once.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        fingerprint: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        zone: str = "UTC",
        timeout: float = 60,
    ) -> None:
        token = token or os.environ.get("RINGTAP_TOKEN")
        super().__init__(
            Transport(url, token=token, fingerprint=fingerprint, ca_file=ca_file, timeout=timeout)
        )
        self.zone = zone

    def close(self) -> None:
        """Closes its connections. It can be asked again."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def calls(self, q: str = "", *, sort: str | None = None, limit: int | None = None) -> Calls:
        """The calls of a search (docs/manual/search.md), page by page as they are read.

        `limit`: most calls; all of them without it. With `sort`, such as "-mosworst", there are 1,000 at most.
        """
        return Calls(self, q, sort, limit)

    def call(self, id: str | models.Call) -> models.CallDetails:
        """One call: its record, its legs and streams, and what happened in sentences."""
        return self.show_call(_id(id))

    def legs(self, id: str | models.Call) -> list[models.Call]:
        """The legs of the conversation that a call belongs to, the call itself among them."""
        return self.call(id).legs

    def ladder(self, id: str | models.Call) -> models.Ladder:
        """The messages of a call and its legs."""
        return self.show_ladder(_id(id))

    def pcap(self, id: str | models.Call, to: Target) -> int:
        """Saves the packets of a call as pcapng, and says how many bytes they are."""
        return self.download_packets(_id(id)).save(to)

    def wav(self, id: str | models.Call, to: Target) -> int:
        """Saves the sound of a call, the caller left and the callee right, and says how many bytes it is."""
        return self.download_sound(_id(id)).save(to)

    def svg(self, id: str | models.Call, to: Target) -> int:
        """Saves the ladder of a call as a picture."""
        return self.draw_ladder(_id(id)).save(to)

    def export(self, q: str, to: Target, format: Literal["csv", "jsonl", "parquet"] = "csv") -> int:
        """Saves all calls of a search as CSV, JSON lines or Parquet, while they are found."""
        return self.export_calls(q=q, format=format, zone=self.zone).save(to)

    def summary(self, q: str = "", facets: str | None = None) -> models.CallSummary:
        """What all calls of a search are: counts, KPIs, and the values of fields, such as "state,codec"."""
        return self.summarise_calls(q=q, facets=facets, zone=self.zone)

    def why(self, q: str, base: str | None = None) -> models.Why:
        """What distinguishes the calls of a search from the others of their time, or from those of `base`."""
        return self.why_these(q=q, base=base, zone=self.zone)

    def kpis(
        self,
        by: By = "total",
        *,
        every: Every | None = None,
        from_us: int | None = None,
        until_us: int | None = None,
        figures: str | None = None,
    ) -> Kpis:
        """KPIs by trunk, codec, ..., with `every` over time as well. `figures`: their names, with commas."""
        table = self.list_kpis(by=by, every=every, from_us=from_us, until_us=until_us, figures=figures)
        return Kpis(definitions=table.definitions, groups=table.groups, scoped=table.scoped)

    def live(self) -> Events[models.LiveState]:
        """What happens now, every second until it is closed: `for state in client.live()`."""
        return self.watch_live()


class Calls:
    """The calls of a search. Each loop over them searches anew; `coverage` is that of the last page read."""

    def __init__(self, client: Client, q: str, sort: str | None, limit: int | None) -> None:
        self._client = client
        self._asked = {"q": q, "sort": sort, "zone": client.zone}
        self._sort, self._limit = sort, limit
        self.understood: str | None = None
        """The search in words, once a page was read."""
        self.coverage: models.Coverage | None = None
        """What was searched. Where `complete` is false after the last call, the time limit was reached."""

    def __iter__(self) -> Iterator[models.Call]:
        for call in self._plain():
            yield models.Call.from_json(call)

    def first(self) -> models.Call | None:
        """The first of them; None where there is none."""
        return next(iter(Calls(self._client, self._asked["q"] or "", self._sort, 1)), None)

    def to_frame(self) -> pandas.DataFrame:
        """One row a call, its columns named as in docs/manual/records.md. Columns `_us` are times in UTC."""
        frame = calls_frame(list(self._plain()))
        frame.attrs["understood"], frame.attrs["coverage"] = self.understood, self.coverage
        return frame

    def _plain(self) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        left = self._limit
        while left is None or left > 0:
            most = PAGE if left is None else min(left, PAGE)
            page = self._client._transport.plain(
                "GET", "/api/v1/calls", query={**self._asked, "cursor": cursor, "limit": most}
            )
            self.understood = page["understood"]
            self.coverage = coverage = models.Coverage.from_json(page["coverage"])
            yield from page["calls"]
            cursor = page.get("next")
            if cursor is None:
                break
            left = None if left is None else left - len(page["calls"])
        else:
            return
        if not coverage.complete and self._sort is None:
            warnings.warn(
                f"these are not all calls: {coverage.days_searched} of {coverage.days} days were searched "
                f"({coverage.reason})",
                Incomplete,
                stacklevel=3,
            )


class Kpis(models.KpiTable):
    """KPIs by group and over time."""

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """One row a group, or a group and period: `dimension`, `name`, `attempts`, and a column a figure."""
        return kpis_frame(self)


def _id(call: str | models.Call) -> str:
    return call if isinstance(call, str) else call.id


#: Calls of one request: as many as the console answers.
PAGE = 1000
