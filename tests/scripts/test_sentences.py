"""The check that no test matches a sentence: what it reports and what it accepts, and that the baseline is current."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = str(ROOT / "scripts")
sys.path.insert(0, SCRIPTS)
import sentences  # noqa: E402

sys.path.remove(SCRIPTS)

ERRORS = {"UsageError", "WireError"}


@pytest.mark.parametrize(
    "source",
    [
        'pytest.raises(UsageError, match="no such client")',
        'pytest.raises((OSError, UsageError), match=r"^is a folder$")',
        'pytest.raises(WireError, match=f"{name} is cut off")',
        '"did you mean" in str(error)',
        'assert "no trial there" not in capsys.readouterr().err',
        '"was not found" in told(capsys)[1]',
        'f"{name} does not exist" in ended.stderr.replace("x", "y")',
    ],
)
def test_matched_sentence_is_found(source):
    assert [hit.line for hit in sentences.findings(f"\n{source}\n", ERRORS)] == [2]


@pytest.mark.parametrize(
    "source",
    [
        'pytest.raises(ValueError, match="no such client")',
        'raises_code(UsageError, "unknown-name", name="the other")',
        "\"'kafka js'\" in str(error)",
        '"produce/calm" in capsys.readouterr().err',
        '"error[unknown-name]" in err',
        '"two words" in names',
        "sentence in err",
    ],
)
def test_data_and_codes_are_accepted(source):
    assert sentences.findings(source, ERRORS) == []


def test_the_baseline_only_shrinks(tmp_path, monkeypatch, capsys):
    # The real codes change with the code base, and the test needs one that it knows.
    monkeypatch.setattr(sentences, "coded_errors", lambda: ERRORS)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests").mkdir()
    test = tmp_path / "tests" / "test_it.py"
    test.write_text('assert "a b" in err\n' * 2)
    assert sentences.main([], tmp_path) == 1
    assert sentences.main(["--update"], tmp_path) == 0
    assert sentences.main([], tmp_path) == 0
    test.write_text('assert "a b" in err\n' * 3)
    assert sentences.main(["--update"], tmp_path) == 1
    test.write_text('assert "a b" in err\n')
    assert sentences.main([], tmp_path) == 1
    assert "sentences.py --update" in capsys.readouterr().err
    assert sentences.main(["--update"], tmp_path) == 0
