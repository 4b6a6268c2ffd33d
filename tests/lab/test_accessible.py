"""Every section without a fault that axe-core knows, on light and dark paper; narrow screens; the keyboard."""

import pytest

from gemmlab import chips

from .pages import SECTIONS, settle, wait_for


@pytest.mark.web
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(visit, axe, dark):
    page = visit("#/chips", dark=dark)
    page.evaluate(axe)
    for section in SECTIONS:
        page.evaluate("name => { location.hash = `#/${name}`; }", section)
        wait_for(page, section)
        settle(page)
        found = page.evaluate("async () => (await axe.run()).violations")
        said = [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]
        assert said == [], section


@pytest.mark.web
@pytest.mark.parametrize("language", ["en", "it"])
def test_no_section_is_wider_than_a_phone(visit, language):
    page = visit("#/chips", width=390, language=language)
    for section in SECTIONS:
        for level in ("elem", "adv"):
            page.evaluate("hash => { location.hash = hash; }", f"#/{section}?lvl={level}")
            wait_for(page, section)
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, (section, level)


@pytest.mark.web
def test_no_chip_is_wider_than_a_phone(visit):
    page = visit("#/chips", width=390)
    for chip in chips.names():
        page.evaluate("hash => { location.hash = hash; }", f"#/chips?chip={chip}")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, chip


@pytest.mark.web
def test_the_frame_is_worked_by_keyboard(visit):
    page = visit("#/chips")
    page.keyboard.press("Tab")
    assert "content" in page.evaluate("document.querySelector('lab-page').shadowRoot.activeElement.textContent")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('lab-page').shadowRoot.activeElement.tagName") == "MAIN"
    for setting, key, held in (("lang", "Italiano", "it"), ("theme", "Scuri", "dark"), ("lvl", "Elementare", "elem")):
        page.locator(f"[data-setting={setting}]").focus()
        page.keyboard.type(key)
        page.keyboard.press("Enter")
        page.wait_for_function("([name, held]) => location.hash.includes(`${name}=${held}`)", arg=[setting, held])
    assert page.evaluate("document.documentElement.lang") == "it"
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(15, 18, 23)"


#: choices of which some text is wider than its field
CUT = """() => {
  const pen = document.createElement('canvas').getContext('2d');
  const found = [];
  const walk = (node) => {
    for (const each of node.querySelectorAll('*')) {
      if (each.matches('select') && each.clientWidth > 0) {
        const look = getComputedStyle(each);
        pen.font = look.font;
        const texts = [...each.options].map((option) => option.text);
        const widest = texts.reduce((a, b) => (pen.measureText(a).width > pen.measureText(b).width ? a : b));
        const room = each.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight) - ARROW;
        if (pen.measureText(widest).width > room) found.push(widest);
      }
      if (each.shadowRoot) walk(each.shadowRoot);
    }
  };
  walk(document);
  return found;
}""".replace("ARROW", "16")


@pytest.mark.web
@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_choice_is_cut_off(visit, width, language):
    page = visit("#/chips", width=width, language=language)
    for section in SECTIONS:
        page.evaluate(
            "hash => { location.hash = hash; }", f"#/{section}?flow=os" if section == "systolic" else f"#/{section}"
        )
        wait_for(page, section)
        settle(page)
        assert page.evaluate(CUT) == [], section
