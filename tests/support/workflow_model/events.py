"""What happens to runs beside their workers: people redrive, cancel and pause, deadlines come."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.workflows.graph import Graph, numbers_in
from duecourse.messages import COMMANDS, Cancel, MessageKind, message_about
from tests.support.wait_queue_model import Kept
from tests.support.workflow_model.protocol import Protocol
from tests.support.workflow_model.records import anonymous
from tests.support.workflow_model.values import EARLY, Letter, State, Step, fewer, with_number


@dataclass
class Events:
    """The steps that nobody's message asks for."""

    graph: Graph
    protocol: Protocol
    runs: Kept
    letters: Kept
    _about: dict[tuple[int, MessageKind], int] = field(default_factory=dict)

    def __call__(self, state: State) -> Iterator[Step]:
        """Those that may come next."""
        left = state.left
        for number, record in enumerate(state.records):
            run: Run | None = self.runs.values[record]
            if run is not None and run.state is RunState.DEAD:
                if getattr(left, name := "redrives" if number else "run_redrives"):
                    yield self._posted(state, name, record, MessageKind.REDRIVE)
            elif number and left.step_cancels and self._can_be_cancelled(run):
                yield self._posted(state, "step_cancels", -number, MessageKind.CANCEL)
            elif not number and run is not None and not run.state.final:
                if left.cancels:
                    yield self._posted(state, "cancels", record, MessageKind.CANCEL)
                if left.deadlines and run.state in (RunState.RUNNING, RunState.WAITING):
                    yield self._posted(state, "deadlines", record, MessageKind.DEADLINE)
        if left.returns:
            for place, letter in enumerate(state.dead):
                if not place or state.dead[place - 1] != letter:
                    back: Letter = self.letters.values[letter]
                    after = fewer(state, "returns")
                    lane = with_number(state.lane, self.letters.of(back._replace(moved=back.moved + 1)))
                    dead = state.dead[:place] + state.dead[place + 1 :]
                    yield ("back from the dead letters:", back), after._replace(lane=lane, dead=dead)
        if left.pauses:
            for number in range(len(self.graph.steps)):
                yield ("paused:", number), fewer(state, "pauses")._replace(paused=state.paused | 1 << number)
        for number in numbers_in(state.paused):
            yield ("resumed:", number), state._replace(paused=state.paused & ~(1 << number))

    def _can_be_cancelled(self, run: Run | None) -> bool:
        """Whether the API would send a cancellation. It does not know an item of a list that has no record: it is not
        in a queue before other items have ended.
        """
        if run is None:
            return self.graph.items is None
        return not run.state.final

    def _posted(self, state: State, takes: str, record: int, kind: MessageKind) -> Step:
        """Somebody sends a message about a run, by its record; by the step's (-1 for the first) where it has none."""
        if (record, kind) not in self._about:
            if record < 0:
                (message,) = self.protocol.messages.cancellations([-record - 1])
            else:
                message = message_about(anonymous(self.runs.values[record]), COMMANDS[kind](), now=EARLY, nonce="")
            if kind is MessageKind.CANCEL:
                message = replace(message, command=Cancel("cancelled"))
            self._about[(record, kind)] = self.letters.of(Letter(message))
        letter = self._about[(record, kind)]
        return (takes, self.letters.values[letter]), fewer(state, takes)._replace(lane=with_number(state.lane, letter))
