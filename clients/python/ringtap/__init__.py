"""A client of the console of ringtap: searches, calls, their packets and sound, KPIs, and what happens now.

    import ringtap

    with ringtap.Client("https://127.0.0.1:8443", token="rt_...", fingerprint="AB:CD:...") as client:
        frame = client.calls("state:failed -24h").to_frame()

`ringtap.Client` is what is used, `ringtap.models` has the types of all answers, and `ringtap.errors` what goes wrong.
"""

from . import models
from ._frames import to_frame
from ._transport import Events, Stream
from .client import Calls, Client, Kpis
from .errors import (
    Forbidden,
    Incomplete,
    NotFound,
    NotLoggedIn,
    NotPossible,
    Problem,
    RingtapError,
    TooMany,
    Unavailable,
    Unreachable,
    WrongCertificate,
)

__all__ = [
    "Calls",
    "Client",
    "Events",
    "Forbidden",
    "Incomplete",
    "Kpis",
    "NotFound",
    "NotLoggedIn",
    "NotPossible",
    "Problem",
    "RingtapError",
    "Stream",
    "TooMany",
    "Unavailable",
    "Unreachable",
    "WrongCertificate",
    "models",
    "to_frame",
]
