"""The items of sets of gangs: whole gangs, or slices of gangs in wider domains; and the rows that they are in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dra_lab.model.gang import DOMAINS, GANGS, LEVELS
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.goal_values import priority_of
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, Path
from dra_lab.planner.gangs.problem import GangProblem, fewest, fewest_domains

REGIONS = "regions"
"""Not a goal, but never more than `levels`: gangs in one region each, and regions with pods of other gangs."""


@dataclass(frozen=True)
class SetItem:
    """What a set counts: gangs alike with all pods in one region, or parts of gangs in a wider domain.

    `need` is the number of the gangs, -1 for parts: slices, single pods, or all pods that a gang has in a region.
    `tiers` are those of which a region must have a domain; the first is the required one. `least` and `most` are the
    pods of one. `preferred` says that they are single pods of gangs that use several domains of the level that they
    prefer.
    """

    need: int
    tiers: tuple[int, ...]
    least: Counts
    most: Counts
    preferred: bool = False


Split = tuple[tuple[tuple[int, int], ...], ...]
"""How a gang is split: for each group, the items and their numbers."""


@dataclass(frozen=True)
class Extra:
    """How many gangs of a need are split in a way in a domain, or, without a need, whether such a domain is used.

    `entries` are its factors in the rows, and `costs` its goals.
    """

    need: int
    domain: tuple[int, Path]
    split: Split
    most: int
    entries: Mapping[int, int]
    costs: Mapping[str, int]


def is_single(problem: GangProblem, tier: int) -> bool:
    """Say whether every domain of a tier is one region."""
    return all(len(regions) == 1 for regions in problem.inside[tier].values())


def may_be_split(problem: GangProblem, need: GangNeed) -> bool:
    """Say whether gangs are whole in one region of the level that they prefer, or else have pods in several."""
    group, regions = need.groups[0], [one for mine in problem.inside[need.required].values() for one in mine]
    plain = len(need.groups) == 1 and not group.slices and group.required < 0 and group.least == group.most
    inside = need.preferred >= 0 > group.preferred and is_single(problem, need.preferred)
    return plain and inside and all(problem.domain(need.preferred, region) is not None for region in regions)


class SetItems:
    """Items, the rows of the model of sets, (limit, whether it is kept exactly), and its extra columns.

    `splits` has for gangs in wider domains the ways to split them. Gangs that differ in nothing but their numbers are
    counted together, at the first of them: `members` has all of them, and `first` the first of each. `wide` are the
    tiers of which these gangs have domains. With `in_two`, a gang that may be split is in one region if any holds it,
    and in two if any two hold it: its parts are then all its pods there.
    """

    def __init__(self, problem: GangProblem, *, in_two: bool) -> None:
        """List all of them."""
        self.problem, self.needs, self.in_two = problem, problem.needs.gangs, in_two
        self.items: list[SetItem] = []
        self.splits: dict[int, list[Split]] = {}
        self.members: dict[int, list[int]] = {}
        self.first: list[int] = []
        self.rows: list[tuple[int, bool]] = []
        self.extras: list[Extra] = []
        self._row_of: dict[tuple[int, Path | None], int] = {}
        self._used: dict[tuple[int, Path], dict[int, int]] = {}
        self._list_items()
        self.wide = sorted({self.needs[number].required for number in self.splits} - {WHOLE})
        self._lay_out()

    def _list_items(self) -> None:
        """List whole gangs, and the parts of the others."""
        known: dict[GangNeed, int] = {}
        for at, need in enumerate(self.needs):
            self.first.append(known.setdefault(replace(need, gangs=()), at))
            self.members.setdefault(self.first[at], []).extend([at] * need.copies)
            if self.first[at] == at:
                self._list_need(at, need)

    def _list_need(self, at: int, need: GangNeed) -> None:
        single, split = is_single(self.problem, need.required), may_be_split(self.problem, need)
        domains = fewest_domains(self.problem, need, need.preferred, [0]) if split and self.in_two else 0
        if single or (split and domains < 2):
            least = self._counts((group.kind, group.least) for group in need.groups)
            most = self._counts((group.kind, group.most) for group in need.groups)
            self.items.append(SetItem(at, (need.required,), least, most))
        if not single:
            self.splits[at] = []
        if not single and domains != 1:
            self.splits[at] = list(self._in_pairs(need) if domains == 2 else self._in_slices(need))

    def _in_slices(self, need: GangNeed) -> Iterator[Split]:
        """Yield the one way to split a gang into slices, or into single pods."""
        split, found = may_be_split(self.problem, need), []
        for group in need.groups:
            size, *tiers = group.slices[0] if group.slices else (1,)
            tiers = [need.required, *([need.preferred] if split else tiers)]
            part = self._part(tiers, group.kind, size, preferred=split)
            found.append(((part, group.most // size),))
        yield tuple(found)

    def _in_pairs(self, need: GangNeed) -> Iterator[Split]:
        """Yield the ways to split a gang in two: fewer pods in one region, more in the other."""
        group, regions = need.groups[0], [one for mine in self.problem.inside[need.required].values() for one in mine]
        most = max(self.problem.capacity[region][group.kind] for region in regions)
        for fewer in range(group.most - most, group.most // 2 + 1):
            sizes = Counter([fewer, group.most - fewer])
            tiers = [need.required, need.preferred]
            parts = ((self._part(tiers, group.kind, size), times) for size, times in sizes.items())
            yield (tuple(sorted(parts)),)

    def _part(self, tiers: Iterable[int], kind: int, size: int, *, preferred: bool = False) -> int:
        """Return the number of the item of some pods of gangs, which is added if it is not known."""
        pods = self._counts([(kind, size)])
        item = SetItem(-1, tuple(tiers), pods, pods, preferred)
        if item not in self.items:
            self.items.append(item)
        return self.items.index(item)

    def _counts(self, pods: Iterable[tuple[int, int]]) -> Counts:
        found = [0] * self.problem.kinds
        for kind, size in pods:
            found[kind] += size
        return tuple(found)

    def _lay_out(self) -> None:
        """List the rows and the extra columns of gangs that are split."""
        for at, item in enumerate(self.items):
            if item.need >= 0:
                self._row_of[at, None] = len(self.rows)
                self.rows.append((len(self.members[item.need]), False))
                continue
            for path in self.problem.inside[item.tiers[0]]:
                self._row_of[at, path] = len(self.rows)
                self.rows.append((0, True))
        for number, splits in self.splits.items():
            need = self.needs[number]
            whole = [at for at, item in enumerate(self.items) if item.need == number]
            gangs = self._row_of[whole[0], None] if whole else len(self.rows)
            self.rows += [] if whole else [(len(self.members[number]), False)]
            for path in self.problem.inside[need.required] if splits else ():
                entries = Counter({gangs: 1})
                if need.required != WHOLE:
                    domain = self.problem.needs.counted(need.required, path)
                    entries[len(self.rows)] = 1
                    self._used.setdefault(domain, {})[len(self.rows)] = len(self.members[number])
                    self.rows.append((0, False))
                self.extras += (self._split(number, path, split, entries) for split in splits)

    def link(self, classes: Iterable[Sequence[int]]) -> list[list[int]]:
        """Add the columns of the domains that are used, and rows: only there, the regions of classes have gangs.

        The row of each class and each of `wide` is returned, -1 for none.
        """
        links = []
        for regions in classes:
            links.append([-1] * len(self.wide))
            for at, tier in enumerate(self.wide):
                path = self.problem.domain(tier, regions[0])
                if path is not None:
                    links[-1][at] = len(self.rows)
                    self._used.setdefault(self.problem.needs.counted(tier, path), {})[len(self.rows)] = len(regions)
                    self.rows.append((0, False))
        for domain, rows in self._used.items():
            self.extras.append(Extra(-1, domain, (), 1, {row: -most for row, most in rows.items()}, {DOMAINS: 1}))
        return links

    def _split(self, number: int, path: Path, split: Split, entries: Mapping[int, int]) -> Extra:
        """Return the column of gangs that are split in a way in a domain."""
        need = self.needs[number]
        factors = Counter(entries)
        for part, count in (one for group in split for one in group):
            factors[self._row_of[part, path]] += count
        costs = {self._gangs_goal(need.priority): -1, LEVELS: len(need.preferences), REGIONS: len(need.preferences)}
        if may_be_split(self.problem, need):
            group, regions = need.groups[0], self.problem.inside[need.required][path]
            sizes = [self.problem.capacity[region][group.kind] for region in regions]
            costs[LEVELS] = max(2, fewest(sizes, group.least))
            # The regions with single pods are counted instead.
            costs[REGIONS] = 0 if any(self.items[part].preferred for part, _ in split[0]) else 2
        return Extra(number, (need.required, path), split, len(self.members[number]), factors, costs)

    def _gangs_goal(self, priority: int) -> str:
        names = (goal for goal in self.problem.order if priority_of(goal, self.problem.needs) == (GANGS, priority))
        return next(names)

    def row(self, at: int, region: int) -> int:
        """Return the row of an item in a region, -1 if it may not be there."""
        item = self.items[at]
        if any(self.problem.domain(tier, region) is None for tier in item.tiers):
            return -1
        return self._row_of[at, None if item.need >= 0 else self.problem.domain(item.tiers[0], region)]

    def copies(self) -> list[int]:
        """Return how many of each item are wanted in all."""
        found = [len(self.members[item.need]) if item.need >= 0 else 0 for item in self.items]
        for number, splits in self.splits.items():
            most = Counter[int]()
            for split in splits:
                most |= Counter(dict(one for group in split for one in group))
            for item, count in most.items():
                found[item] += count * len(self.members[number])
        return found
