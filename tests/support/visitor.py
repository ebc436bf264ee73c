"""A visitor without a browser: opens a page over the dashboard's socket, moves widgets, times each rerun."""

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
DONE = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_SUCCESSFULLY")


@dataclass(frozen=True)
class Rerun:
    """One run of a page: how long from asking to its end, what was sent, and what went wrong."""

    seconds: float
    n_bytes: int
    errors: tuple[str, ...]


@dataclass
class Visitor:
    """One session on one page; `widgets` holds the identity of each widget that it was shown, by key."""

    address: str
    page: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    """What stands in the address, as the browser writes it when a bound widget moves."""
    widgets: dict[str, Any] = field(default_factory=dict)
    markdown: list[str] = field(default_factory=list)
    """Texts of the last rerun."""
    _states: WidgetStates = field(default_factory=WidgetStates)
    _script: str = ""
    _socket: ClientConnection | None = None

    async def __aenter__(self) -> "Visitor":
        address = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        protocols = [Subprotocol("streamlit")]
        self._socket = await connect(address, subprotocols=protocols, max_size=MAX_MESSAGE_BYTES, proxy=None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def open(self) -> Rerun:
        """Run the page as it is for whoever follows the link."""
        return await self._rerun()

    async def move(self, key: str, value: Any) -> Rerun:
        """Set a slider to a value, as a person does who lets go of it."""
        shown = self.widgets[key]
        state = next((s for s in self._states.widgets if s.id == shown.id), None)
        if state is None:
            state = self._states.widgets.add(id=shown.id)
        if len(shown.options):
            state.string_array_value.data[:] = [str(value)]
        else:
            state.double_array_value.data[:] = [float(value)]
        self.settings[key] = str(value)
        return await self._rerun()

    async def _rerun(self) -> Rerun:
        assert self._socket is not None
        ask = BackMsg()
        ask.rerun_script.query_string = urlencode(self.settings)
        ask.rerun_script.widget_states.CopyFrom(self._states)
        if self._script:
            ask.rerun_script.page_script_hash = self._script
        else:
            ask.rerun_script.page_name = self.page
        ask.rerun_script.context_info.timezone = "UTC"
        ask.rerun_script.context_info.locale = "en-US"
        ask.rerun_script.context_info.url = f"{self.address}/{self.page}"
        self.markdown.clear()
        began, n_bytes, errors = time.perf_counter(), 0, []
        await self._socket.send(ask.SerializeToString())
        while True:
            content = await self._socket.recv()
            assert isinstance(content, bytes)
            n_bytes += len(content)
            message = ForwardMsg.FromString(content)
            errors += self._take(message)
            if message.WhichOneof("type") == "script_finished":
                if message.script_finished != DONE:
                    errors.append(ForwardMsg.ScriptFinishedStatus.Name(message.script_finished))
                return Rerun(time.perf_counter() - began, n_bytes, tuple(errors))

    def _take(self, message: ForwardMsg) -> list[str]:
        """Keep what a message shows; the errors in it."""
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self._script = message.navigation.page_script_hash
        if kind == "page_not_found":
            return [f"there is no page {self.page!r}"]
        if kind != "delta" or message.delta.WhichOneof("type") != "new_element":
            return []
        element = message.delta.new_element
        shown = element.WhichOneof("type")
        if shown == "exception":
            return [element.exception.message or element.exception.type]
        if shown == "slider":
            self.widgets[element.slider.id.rsplit("-", 1)[-1]] = element.slider
        if shown == "markdown":
            self.markdown.append(element.markdown.body)
        return []
