"""What a queue may still use, by its definition in words, on small random trees of Cohorts."""

from __future__ import annotations

import random

from dra_lab.scheduler.kueue.quota import CohortQuota, QueueQuota, Quota, QuotaTree

WHAT = ("h100", "gpu")


def tree(draw):
    """Random queues and Cohorts: (queues, Cohorts), each Cohort below one before it or below none."""
    names = [f"cohort-{number}" for number in range(draw.randint(0, 3))]

    def quota(parent):
        limits = (draw.choice([None, 0, 1, 3]), draw.choice([None, 0, 1, 3])) if parent else (None, None)
        return {WHAT: Quota(draw.randint(0, 5), *limits)}

    cohorts = []
    for number, name in enumerate(names):
        parent = draw.choice(["", *names[:number]])
        cohorts.append(CohortQuota(name, quota(parent), parent))
    queues = []
    for number in range(draw.randint(1, 4)):
        parent = draw.choice(["", *names])
        queues.append(QueueQuota(f"queue-{number}", quota(parent), parent, {WHAT: draw.randint(0, 4)}))
    return queues, cohorts


class Definition:
    """Usage is allowed if no node takes more than it may from the node above, and no root more than there is."""

    def __init__(self, queues, cohorts, usage):
        self.usage = usage
        self.nodes = {one.name: one for one in (*queues, *cohorts)}

    def below(self, name):
        """The nodes directly below one."""
        return [one for one in self.nodes if self.nodes[one].parent == name]

    def has(self, name):
        """What belongs to a node: its own quota and all that the nodes below may lend."""
        own = self.nodes[name].quotas[WHAT].nominal
        return own + sum(self.has(one) - self.keeps(one) for one in self.below(name))

    def keeps(self, name):
        """What a node never lends."""
        limit = self.nodes[name].quotas[WHAT].lending_limit
        return 0 if limit is None else max(0, self.has(name) - limit)

    def takes(self, name):
        """What a node uses of what belongs to the node above: all beyond what it keeps for itself."""
        return max(0, self.uses(name) - self.keeps(name))

    def uses(self, name):
        """What is used in a queue, or taken by the nodes below a Cohort."""
        return self.usage[name] if name in self.usage else sum(self.takes(one) for one in self.below(name))

    def allowed(self, name):
        """Whether one node takes no more than it may."""
        node = self.nodes[name]
        if not node.parent:
            return self.uses(name) <= self.has(name)
        limit = node.quotas[WHAT].borrowing_limit
        return limit is None or self.takes(name) <= self.has(name) - self.keeps(name) + limit

    def everywhere(self):
        """Whether every node takes no more than it may."""
        return all(map(self.allowed, self.nodes))


def most(queues, cohorts, usage, name):
    """The largest amount that a queue can use more, tried one by one."""
    amount = 0
    while Definition(queues, cohorts, {**usage, name: usage[name] + amount + 1}).everywhere():
        amount += 1
    return amount


def test_available_is_the_most_that_breaks_no_limit():
    """On 400 trees in which nothing uses too much already."""
    draw, compared = random.Random(19), 0
    while compared < 400:
        queues, cohorts = tree(draw)
        usage = {one.name: one.usage[WHAT] for one in queues}
        if not Definition(queues, cohorts, usage).everywhere():
            continue
        compared += 1
        quota = QuotaTree(queues, cohorts)
        found = {name: quota.available(name, WHAT) for name in usage}
        assert found == {name: most(queues, cohorts, usage, name) for name in usage}


def test_potential_is_what_is_available_when_nothing_is_used():
    """The most that a queue can ever use."""
    draw = random.Random(20)
    for _ in range(200):
        queues, cohorts = tree(draw)
        quota, idle = QuotaTree(queues, cohorts), {one.name: 0 for one in queues}
        found = {name: quota.potential(name, WHAT) for name in idle}
        assert found == {name: most(queues, cohorts, idle, name) for name in idle}
        assert found == {name: quota.idle().available(name, WHAT) for name in idle}
