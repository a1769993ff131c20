"""record and record_code: what a program did, ready to be asked."""

from __future__ import annotations

import inspect
import itertools
import linecache
import sys
from functools import cached_property
from typing import Any

from . import diagnosis, flow, problems
from .asking import Learners, summary_of, who_learns_in
from .capture.names import locals_of
from .collecting import paused
from .diagnosis import Cut, Diagnosis, Done, Problem
from .diagrams import graph, memory, modules
from .diagrams.diagram import Diagram
from .diagrams.player import Frame, Player
from .diagrams.sheet import Sheet
from .diagrams.words import error_text
from .model import Run, Snapshot, Step
from .recorder import Recorder
from .telling import tell

__all__ = ["Recording", "record", "record_code"]

FEW_OPERATIONS = 12  # up to so many are drawn one by one

MOST_SOURCES = 200

_numbers = itertools.count()
_sources: list[str] = []


class Recording:
    """What a program did: its operations, cuts, steps and problems.

    ``error`` is what the program raised, or None.

    >>> recording = record_code("import torch; x = torch.ones(2)")
    >>> recording.snapshot.tensors["x"].shape
    (2,)
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.value: Any = None
        self._run: Run | None = None
        self._make: Any = None
        self._identity: Any = None

    @property
    def run(self) -> Run:
        """All that was recorded, as plain data.

        Raises RuntimeError while the program is still being recorded.
        """
        if self._run is None and self._make is not None:
            with paused():
                self._run = self._make()
            self._make = None
        if self._run is None:
            raise RuntimeError(
                "this recording is not finished yet: ask it after the block."
            )
        return self._run

    def _finish(
        self, recorder: Recorder, source: str, error: BaseException | None
    ) -> None:
        """Take what was recorded; it is put in order when it is asked for."""
        told = _told(error)
        recorder.forget_names()
        self.error = error
        self._identity = recorder.identity
        self._make = lambda: recorder.run(source, told)

    @property
    def is_finished(self) -> bool:
        """False while the program is still being recorded."""
        return self._run is not None or self._make is not None

    @property
    def operations(self) -> list[Done]:
        """Each operation: name, inputs, outputs, line, module, grad_mode."""
        return diagnosis.operations(self._story)

    @property
    def cuts(self) -> list[Cut]:
        """Where history went in and none came out, in order."""
        return diagnosis.cuts(self._story)

    @property
    def steps(self) -> list[Step]:
        """Each executed line: line, snapshot, printed, operations."""
        return list(self.run.steps)

    @property
    def snapshot(self) -> Snapshot:
        """What there was at the end."""
        return self.run.snapshot

    @cached_property
    def _story(self) -> diagnosis.Story:
        return diagnosis.Story(self.run)

    @cached_property
    def problems(self) -> list[Problem]:
        """What will fail, or is silently wrong."""
        return problems.find(self._story)

    def why_no_grad(self, x: Any) -> Diagnosis:
        """Say why ``x.grad`` is None, or that it is not.

        ``x`` is a name or a tensor of the recorded program.  Raises KeyError
        for a name or a tensor that the program does not have.
        """
        if isinstance(x, str):
            return diagnosis.why_no_grad(self._story, x)
        known = self._identity.known(x) if self._identity else None
        if known is None or known not in self.run.lives:
            raise KeyError(
                "this tensor was not seen in the recording: "
                "give the name that the program has for it."
            )
        return diagnosis.why_no_grad(self._story, known)

    def who_learns(self) -> Learners:
        """Say which parameters learn, and why the others don't.

        Returns a table; ``.parameters`` has each with ``learns`` and a
        ``reason``, as :func:`helpers.who_learns`, and each cut has its line.
        """
        return who_learns_in(self._story)

    def summary(self) -> Sheet:
        """Tell of each Module that ran: its parameters and how many train,
        the shape of its result, the bytes that it keeps for backward, and
        its gradient, or why there is none.
        """
        return summary_of(self._story)

    def draw_graph(self, step: int = -1) -> Diagram:
        """Draw data flow and gradient flow up to a step, cuts on their edge.

        Raises IndexError for a step that there is not.
        """
        with paused():
            picture = flow.flow(self.run, self._step(step))
            boxes = len(picture.operations) + len(picture.objects)
            if boxes > modules.MOST_BOXES:
                picture = flow.living(picture)
            return modules.draw(picture, FEW_OPERATIONS)

    def draw_memory(self, step: int = -1) -> Diagram:
        """Draw the memory after a step, and mark what its line changed.

        Raises IndexError for a step that there is not.
        """
        with paused():
            return memory.draw(flow.memory_after(self.run, self._step(step)))

    def player(self) -> Player:
        """Show the program step by step, with graph and memory."""
        with paused():
            return self._player()

    def _player(self) -> Player:
        run = self.run
        story = self._story
        steps = [s for s in run.steps if s.snapshot is not None]
        if not steps:
            return Player(run.source, (), run.notes)
        flows = flow.flows(run, [s.number for s in steps])
        graphs = graph.draw_frames(flows, FEW_OPERATIONS)
        memories = memory.draw_frames(
            [flow.memory_after(run, s.number) for s in steps]
        )
        trouble = {p.line: str(p) for p in self.problems}
        frames = tuple(
            Frame(
                s.line,
                tell(story, s),
                s.printed,
                g,
                m,
                trouble.get(s.line, ""),
            )
            for s, g, m in zip(steps, graphs, memories, strict=True)
        )
        notes = list(run.notes)
        if len(steps) < len(run.steps):
            notes.append(f"{len(steps)} of {len(run.steps):,} steps are shown")
        return Player(run.source, frames, tuple(dict.fromkeys(notes)))

    def _step(self, step: int) -> int:
        count = len(self.run.steps)
        if count == 0:
            return -1
        if not -count <= step < count:
            raise IndexError(
                f"there is no step {step}: the recording has {count} steps, "
                f"0 to {count - 1}."
            )
        return step % count


class record:
    """Watch a block: ``with record() as recording:``

    >>> import torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with record() as recording:
    ...     y = x.detach() * 2
    >>> [cut.kind for cut in recording.cuts]
    ['detach']
    """

    def __enter__(self) -> Recording:
        frame = sys._getframe(1)
        self._frames = [frame]
        self._recording = Recording()
        in_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
        self._recorder = Recorder(
            frame.f_code.co_filename,
            lambda: frame.f_locals,
            around=lambda: frame.f_globals if in_function else {},
        )
        self._tee = _Tee(sys.stdout, self._recorder)
        try:
            sys.stdout = self._tee
            self._recorder.__enter__()
            self._recorder.start_lines(frame)
        except BaseException:  # with does not call __exit__ then
            self._leave()
            raise
        return self._recording

    def _leave(self) -> None:
        _put_back(self._recorder, self._tee)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        recorder, recording = self._recorder, self._recording
        frame = self._frames.pop()
        try:
            recorder.__exit__(kind, error, trace)
        finally:
            self._leave()
        locals_of(frame)  # leaves no copy of the variables in the frame
        source = "".join(linecache.getlines(recorder.filename))
        recording._finish(recorder, source, error)
        del self._recorder


def record_code(
    source: str, namespace: dict[str, Any] | None = None
) -> Recording:
    """Run source line by line and watch each line.

    ``namespace`` is where its variables live (a new one when None).  An
    exception ends it and is kept in ``.error``, with everything up to there;
    KeyboardInterrupt and SystemExit go on.  What it prints is printed as
    usual and kept in the steps.

    >>> recording = record_code('''
    ... import torch
    ... x = torch.tensor(2.0, requires_grad=True)
    ... loss = (x * 3).detach()
    ... ''')
    >>> recording.why_no_grad("x").reason
    'cut'
    """
    filename = f"<recorded {next(_numbers)}>"
    remember_source(filename, source)
    space = {} if namespace is None else namespace
    space.setdefault("__name__", "__main__")
    recording = Recording()
    try:
        code = compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        recording.error = error
        recording._run = Run(source, error=_told(error))
        return recording
    watch(recording, filename, source, space, lambda: exec(code, space))
    return recording


def remember_source(filename: str, source: str) -> None:
    """Let tracebacks show the lines of recorded source, of the last ones."""
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    _sources.append(filename)
    while len(_sources) > MOST_SOURCES:
        linecache.cache.pop(_sources.pop(0), None)


def watch(
    recording: Recording,
    filename: str,
    source: str,
    space: dict[str, Any],
    work: Any,
) -> None:
    """Run ``work``, whose code is in ``filename``, and fill the recording."""
    recorder = Recorder(filename, lambda: space)
    tee = _Tee(sys.stdout, recorder)
    error: BaseException | None = None
    try:
        sys.stdout = tee
        with recorder:
            recorder.start_lines()
            try:
                recording.value = work()
            except BaseException as raised:
                error = raised
            finally:
                recorder.stop_lines()
    finally:
        _put_back(recorder, tee)  # where an interrupt came before it was
    recording._finish(recorder, source, error)
    if error is not None and not isinstance(error, Exception):
        raise error


def _put_back(recorder: Recorder, tee: _Tee) -> None:
    """Leave everything as it was, also where an interrupt comes meanwhile,
    at the first line of a call, say: a second one does no harm.
    """
    try:
        recorder.restore()
        tee.stop()
    finally:
        recorder.restore()
        tee.stop()


def _told(error: BaseException | None) -> str:
    return "" if error is None else error_text(error)


class _Tee:
    """Prints as usual, and tells the recorder; else it is what it replaces."""

    def __init__(self, usual: Any, recorder: Recorder) -> None:
        self._usual = usual
        self._recorder: Recorder | None = recorder

    def write(self, text: str) -> int:
        if self._recorder is not None:
            self._recorder.printed(text)
        return self._usual.write(text)

    def stop(self) -> None:
        """Put back what was there, or only forward where another one is."""
        self._recorder = None
        if sys.stdout is self:
            usual = self._usual
            while type(usual) is _Tee and usual._recorder is None:
                usual = usual._usual  # that of a thread that ended before
            sys.stdout = usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)
