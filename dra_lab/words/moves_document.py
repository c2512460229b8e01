"""Running pods that leave or move: the sentence, the table, and the steps for a person to carry out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote

from dra_lab.findings import sentence_case
from dra_lab.model.plan import Plan
from dra_lab.model.running import NO_OWNER, Move
from dra_lab.model.running_pods import Unit
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import Item, Lines, Part, Sentence, Table, Words, as_markdown, printable
from dra_lab.words.facts import counted, sentence


def moves_sentence(plan: Plan) -> str:
    """Return what happens to running pods, those without a place first; "" if none leaves or moves."""
    drained = [move for move in plan.moves if move.drained]
    others = [move for move in plan.moves if not move.drained]
    return " ".join(filter(None, (drained_sentence(drained), _room(plan, others))))


def drained_sentence(moves: Sequence[Move]) -> str:
    """Return where pods of drained nodes go, those without a place by name; "" without a move."""
    if not moves:
        return ""
    nodes = sorted({move.node_from for move in moves if move.node_from})
    leave = "leaves" if len(moves) == 1 else "leave"
    return places_sentence(f"{counted(len(moves), 'pod')} {leave} {listed(nodes) or 'the node'}", moves)


def places_sentence(first: str, moves: Sequence[Move]) -> str:
    """Return the beginning of a sentence with where the pods of some moves fit, and which have no place."""
    lost = [move for move in moves if not move.node_to]
    if not lost:
        where = f"on {moves[0].node_to}" if len(moves) == 1 else "elsewhere"
        return f"{first}; {'it fits' if len(moves) == 1 else 'all of them fit'} {where}."
    fit = f"; {len(moves) - len(lost)} of them {'fits' if len(moves) - len(lost) == 1 else 'fit'} elsewhere"
    fit = fit if len(lost) < len(moves) else ""
    why = Counter(move.why for move in lost)
    named = {reason: some([move.pod for move in lost if move.why == reason]) for reason in why}
    parts = [f"{named[reason]} {_has_no_place(reason, count)}" for reason, count in why.items()]
    return f"{first}{fit}. {' '.join(sentence(part) for part in parts)}"


def _has_no_place(reason: str, count: int) -> str:
    if reason == NO_OWNER:
        return f"will not come back by itself: {reason}" if count == 1 else "have no owner and will not come back"
    return f"{'has' if count == 1 else 'have'} no place: {reason[:1].lower()}{reason[1:]}"


def _room(plan: Plan, moves: Sequence[Move]) -> str:
    if not moves and plan.movable is not None and not plan.fits:
        may = counted(plan.movable, "running pod")
        return f"No move makes room: {may} may move." if plan.movable else "No running pod may move to make room."
    if not moves:
        return ""
    named = some([str(move) for move in moves])
    verb = "moves" if len(moves) == 1 else "move"
    placed, wanted = sum(plan.placed.values()), plan.replicas
    what = "it fits" if placed == wanted else f"{placed:,} of {wanted:,} replicas fit"
    first = f"If {counted(len(moves), 'pod')} {verb}, {what}: {named}."
    if worse := sum(bool(move.worse) for move in moves):
        first = f"{first} {worse:,} of them {'ends' if worse == 1 else 'end'} worse aligned."
    if plan.least_moves is None:
        return first
    if plan.least_moves >= len(moves):
        return f"{first} No fewer moves make room."
    return f"{first} At least {counted(plan.least_moves, 'pod')} must move."


def moves_table(moves: Sequence[Move]) -> Table:
    """Return the moves in the order in which they can be carried out."""
    rows = [
        (
            number,
            move.pod,
            move.node_from,
            move.node_to or "none",
            some([placed.device.device for placed in move.devices]) if move.devices else "",
            "; ".join(([move.why] if move.why else []) + _notes(move)),
        )
        for number, move in enumerate(moves, start=1)
    ]
    title = "Running pods that leave" if all(move.drained for move in moves) else "Running pods that move, in order"
    return Table(("Step", "Pod", "From", "To", "Devices there", "To know"), rows, title if rows else "")


def _notes(move: Move) -> list[str]:
    first = ["it stops first and starts last of its circle"] if move.stops_first else []
    worse = [f"worse aligned: {move.worse}"] if move.worse else []
    return [*first, *worse, *move.notes]


def move_steps(moves: Sequence[Move]) -> Iterator[str]:
    """Yield what each step does, in a few words; a pod that has no place is no step."""
    for move in moves:
        if move.node_to:
            where = f"to other devices of {move.node_to}" if move.node_from == move.node_to else f"to {move.node_to}"
            yield f"Move {move.pod} from {move.node_from} {where}"


def steps_markdown(plan: Plan) -> str:
    """Return the moves as steps for a person, with kubectl lines that ask the server and change nothing."""
    moves = [move for move in plan.moves if move.node_to]
    first = [move for move in moves if move.stops_first]
    steps = [
        Item(f"Stop {move.pod} for now, because another pod needs its devices.", code=_commands(move)) for move in first
    ]
    for move, step in zip(moves, move_steps(moves), strict=True):
        worse = [f"worse aligned: {move.worse}"] if move.worse else []
        known = " ".join(sentence(sentence_case(note)) for note in (*worse, *move.notes))
        code = [] if move in first else _commands(move)
        steps.append(Item(f"{step}, and wait until it runs.", known, code=code))
    parts: list[Part] = [
        Sentence(moves_sentence(plan)),
        Words(
            "Nothing was carried out. kube-scheduler gives a pod the first devices that pass. So a pod that is evicted "
            "may return to the devices that were just freed. Cordon the node before, and uncordon it when the new "
            "pods run. A Deployment that surges starts its new pod before it stops the old one, so scale "
            "it down first. CPUs, memory and volumes of the new node are compared where they are known."
        ),
        moves_table(plan.moves),
        Lines("Steps", steps),
    ]
    return as_markdown(parts)


def _commands(move: Move) -> list[str]:
    namespace, _, name = move.pod.partition("/")
    return [
        printable(f"kubectl cordon {quote(move.node_from)} --dry-run=server"),
        printable(f"kubectl delete pod {quote(name)} --namespace {quote(namespace)} --dry-run=server"),
    ]


def step_lines(move: Move) -> tuple[str, ...]:
    """Return what to know of a move: the devices that the pod gets, then its notes."""
    devices = some([placed.device.device for placed in move.devices])
    lines = [f"it gets {devices}"] if devices else []
    lines += [_has_no_place(move.why, 1)] if move.why else []
    return tuple(printable(sentence(sentence_case(line))) for line in (*lines, *_notes(move)))


def cordon_words(moves: Sequence[Move]) -> str:
    """Return which nodes to cordon before pods move, and why; "" if all of them are drained anyway."""
    nodes = sorted({move.node_from for move in moves if move.node_to and not move.drained})
    freed = "a pod that is evicted may return to the devices that were just freed"
    return f"Cordon {listed(nodes)} first, because {freed}. Uncordon when the new pods run." if nodes else ""


def staying_lines(units: Sequence[Unit]) -> tuple[str, ...]:
    """Return how many running pods may move, and what is so about the others, most pods first."""
    pods = sum(len(unit.pods) for unit in units)
    stays: Counter[str] = Counter()
    for unit in units:
        if unit.stays:
            stays[unit.stays] += len(unit.pods)
    first = f"{pods - stays.total():,} of {counted(pods, 'running pod')} may move."
    return (first, *(f"{counted(count, 'pod')} {reason} may not move." for reason, count in stays.most_common()))
