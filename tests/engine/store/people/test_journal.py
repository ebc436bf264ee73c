"""The journal is only added to, by as many as like."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.store.people.journal import FILE, deeds, note_deed


def test_lines_of_many_at_once_are_all_whole(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda n: note_deed(tmp_path, f"p{n % 3}", "marked", f'"{n}"\n' * 50), range(60)))
    found = deeds(tmp_path)
    assert len(found) == 60 and {deed.what for deed in found} == {f'"{n}"\n' * 50 for n in range(60)}


def test_what_is_no_line_is_left_out_and_stays(tmp_path: Path) -> None:
    assert deeds(tmp_path) == []
    note_deed(tmp_path, "Ada", "imported")
    with open(tmp_path / FILE, "ab") as file:
        file.write(b'\xff\n{"time": 1}\n[]\n')
    note_deed(tmp_path, "Bob", "marked", "x" * 9000)
    assert [deed.who for deed in deeds(tmp_path)] == ["Ada", "Bob"]
    assert len((tmp_path / FILE).read_bytes().splitlines()) == 5
