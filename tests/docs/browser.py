"""Opens every page of the built site in headless Chromium, from its folder: browser.py SITE PICTURES.

A page may report nothing in the console, every link must lead to a page or an anchor that the browser has, no page is wider than
a phone, and the search finds what is looked for. Pictures of some pages, light and dark, wide and on a phone, are for people.
The status is 3, and standard error says so, if there is no Chromium: nothing was looked at then.
"""
import pathlib
import shutil
import sys
import time
import urllib.parse

PICTURED = ["index.html", "docs/tutorial.html", "docs/guide.html", "docs/operations.html", "docs/memory.html",
            "cpp/core/tensor.html", "python/asyncgrad.html", "examples/README.html"]
SEARCHES = {"conv2d": "conv2d", "set_engine_options": "set_engine_options", "early stopping": "How far a loop runs ahead"}
PHONE, DESK = (390, 844), (1280, 1000)

LOOK = """
const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
const images = [...document.images].filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src);
return [links, ids, images, document.documentElement.scrollWidth, window.innerWidth];
"""


def browser():
    """A headless Chromium, or None."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def size(chromium, extents):
    """The extents of what a page sees, which may be narrower than a window can be."""
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": extents[0], "height": extents[1], "deviceScaleFactor": 1, "mobile": extents == PHONE})


def look(chromium, site):
    """Everything that is wrong with the pages, one line each, and how many pages and links there are."""
    wrong, links, ids = [], {}, {}
    for file in sorted(site.rglob("*.html")):
        name, url = str(file.relative_to(site)), file.as_uri()
        size(chromium, PHONE)
        chromium.get(url)
        own, found, broken, width, window = chromium.execute_script(LOOK)
        links[name], ids[url] = set(own), set(found)
        wrong += [f"{name}: {entry['message']}" for entry in chromium.get_log("browser")]
        wrong += [f"{name}: the picture {image} is not shown" for image in broken]
        if width > window:
            wrong.append(f"{name}: {width} pixels wide on a phone of {window}")
    for name, targets in links.items():
        for target in targets:
            page, fragment = urllib.parse.urldefrag(target)
            if not page.startswith("file:"):
                continue
            page = page.split("?")[0]
            if page not in ids:
                if not pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(page).path)).is_file():
                    wrong.append(f"{name}: {target} leads nowhere")
            elif fragment and urllib.parse.unquote(fragment) not in ids[page]:
                wrong.append(f"{name}: {target} has no such anchor")
    return wrong, len(links), sum(len(one) for one in links.values())


def search(chromium, site, words, expected):
    """What is wrong with the search for words, whose results have to name `expected`."""
    size(chromium, DESK)
    chromium.get((site / "search.html").as_uri() + "?" + urllib.parse.urlencode({"q": words}))
    results = []
    for _ in range(50):
        results = chromium.execute_script("return [...document.querySelectorAll('#search-results li')].map(e => e.innerText);")
        if results:
            break
        time.sleep(0.1)
    time.sleep(0.5)  # further results
    errors = [f"the search for '{words}': {entry['message']}" for entry in chromium.get_log("browser")]
    if not any(expected in result for result in results):
        errors.append(f"the search for '{words}' finds {len(results)} pages, and none with '{expected}'")
    return errors


def take_pictures(chromium, site, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURED:
        if not (site / name).exists():
            continue
        for theme in ("light", "dark"):
            for device, extents in (("desk", DESK), ("phone", PHONE)):
                size(chromium, extents)
                chromium.get((site / name).as_uri())
                chromium.execute_script(f"localStorage.setItem('theme', '{theme}'); document.body.dataset.theme = '{theme}';")
                chromium.save_screenshot(str(folder / f"{name.replace('/', '-').removesuffix('.html')}-{theme}-{device}.png"))


def main(site, folder):
    chromium = browser()
    if chromium is None:
        print("NOT LOOKED AT: there is no chromium with chromedriver (Debian's chromium and chromium-driver), so no page was "
              "opened, no console read, nothing searched and no picture taken.", file=sys.stderr)
        return 3
    try:
        wrong, pages, links = look(chromium, site)
        for words, expected in SEARCHES.items():
            wrong += search(chromium, site, words, expected)
        take_pictures(chromium, site, folder)
    finally:
        chromium.quit()
    print("\n".join(wrong))
    print(f"{pages} pages, {links} links, {len(SEARCHES)} searches, {len(wrong)} wrong; pictures are in {folder}")
    return int(bool(wrong) or pages < 100)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
