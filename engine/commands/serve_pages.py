"""`serve`: the dashboard on a folder of studies, from any folder; Streamlit runs in the place of this process."""

import errno
import os
import re
import socket
import subprocess
import sys
import tomllib
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.errors import PruneScopeError, unknown_name
from engine.study_folders import SHIPPED, SOURCE, studies_in, studies_root, study_and_root

SETTINGS = (SOURCE / ".streamlit" / "config.toml", SOURCE / "pages" / "settings" / "config.toml")
"""Streamlit's settings in a clone, and in an installed package."""
ANY_ADDRESS = ("0.0.0.0", "::", "")
USUAL_PORT = "8501"


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `serve`."""
    parser = commands.add_parser("serve", help="show studies in the browser")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        help="folder of studies, or one study (default: $PRUNESCOPE_STUDIES, or `data` of a clone, or this folder if "
        "it holds studies, or else the study that ships)",
    )
    parser.add_argument("--port", type=_port, help=f"where to listen (default: {USUAL_PORT})")
    parser.add_argument("--host", help="for whom to listen (default: localhost, this machine only)")
    parser.add_argument("--study", metavar="NAME", help="the study to open first")
    parser.add_argument("--no-browser", action="store_true", help="open no browser")
    parser.set_defaults(act=serve_pages)


def serve_pages(options: Namespace) -> int:
    """Check what was asked for, say what is shown, and become the server."""
    root, study = _asked(options)
    environment = server_environment(os.environ, root, study)
    host = options.host or environment["STREAMLIT_SERVER_ADDRESS"]
    port = options.port or _port(environment.get("STREAMLIT_SERVER_PORT", USUAL_PORT))
    check_port(host, port)
    environment |= {"STREAMLIT_SERVER_ADDRESS": host, "STREAMLIT_SERVER_PORT": str(port)}
    if host not in ANY_ADDRESS and host not in environment["STREAMLIT_SERVER_ALLOWED_HOSTS"].split():
        environment["STREAMLIT_SERVER_ALLOWED_HOSTS"] += f" {host}"
    if not options.no_browser and _has_display():
        environment["PRUNESCOPE_BROWSER"] = f"http://{_in_address(host)}:{port}"
    print(f"Studies in {root}", flush=True)
    # -P: what lies in this folder under the name of a module is not that module.
    return _become([sys.executable, "-P", str(SOURCE / "serve.py")], environment)


def _asked(options: Namespace) -> tuple[Path, str]:
    """The root of the studies and the one to open first, or empty."""
    root, study = study_and_root(options.folder) if options.folder else (studies_root(), "")
    if not options.folder and root == SHIPPED:
        root = _own_folder()
    if options.study is None:
        return root, study
    names = studies_in(root) if root.is_dir() else []
    if options.study not in names:
        raise unknown_name(options.study, names, "study")
    return root, options.study


def _own_folder() -> Path:
    """A folder of the user's own with a link to the study that ships, so that nothing is kept among the packages.

    Where there can be no such folder or link, the packages' own.
    """
    variable, usual = {
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": ("XDG_DATA_HOME", "~/Library/Application Support"),
    }.get(sys.platform, ("XDG_DATA_HOME", "~/.local/share"))
    own = Path(os.environ.get(variable) or usual).expanduser() / "prunescope" / "studies"
    link, demo = own / "demo", SHIPPED / "demo"
    try:
        own.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.resolve() != demo:
            link.unlink()
        if not link.exists():
            link.symlink_to(demo, target_is_directory=True)
    except OSError:
        return SHIPPED
    return own


# -- what the server is told -------------------------------------------------------------------------------------------


def server_environment(environment: Mapping[str, str], root: Path, study: str) -> dict[str, str]:
    """The variables that tell Streamlit our settings and the pages their studies; what a user set himself stays.

    Streamlit itself looks for settings beside the script, where an installed one has none, and in the user's folder.
    """
    file = next((path for path in SETTINGS if path.is_file()), None)
    if file is None:
        raise PruneScopeError(f"The settings of the dashboard are missing: {SETTINGS[0]}. Install PruneScope again.")
    ours = dict(_variables(tomllib.loads(file.read_text(encoding="utf-8"))))
    studies = {"PRUNESCOPE_STUDIES": str(root), **({"PRUNESCOPE_STUDY": study} if study else {})}
    return {**ours, **environment, **studies}


def _variables(settings: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Names and values of Streamlit's variables for a table of settings, tables within it included."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _variables(value, (*path, name))
        else:
            words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", "_".join((*path, name)))
            variable = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).upper()
            yield f"STREAMLIT_{variable}", _as_text(value)


def _as_text(value: Any) -> str:
    """A value of a setting as Streamlit reads it from a variable: lists with spaces between, true and false."""
    if isinstance(value, list):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- the machine -------------------------------------------------------------------------------------------------------


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(f"{text!r} is no port; use a number from 1 to 65535")
    return int(text)


def check_port(host: str, port: int) -> None:
    """An error that says so where nobody can listen there."""
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise PruneScopeError(f"There is no host {host!r}: {error.strerror}. Use --host localhost.") from error
    for family, kind, protocol, _, address in addresses:
        try:
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PruneScopeError(f"Port {port} is in use; choose another one with --port.") from error
            if error.errno == errno.EACCES:
                raise PruneScopeError(f"Port {port} is not for you: {error.strerror}. Use one from 1024 on.") from error


def _in_address(host: str) -> str:
    """The host as a browser on this machine calls it."""
    if host in ANY_ADDRESS:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _has_display() -> bool:
    """Whether a browser would open in a window; on Linux without one it would take the terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _become(command: list[str], environment: Mapping[str, str]) -> int:
    """Run the command in the place of this process, so that signals reach it; where that cannot be, wait for it."""
    if os.name == "posix":
        os.execve(command[0], command, environment)
    with subprocess.Popen(command, env=environment) as server:
        while True:
            try:
                return server.wait()
            except KeyboardInterrupt:
                continue
