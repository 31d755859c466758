"""Building blocks, one family a folder; models take them through the ``One*`` wrappers."""

from .embedding.oneembedding import OneEmbedding
from .fuser.onefuser import OneFuser
from .recovery.onerecovery import OneRecovery
from .sample.onesample import OneSample

__all__ = ["OneEmbedding", "OneFuser", "OneRecovery", "OneSample"]
