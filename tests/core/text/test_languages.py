"""English told from other languages and scripts, on sentences written for the purpose."""

import unicodedata

import pytest

from longform.text.languages import english_share, latin_share, looks_english
from longform.text.nouns import LATIN

ENGLISH = (
    "The town lies on the river, and most of those who live there work in the mill. When it closed they "
    "moved away. Nobody could say what would become of the school, which had been built with their money."
)
OTHERS = {
    "german": "Die Stadt liegt am Fluss, und die meisten Leute, die dort wohnen, arbeiten in der Mühle. Als sie "
    "schloss, zogen sie fort. Niemand wusste, was aus der Schule werden sollte, die man in so vielen Jahren "
    "gebaut hatte, so an der Straße.",
    "french": "La ville se trouve au bord du fleuve, et la plupart de ceux qui y habitent travaillent au moulin. "
    "Quand il a fermé, ils sont partis. Personne ne savait ce que deviendrait l'école, que l'on a bâtie.",
    "spanish": "El pueblo está junto al río, y casi todos los que viven allí trabajan en el molino. Cuando cerró "
    "se fueron. Nadie sabía lo que sería de la escuela, que se había construido con su dinero, no de otros.",
    "dutch": "De stad ligt aan de rivier, en de meeste mensen die er wonen werken in de molen. Toen die dicht "
    "ging was het over, en zij is of was niet meer van ons. Niemand wist wat er van de school zou worden.",
    "danish": "Byen ligger ved floden, og de fleste som bor her har arbejde i møllen. Da den lukkede, for de bort. "
    "Ingen vidste, at skolen, som de selv havde bygget over mange år, var for lille, så vi har en ny under tag.",
    "portuguese": "A vila fica junto do rio, e quase todos os que moram no lugar trabalham no moinho. Quando "
    "fechou, as pessoas foram embora, e me disse que por mais que se fale do que era, tudo acabou no fim.",
    "russian": "Город стоит на реке, и почти все жители работают на мельнице. Когда она закрылась, они уехали.",
    "chinese": "这个小镇位于河边，大多数居民在磨坊工作。后来磨坊关闭了，他们就搬走了。没有人知道学校会怎么样。",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_prose_of_another_language_does_not_look_english(text):
    assert not looks_english(text)
    assert english_share(text) < english_share(ENGLISH) / 4


def test_english_prose_looks_english_with_names_and_capitals():
    assert looks_english(ENGLISH) and looks_english(ENGLISH.upper())
    assert looks_english(ENGLISH.replace("The town", "Málaga (Μάλαγα, 馬拉加)"))
    assert looks_english(
        "I don’t know why you’d go, but they’ll say that it isn’t theirs, and that we shouldn’t. "
        * 2
    )


def test_share_is_latin_letters_times_function_words():
    assert english_share("The Ödland") == pytest.approx(1 / 2)
    assert english_share("The and Ж") == pytest.approx(6 / 7)
    assert english_share("The and 東京") == pytest.approx(6 / 8)
    assert english_share("") == english_share("12, 13!") == 0
    assert latin_share("12") == 1 and latin_share("aЖ") == 0.5


def test_seven_function_words_in_a_hundred_are_enough():
    assert looks_english("the " * 7 + "xqz " * 93)
    assert not looks_english("the " * 7 + "xqz " * 94)


def test_short_texts_are_judged_by_their_script_alone():
    assert (
        looks_english("Two dogs run.") and looks_english("") and looks_english("Zwei Hunde rennen.")
    )
    assert not looks_english("Две собаки бегут.")


def test_latin_range_holds_letters_of_latin_script_and_no_others():
    ranges = [(LATIN[i], LATIN[i + 2]) for i in range(len(LATIN) - 2) if LATIN[i + 1] == "-"]
    singles = set(LATIN) - {"-"} - {end for pair in ranges for end in pair}
    members = singles | {
        chr(code) for low, high in ranges for code in range(ord(low), ord(high) + 1)
    }
    names = [unicodedata.name(letter) for letter in sorted(members) if unicodedata.name(letter, "")]
    assert all("LATIN" in name or "ORDINAL INDICATOR" in name for name in names)
    letters = [
        chr(code)
        for code in range(0x250)
        if chr(code).isalpha() and "LATIN" in unicodedata.name(chr(code))
    ]
    assert set(letters) <= members


def test_half_of_the_letters_and_thirty_words_are_enough_to_decide():
    assert looks_english("ab 中文") and not looks_english("ab 中文字")
    assert looks_english("zzz " * 29) and not looks_english("zzz " * 30)
