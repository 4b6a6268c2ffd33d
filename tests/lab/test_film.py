"""The film in a browser: walked by keyboard, answered wrongly and rightly, restored from its address, still, moving."""

import re

import pytest

from .pages import settle, wait_for

#: chapter: stills, the one that asks, the right answer, a wrong one, and what is reckoned from the wrong one
CHAPTERS = {
    "table": (4, 2, "120", "100", 5),
    "single": (5, 3, "1024", "512", 1073741824),
    "tile": (6, 4, "32768", "2048", 32768),
    "reads": (5, 2, "16", "256", 8388608),
    "wait": (6, 4, "90", "100", 47),
    "roof": (5, 3, "8", "64", 8192),
    "cache": (5, 2, "7", "6", 24),
    "tensor": (5, 3, "2048", "1500", 1501),
    "array": (5, 3, "16", "24", 384),
    "rest": (5, 2, "2", "3", 324),
}
RIGHT = {"en": "Right.", "it": "Giusto."}
WRONG = {"en": "Not right.", "it": "Non è giusto."}
ASKING = "~".join(f"#/film?chapter={name}&step={ask}" for name, (_, ask, *_) in CHAPTERS.items()).split("~")


ACTIVE = (
    """() => document.querySelector('lab-page').shadowRoot.querySelector('lab-film').shadowRoot.activeElement?.id"""
)


def grouped(number, language):
    """The number as the language writes it."""
    return f"{number:,}".replace(",", "." if language == "it" else ",")


def place(page):
    """Chapter and still, by the address; what it leaves out is the first."""
    found = dict(re.findall(r"[?&](chapter|step)=(\w+)", page.url))
    return found.get("chapter", "table"), int(found.get("step", 0))


def answer(page, digits):
    """Type digits at a question, as a reader without a mouse does, and read what is said."""
    page.keyboard.type(digits)
    page.keyboard.press("Enter")
    settle(page)
    return page.locator("#reckoned").inner_text()


@pytest.mark.web
@pytest.mark.parametrize("language", ["en", "it"])
def test_the_film_is_walked_by_keyboard(visit, language):
    page = visit("#/film", language=language)
    captions = set()
    for name, (stills, ask, right, wrong, reckoned) in CHAPTERS.items():
        for step in range(stills):
            assert place(page) == (name, step)
            captions.add(page.locator(".caption").inner_text())
            if step == ask:
                said = answer(page, wrong)  # the first time the answer is left to be found
                assert WRONG[language] in said
                assert grouped(int(wrong), language) in said
                assert not re.search(rf"(?<![\d.,]){re.escape(grouped(int(right), language))}(?![\d.,]\d|\d)", said)
                said = answer(page, wrong)
                assert WRONG[language] in said
                assert grouped(int(wrong), language) in said
                assert grouped(reckoned, language) in said
                assert grouped(int(right), language) in said
                assert RIGHT[language] not in said
                said = answer(page, right)
                assert RIGHT[language] in said
                assert grouped(int(right), language) in said
            page.keyboard.press("ArrowRight")
            settle(page)
    assert len(captions) == sum(stills for stills, *_ in CHAPTERS.values())
    assert place(page) == ("rest", 4)  # the end is the end
    assert page.locator(".chapters button").all_inner_texts()[-1].count("✓") == 1
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert place(page) == ("rest", 3)
    page.keyboard.press("4")
    assert place(page) == ("reads", 0)
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert place(page) == ("tile", 5)


@pytest.mark.web
def test_what_is_no_number_is_said_and_numbers_are_read_as_they_are_written(visit):
    page = visit("#/film?chapter=tile&step=4&lang=it", language="it")
    page.locator("#answer").fill("tante")
    page.locator("#answer").press("Enter")
    assert "tante" in page.locator("#reckoned").inner_text()
    page.locator("#answer").fill("32.768")
    page.locator("#answer").press("Enter")
    assert "Giusto." in page.locator("#reckoned").inner_text()
    page.locator("#answer").press("Escape")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert place(page) == ("tile", 5)


@pytest.mark.web
def test_the_film_comes_back_from_its_address(visit):
    page = visit("#/film?chapter=reads&step=2&answers=___256______&shown=3&keys=0&lang=it&lvl=elem")
    said = page.locator("lab-film .card").inner_text()
    assert "8.388.608" in said
    page.reload()
    wait_for(page, "film")
    settle(page)
    assert page.locator("lab-film .card").inner_text() == said
    page.evaluate("hash => { location.hash = hash; }", "#/film?chapter=table&step=20&answers=1_2")
    settle(page)
    assert page.locator(".caption").inner_text() != ""  # a still that is not there is the last one
    assert "answers=1_2" in page.get_by_role("status").first.inner_text()


