"""How long, how often and how much: the limits of reading a running cluster, all in seconds, objects or bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of one connection to an API server.

    `connect` and `read` bound one wait for the network, `overall` a whole reading of the cluster. A request is tried
    `attempts` times; between them lies a random part of `backoff_first`, doubled each time up to `backoff_most`, or
    what the server's Retry-After asks for, up to `retry_after_most`. `page` is the number of objects in one answer
    (kubectl takes 500 as well), `body` the most bytes of one answer. A watch is renewed after `watch` seconds, and
    resumed when nothing came for `idle`, so that a connection that died without a word is noticed. An API server sends
    a bookmark a minute, which must come in between: it moves the version of a quiet kind, which the server would
    forget otherwise. A watch on which nothing moved for `quiet` seconds and that is cut then is resumed without a word:
    load balancers do that. A kind that may not be watched is requested again after `barred`: rights come back, and a
    server just begun does not know them yet. Credentials that are refused are requested again (plug-ins are run) after
    `renew`, and the first time at once. Topology objects of Kueue and KAI are not watched but read again after
    `topologies`. Each kind is listed again after `relist` although events come: a restored etcd sends none.
    """

    connect: float = 10.0
    read: float = 30.0
    overall: float = 300.0
    attempts: int = 8
    backoff_first: float = 0.5
    backoff_most: float = 10.0
    retry_after_most: float = 60.0
    page: int = 500
    body: int = 2**30
    watch: float = 300.0
    idle: float = 75.0
    quiet: float = 25.0
    barred: float = 30.0
    renew: float = 60.0
    topologies: float = 60.0
    relist: float = 600.0

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Return the pause after a failed attempt (from 0): the server's wish, or the doubled base with jitter."""
        if retry_after is not None:
            return min(retry_after, self.retry_after_most)
        longest = min(self.backoff_first * 2.0 ** min(attempt, 16), self.backoff_most)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  jitter, no secret
