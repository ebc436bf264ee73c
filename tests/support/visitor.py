"""A visitor without a browser: opens a page over the dashboard's socket, moves widgets, times each rerun.

As a browser does, it asks for no more than the fragment that a widget stands in, and says which messages it has, so
that they are not sent again; it has what stands on the page, a browser what stood there two reruns ago as well.
"""

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

MAX_MESSAGE_BYTES = 64 * 2**20
DONE = [
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
]
CONTROLS = ("slider", "selectbox", "button_group", "multiselect", "checkbox", "number_input")


@dataclass(frozen=True)
class Control:
    """A widget that was shown: what kind it is, what it was sent as, and the fragment that it stands in, if any."""

    kind: str
    shown: Any
    fragment: str

    @property
    def options(self) -> list[str]:
        """What can be chosen; empty where any number can."""
        options = [] if self.kind in ("checkbox", "number_input") else self.shown.options
        return [option if isinstance(option, str) else option.content for option in options]


class _Counted(ClientConnection):
    """A connection that counts what arrives, compressed as it travels."""

    n_received = 0

    def data_received(self, data: bytes) -> None:
        self.n_received += len(data)
        super().data_received(data)


@dataclass(frozen=True)
class Rerun:
    """One run of a page: how long from asking to its end, how many bytes came, and what went wrong."""

    seconds: float
    n_bytes: int
    errors: tuple[str, ...]


@dataclass
class Visitor:
    """One session on one page; `widgets` holds what it was shown, by key."""

    address: str
    page: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    """What stands in the address, as the browser writes it when a bound widget moves."""
    widgets: dict[str, Control] = field(default_factory=dict)
    markdown: list[str] = field(default_factory=list)
    """Texts of the last rerun."""
    shown: list[str] = field(default_factory=list)
    """Kinds of elements that came with the last rerun."""
    repeated: str = ""
    """The part of the page that a browser asks for again and again by itself; empty where there is none."""
    _states: WidgetStates = field(default_factory=WidgetStates)
    _script: str = ""
    _cached: dict[tuple[int, ...], str] = field(default_factory=dict)
    """The message of each place of the page that need not be sent again."""
    _socket: _Counted | None = None

    async def __aenter__(self) -> "Visitor":
        address = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        protocols = [Subprotocol("streamlit")]
        self._socket = await connect(
            address, subprotocols=protocols, max_size=MAX_MESSAGE_BYTES, proxy=None, create_connection=_Counted
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def open(self) -> Rerun:
        """Run the page as it is for whoever follows the link."""
        return await self._rerun()

    async def again(self) -> Rerun:
        """Run the part that repeats, as a browser does by the clock."""
        return await self._rerun(self.repeated)

    async def move(self, key: str, value: Any) -> Rerun:
        """Set a control to a value, or to one of its options, as a person does who lets go of it."""
        control = self.widgets[key]
        identity = control.shown.id
        state = next((s for s in self._states.widgets if s.id == identity), None)
        if state is None:
            state = self._states.widgets.add(id=identity)
        if control.kind == "selectbox":
            state.string_value = str(value)
        elif control.kind == "checkbox":
            state.bool_value = bool(value)
        elif control.kind == "number_input":
            state.double_value = float(value)
        elif control.options:
            state.string_array_value.data[:] = [str(value)]
        else:
            state.double_array_value.data[:] = [float(value)]
        self.settings[key] = str(value)
        return await self._rerun(control.fragment)

    async def _rerun(self, fragment: str = "") -> Rerun:
        assert self._socket is not None
        ask = BackMsg()
        ask.rerun_script.query_string = urlencode(self.settings)
        ask.rerun_script.widget_states.CopyFrom(self._states)
        if self._script:
            ask.rerun_script.page_script_hash = self._script
        else:
            ask.rerun_script.page_name = self.page
        ask.rerun_script.fragment_id = fragment
        ask.rerun_script.cached_message_hashes.extend(sorted(set(self._cached.values())))
        ask.rerun_script.context_info.timezone = "UTC"
        ask.rerun_script.context_info.locale = "en-US"
        ask.rerun_script.context_info.url = f"{self.address}/{self.page}"
        self.markdown.clear()
        self.shown.clear()
        began, before, errors = time.perf_counter(), self._socket.n_received, []
        await self._socket.send(ask.SerializeToString())
        while True:
            content = await self._socket.recv()
            assert isinstance(content, bytes)
            message = ForwardMsg.FromString(content)
            errors += self._take(message)
            if message.WhichOneof("type") == "script_finished":
                if message.script_finished not in DONE:
                    errors.append(ForwardMsg.ScriptFinishedStatus.Name(message.script_finished))
                return Rerun(time.perf_counter() - began, self._socket.n_received - before, tuple(errors))

    def _take(self, message: ForwardMsg) -> list[str]:
        """Keep what a message shows; the errors in it."""
        kind = message.WhichOneof("type")
        if kind in ("delta", "ref_hash"):
            place = tuple(message.metadata.delta_path)
            self._cached.pop(place, None)
            if kind == "ref_hash" or message.metadata.cacheable:
                self._cached[place] = message.ref_hash if kind == "ref_hash" else message.hash
        if kind == "auto_rerun":
            self.repeated = message.auto_rerun.fragment_id
        if kind == "navigation":
            self._script = message.navigation.page_script_hash
        if kind == "page_not_found":
            return [f"there is no page {self.page!r}"]
        if kind != "delta" or message.delta.WhichOneof("type") != "new_element":
            return []
        element = message.delta.new_element
        shown = element.WhichOneof("type")
        self.shown.append(shown or "")
        if shown == "exception":
            return [element.exception.message or element.exception.type]
        if shown in CONTROLS:
            control = Control(shown, getattr(element, shown), message.delta.fragment_id)
            self.widgets[control.shown.id.split("-", 2)[-1]] = control
        if shown == "markdown":
            self.markdown.append(element.markdown.body)
        return []
