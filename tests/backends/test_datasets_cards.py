"""Cards: the schema beside them is fresh, faults are named, and a search finds by word in either language."""

from pathlib import Path

import pytest
from gearshift_hub.control.services import dataset_cards

FOLDER = Path(__file__).resolve().parents[2] / "datasets"
CARDS = dataset_cards.load(FOLDER / "cards")
OPEN_LICENCES = {"CC BY 4.0", "CC0 1.0"}


def test_the_schema_beside_the_cards_is_fresh() -> None:
    assert (FOLDER / "schema.json").read_text() == dataset_cards.schema()


def test_every_card_has_both_languages_an_open_licence_and_a_hash_for_each_file() -> None:
    assert set(CARDS) >= {"digits", "breast-cancer", "iris", "palmer-penguins"}
    for card in CARDS.values():
        assert card.title.en
        assert card.title.zh
        assert card.description.en
        assert card.description.zh
        assert card.licence in OPEN_LICENCES
        assert card.licence_url.startswith("https://creativecommons.org/")
        assert card.samples
        assert card.files


def test_the_readme_lists_every_card() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [name for name in CARDS if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("digits", "digits"),
        ("手写", "digits"),
        ("PENGUINS", "palmer-penguins"),
        ("iris flowers", "iris"),
        ("cc0", "palmer-penguins"),
    ],
)
def test_a_search_finds_by_word_in_either_language(query: str, first: str) -> None:
    assert dataset_cards.search(CARDS.values(), query)[0].id == first


def test_a_search_without_words_gives_all_and_one_without_a_match_gives_none() -> None:
    assert len(dataset_cards.search(CARDS.values(), "  ")) == len(CARDS)
    assert dataset_cards.search(CARDS.values(), "no-such-thing") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('id = "iris"', 'id = "other"'), "must equal the file's name 'iris'"),
        (("samples = 150", "sample = 150"), "Did you mean 'samples'"),
        (("size_bytes = 3870", "size_bytes = 1"), "not the sum"),
        (("samples = 150", "samples = = 150"), "iris.toml"),
        (('kind = "dataset"', 'kind = "film"'), "Allowed: dataset, model"),
    ],
)
def test_a_faulty_card_is_refused_by_file_key_and_remedy(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    text = (FOLDER / "cards" / "iris.toml").read_text()
    (tmp_path / "iris.toml").write_text(text.replace(*change))
    with pytest.raises(dataset_cards.CardError, match=said):
        dataset_cards.load(tmp_path)


def test_a_deployment_can_only_offer_what_has_a_card() -> None:
    assert list(dataset_cards.enabled(CARDS, ["iris", "digits"])) == ["iris", "digits"]
    with pytest.raises(dataset_cards.CardError, match=r"datasets\.enabled: 'mnist' has no card"):
        dataset_cards.enabled(CARDS, ["mnist"])
