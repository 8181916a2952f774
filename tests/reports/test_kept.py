"""What is kept from one report to the next: only what this user signed, and only while nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.storage import kept
from harness.storage.parquet_writer import PARTS, pack
from harness.storage.run_store import RunStore

Stories = Callable[..., Any]
Runs = Callable[..., RunStore]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def signed(folder: Path) -> Path:
    folder.mkdir()
    (folder / "page").write_bytes(b"what was made")
    kept.write(folder / "list", folder, "code-1", {"page": "key"}, ["page"])
    return folder / "list"


def test_what_this_user_wrote_is_read_again(tmp_path: Path) -> None:
    path = signed(tmp_path / "report")
    found = kept.read(path, path.parent, "code-1", dict[str, str])
    assert found is not None and found.about == {"page": "key"}
    assert found.data("page") == b"what was made"


def test_a_changed_file_is_not_used(tmp_path: Path) -> None:
    path = signed(tmp_path / "report")
    (path.parent / "page").write_bytes(b"<script>")
    found = kept.read(path, path.parent, "code-1", dict[str, str])
    assert found is not None and found.data("page") is None


def test_a_list_that_another_key_signed_is_not_used(tmp_path: Path, own_cache: Path) -> None:
    path = signed(tmp_path / "report")
    (own_cache / kept.KEY).write_bytes(b"k" * 32)
    assert kept.read(path, path.parent, "code-1", dict[str, str]) is None


def test_a_list_of_other_code_is_not_used(tmp_path: Path) -> None:
    path = signed(tmp_path / "report")
    assert kept.read(path, path.parent, "code-2", dict[str, str]) is None


def test_a_changed_list_is_not_used(tmp_path: Path) -> None:
    path = signed(tmp_path / "report")
    path.write_bytes(path.read_bytes().replace(b"key", b"kez"))
    assert kept.read(path, path.parent, "code-1", dict[str, str]) is None


def test_new_trials_become_a_part_of_their_own(story: Stories, run_of: Runs) -> None:
    later = story("later")
    store = run_of(story("first"), story("second"), planned=[later.spec])
    assert [sorted(part.trials) for part in pack(store).parts] == [["first", "second"]]
    store.write_evidence(later.evidence())
    store.write_verdict(later.judgement())
    assert [sorted(part.trials) for part in pack(store).parts] == [["first", "second"], ["later"]]


def test_a_changed_trial_packs_all_again(story: Stories, run_of: Runs) -> None:
    store = run_of(story("first"), story("second"))
    before = pack(store).parts
    (store.trial_folder("first") / "client.log").write_text("one more line")
    (part,) = pack(store).parts
    assert part.number == 0 and part.trials["first"] != before[0].trials["first"]
    assert part.trials["second"] == before[0].trials["second"]


def test_tables_that_were_not_signed_are_packed_again(story: Stories, run_of: Runs) -> None:
    store = run_of(story("first"))
    name = pack(store).parts[0].file("trials", 0)
    path = store.folder / "tables" / name
    good = path.read_bytes()
    path.write_bytes(b"bad")
    pack(store)
    assert path.read_bytes() == good
    assert (store.folder / "tables" / PARTS).exists()


def test_the_digest_of_code_changes_with_any_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_up" / "inner").mkdir(parents=True)
    sources = [tmp_path / "made_up" / name for name in ("__init__.py", "inner/deep.py", "page.html")]
    single = tmp_path / "made_up_module.py"
    for path in (*sources, single):
        path.write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("made_up", "made_up_module")
    seen = {kept.code_digest.__wrapped__(*names)}
    for path in (*sources, single):
        path.write_text("2")
        seen.add(kept.code_digest.__wrapped__(*names))
    assert len(seen) == 5


def test_code_without_sources_has_no_digest() -> None:
    """The wheel has our packages under other names. A constant digest would keep results of older versions."""
    with pytest.raises(ValueError, match="no_such_package"):
        kept.code_digest("no_such_package")
