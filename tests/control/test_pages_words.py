"""The words of the pages: two catalogues with the same keys, all of them used; figures as people read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Formatter

import pytest
from gearshift_hub.control import pages
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.pages.frame import json_block
from gearshift_hub.control.pages.words import Language, preferred, words
from gearshift_hub.deployment import Deployment, load
from gearshift_testing.controls import DEPLOYMENT
from hypothesis import given
from hypothesis import strategies as st

PAGES = Path(pages.__file__).parent
CONTROL = PAGES.parent
HAN = re.compile(r"[一-鿿]")


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return load(DEPLOYMENT)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_catalogues_have_the_same_keys_and_placeholders() -> None:
    english, chinese = words("en").texts, words("zh").texts
    assert set(english) == set(chinese)
    differing = [key for key in english if placeholders(english[key]) != placeholders(chinese[key])]
    assert differing == []


def test_every_key_that_is_said_exists_and_every_key_is_said() -> None:
    sources = [*PAGES.glob("templates/*.html"), *PAGES.glob("*.py"), *CONTROL.glob("routes/*pages.py")]
    text = "\n".join(path.read_text() for path in sources)
    said = set(re.findall(r"""say\(\s*['"]([a-z]+\.[a-z_]+)['"]""", text))
    said |= set(re.findall(r"""['"]([a-z]+\.[a-z_]+)['"] if """, text))
    said |= set(re.findall(r"""else ['"]([a-z]+\.[a-z_]+)['"]\)""", text))
    known = set(words("en").texts)
    assert said - known == set()
    script = set(re.findall(r'"([a-z_]+)"', re.search(r"words = \((.*?)\)\n", text, re.DOTALL).group(1)))  # type: ignore[union-attr]
    built = {f"start.{key}" for key in script}
    built |= {key for key in known if key.startswith(("state.", "reason.", "starting.", "start.used_"))}
    built |= {"start.ro", "start.rw", "lang.code"}
    assert known - said - built == set()


def test_the_words_keep_the_style_of_the_product() -> None:
    for language in ("en", "zh"):
        for key, text in words(language).texts.items():
            assert "!" not in text.replace("!r", ""), key
            assert not re.search(r"\b(please|successfully|instance|pod|server)\b", text.lower()), key
    for key, text in words("zh").texts.items():
        assert not re.search(r"[一-鿿][A-Za-z0-9]|[A-Za-z0-9][一-鿿]", text), (
            f"{key}: a space between Han and Latin"
        )
        assert not (HAN.search(text) and re.search(r"[,;?](\s|$)", text)), f"{key}: full-width punctuation"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB", "en"),
        ("fr-FR, fr;q=0.9", "en"),
        ("en;q=0.3, zh-Hant;q=0.7", "zh"),
        ("zh;q=0, en", "en"),
        ("zh;q=x", "en"),
        (";;;,,", "en"),
    ],
)
def test_a_browsers_preference_is_followed(header: str, expected: str) -> None:
    assert preferred(header, "en") == expected


@given(st.text(max_size=80))
def test_any_header_gives_a_language(header: str) -> None:
    assert preferred(header, "zh") in ("en", "zh")


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (0, "0 s", "0 秒"),
        (59.9, "59 s", "59 秒"),
        (134, "2 min 14 s", "2 分 14 秒"),
        (6120, "1 h 42 min", "1 小时 42 分"),
        (671_400, "7 days 18 h", "7 天 18 小时"),
        (40_000_000, "over a year", "一年以上"),
    ],
)
def test_spans_read_as_the_design_says(
    deployment: Deployment, seconds: float, english: str, chinese: str
) -> None:
    spoken: dict[Language, str] = {"en": english, "zh": chinese}
    for language, expected in spoken.items():
        assert Voice(words(language), deployment).span(int(seconds * 1e6)) == expected


def test_money_sizes_and_how_long_a_balance_lasts(deployment: Deployment) -> None:
    v = Voice(words("en"), deployment)
    assert v.money(1_846_200_000_000) == "¥1,846.20"
    assert v.per_hour(100_000_000) == "¥0.10/h"
    assert v.size(None) == "–"
    assert v.size(15_600_000_000) == "15.6 GB"
    assert v.lasts(10**9, 10**9) == "1 h 0 min"
    assert v.lasts(-5, 10**9) == "0 s"
    assert v.lasts(10**9, 0) == "–"
    assert (v.seconds(430_000), v.seconds(12_400_000)) == ("0.4", "12")


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=40), max_size=4))
def test_data_for_a_script_never_ends_its_element_and_comes_back_whole(data: dict[str, str]) -> None:
    block = json_block({**data, "end": "</script><!--"})
    assert "<" not in block
    assert json.loads(block) == {**data, "end": "</script><!--"}
