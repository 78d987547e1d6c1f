"""The client of Onceguard's decision service: an operation that arrives again takes effect once."""

from .calls import Claim, Run, Settled
from .client import Client, running
from .errors import (AnswerNotKept, BackingOff, BadCall, BodyTooLarge, Busy, Mismatch, NotDone,
                     OnceguardError, OutcomeUnknown, Overloaded, Refused, Rejected, ServiceAway,
                     StoreFailed, TryLater)
from .messages import Answer

__version__ = "0.2.0"
__all__ = ["Answer", "AnswerNotKept", "BackingOff", "BadCall", "BodyTooLarge", "Busy", "Claim",
           "Client", "Mismatch", "NotDone", "OnceguardError", "OutcomeUnknown", "Overloaded",
           "Refused", "Rejected", "Run", "ServiceAway", "Settled", "StoreFailed", "TryLater",
           "running"]