@pytest.mark.web
def test_the_answer_is_shown_when_it_is_asked_for_and_tabs_say_how_it_stands(visit):
    page = visit("#/film?chapter=table&step=2")
    said = answer(page, "100")
    assert "120" not in said
    assert page.evaluate(ACTIVE) == "answer"  # a second try is typed over the first
    tab = page.locator("[data-chapter=table]")
    assert "✗" in tab.inner_text()
    assert "not right yet" in tab.text_content()
    assert "✗ not right yet" in page.locator("nav.chapters p").inner_text()
    page.keyboard.press("Tab")  # to the button that checks
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    said = page.locator("#reckoned").inner_text()
    assert "Not right." in said
    assert "120" in said
    assert "shown=0" in page.url
    assert page.locator("[data-do=show]").count() == 0
    said = answer(page, "120")
    assert "Right." in said
    assert "✓" in tab.inner_text()


@pytest.mark.web
def test_a_right_second_try_needs_nothing_shown(visit):
    page = visit("#/film?chapter=table&step=2")
    answer(page, "100")
    said = answer(page, "120")
    assert "Right." in said
    assert "shown=" not in page.url
    assert page.locator("[data-do=show]").count() == 0


@pytest.mark.web
def test_the_film_is_what_a_newcomer_sees_first(visit):
    page = visit("")
    wait_for(page, "film")
    assert place(page) == ("table", 0)


@pytest.mark.web
def test_character_keys_can_be_left_to_others(visit):
    page = visit("#/film?keys=0")
    page.keyboard.press("4")
    page.keyboard.press("Space")
    settle(page)
    assert place(page) == ("table", 0)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert place(page) == ("table", 1)


@pytest.mark.web
def test_with_less_motion_there_are_stills_alone(visit):
    page = visit("#/film")
    assert page.locator("[data-do=play]").count() == 0
    page.keyboard.press("Space")  # which would play, and here goes on
    settle(page)
    assert place(page) == ("table", 1)
    assert page.evaluate("document.getAnimations().length") == 0
    assert moving(page) == 0


@pytest.mark.web
def test_it_plays_to_the_question_and_waits_there(visit):
    page = visit("#/film?chapter=tile", still=False)
    assert moving(page) == 0  # nothing moves by itself
    page.clock.install()
    page.keyboard.press("Space")
    settle_with(page)
    assert place(page) == ("tile", 1)
    assert moving(page) > 0
    assert page.locator("[data-do=play]").get_attribute("aria-pressed") == "true"
    for _ in range(10):
        page.clock.run_for(20_000)
    assert place(page) == ("tile", 4)
    assert page.locator("[data-do=play]").get_attribute("aria-pressed") == "false"
    page.locator("[data-do=play]").click()
    settle_with(page)
    assert place(page) == ("tile", 5)


def moving(page):
    """Animations of the picture."""
    figure = (
        "document.querySelector('lab-page').shadowRoot.querySelector('lab-film').shadowRoot.querySelector('figure')"
    )
    return page.evaluate(f"{figure}.getAnimations({{ subtree: true }}).length")


def settle_with(page):
    """`settle` where the clock is the test's."""
    page.clock.run_for(50)


@pytest.mark.web
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_any_chapter(visit, axe, dark):
    page = visit("#/film", dark=dark)
    page.evaluate(axe)
    for address, (_, _, _, wrong, _) in zip(ASKING, CHAPTERS.values(), strict=True):
        page.evaluate("hash => { location.hash = hash; }", address)
        settle(page)
        page.locator("lab-film details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        page.locator("#answer").fill(wrong)
        page.locator("#answer").press("Enter")
        settle(page)
        found = page.evaluate("async () => (await axe.run()).violations")
        assert [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]] == [], address


@pytest.mark.web
def test_every_chapter_opens_the_bench_at_its_numbers(visit):
    page = visit("#/film")
    for address in ASKING:
        page.evaluate("hash => { location.hash = hash; }", address)
        settle(page)
        link = page.locator("[data-do=bench]").get_attribute("href")
        assert link.startswith("#/bench"), address
        page.locator("[data-do=bench]").click()
        wait_for(page, "bench")
        assert page.url.endswith(link)
        assert page.get_by_role("status").first.inner_text() == "", address  # nothing of the address was dropped
    page.evaluate("hash => { location.hash = hash; }", "#/film?chapter=wait")
    settle(page)
    assert "m=2&n=2&k=4" in page.locator("[data-do=bench]").get_attribute("href")
