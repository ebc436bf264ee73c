"""The image is built from what is there and runs as nobody special; the server's settings are the safe ones."""

import fnmatch
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.sbom import bill, locked
from engine.commands import parsed
from engine.commands.serve_pages import serve_pages

TOP = Path(__file__).resolve().parents[1]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with what follows them, continued lines joined."""
    lines = [line for line in (TOP / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def told(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


@pytest.fixture(scope="module")
def settings() -> dict[str, dict[str, object]]:
    return tomllib.loads((TOP / ".streamlit" / "config.toml").read_text())


def test_dockerfile_has_only_instructions_that_docker_knows() -> None:
    known = {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert {name for name, _ in instructions()} <= known


def test_base_is_a_build_argument() -> None:
    names = [name for name, _ in instructions()]
    assert names.index("ARG") < names.index("FROM") and told("ARG")[0].startswith("BASE=")
    assert told("FROM") == ["${BASE}"]


def test_container_runs_as_an_ordinary_user_with_its_data_in_a_volume() -> None:
    names = [name for name, _ in instructions()]
    assert told("USER") == ["prunescope"] and names.index("USER") < names.index("CMD")
    assert told("VOLUME") == ["/data"] and told("EXPOSE") == ["8501"]
    assert "RUN" not in names[names.index("USER") :], "nothing is installed as that user"


def test_container_asks_the_servers_own_health_check() -> None:
    assert len(told("HEALTHCHECK")) == 1
    code = re.search(r'CMD \["python", "-c", "(.*)"\]', told("HEALTHCHECK")[0])
    assert code and "/_stcore/health" in code[1] and "8501" in code[1]
    compile(code[1], "health", "exec")


def test_container_listens_for_all_and_the_file_for_this_machine_only(settings: dict[str, dict[str, object]]) -> None:
    said = dict(pair.split("=", 1) for rest in told("ENV") for pair in shlex.split(rest))
    assert said["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0" and said["PRUNESCOPE_STUDIES"].startswith("/data/")
    assert settings["server"]["address"] == "localhost"
    shown = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"],
        cwd=TOP,
        env=os.environ | {"STREAMLIT_SERVER_ADDRESS": said["STREAMLIT_SERVER_ADDRESS"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert 'address = "0.0.0.0"' in shown, "the variable wins over the file"


def test_everything_copied_is_there_and_not_ignored() -> None:
    rules = [line for line in (TOP / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert {"requirements.txt", "engine", "pages", "data"} <= set(" ".join(told("COPY")).split())
    for rest in told("COPY"):
        *sources, _ = (word for word in rest.split() if not word.startswith("--"))
        for source in sources:
            assert (TOP / source).exists(), f"COPY {source}: there is none"
            kept = [rule for rule in rules if rule.startswith("!") and rule[1:].split("/")[0] == source]
            assert kept, f".dockerignore leaves {source} out"


def test_image_installs_the_project_from_all_that_a_build_takes() -> None:
    names = [name for name, _ in instructions()]
    installs = next(n for n, (name, rest) in enumerate(instructions()) if name == "RUN" and rest.endswith("/src/*"))
    assert "pip install --quiet --no-deps --no-build-isolation . " in instructions()[installs][1]
    copied = {
        word
        for name, rest in instructions()[:installs]
        if name == "COPY"
        for word in rest.split()[:-1]
        if not word.startswith("--")
    }
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    modules = {f"{name}.py" for name in setuptools["py-modules"]}
    elsewhere = {folder.split("/")[0] for folder in setuptools["package-dir"].values()}
    read = {project["project"]["readme"], setuptools["dynamic"]["dependencies"]["file"], "pyproject.toml", "setup.py"}
    assert copied == {"engine", "pages", "prunescope", "requirements.lock"} | modules | elsewhere | read
    assert names.index("USER") > installs, "the user cannot change what is installed"


def test_container_runs_a_command_of_the_project() -> None:
    program, *arguments = json.loads(told("CMD")[0])
    scripts = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert program in scripts
    options = parsed(arguments, program)
    assert options.act is serve_pages and options.no_browser
    assert options.folder is options.host is options.port is None, "the variables of the image decide"


def test_image_leaves_out_what_it_does_not_need() -> None:
    rules = [line for line in (TOP / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    again = [rule[1:] for rule in rules if rule.startswith("!")]
    for name in (".git", ".venv", "tests", "benchmarks", "docs", ".streamlit/secrets.toml"):
        assert not any(fnmatch.fnmatch(name, rule) or rule.startswith(f"{name}/") for rule in again), name


def test_server_settings_are_safe_and_serve_many_sessions(settings: dict[str, dict[str, object]]) -> None:
    server, client = settings["server"], settings["client"]
    assert server["enableXsrfProtection"] is True and server["enableCORS"] is True
    assert 0 < int(str(server["maxUploadSize"])) <= 200
    assert server["allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert server["fileWatcherType"] == "none" and server["disconnectedSessionTTL"] == 30
    assert client["showErrorDetails"] == "none" and client["toolbarMode"] == "minimal"
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["runner"]["postScriptGC"] is False, "pages/shared/collector.py collects in its place"


def test_lock_file_pins_every_requirement_and_its_digests() -> None:
    lock = locked((TOP / "requirements.lock").read_text())
    pins = dict(line.split("==") for line in (TOP / "requirements.txt").read_text().split())
    assert {name: lock[name][0] for name in pins} == pins
    assert all(digests for _, digests in lock.values())
    assert not {name: version(name) for name in pins if version(name) != lock[name][0]}
    assert told("ARG")[1] == "REQUIREMENTS=requirements.lock"


def test_lock_file_keeps_what_its_packages_ask_of_each_other() -> None:
    """By what the packages that are installed here say, where they are the locked ones; newer ones may be about."""
    lock = {name: pinned for name, (pinned, _) in locked((TOP / "requirements.lock").read_text()).items()}
    asked = [
        (name, wanted)
        for name, pinned in lock.items()
        if version(name) == pinned
        for wanted in map(Requirement, requires(name) or ())
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    ]
    assert len(asked) > len(lock)
    unmet = [
        f"{name} asks for {wanted}, locked is {lock.get(canonicalize_name(wanted.name))}"
        for name, wanted in asked
        if lock.get(canonicalize_name(wanted.name), "") not in wanted.specifier
    ]
    assert not unmet


def test_bill_of_materials_is_valid_and_lists_every_package() -> None:
    text = (TOP / "requirements.lock").read_text()
    made = bill(text, "1.2.3")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(made)) is None
    assert [part["name"] for part in made["components"]] == list(locked(text))
