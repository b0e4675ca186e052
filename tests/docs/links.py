"""Follows every link of the built site: links.py SITE. Files and anchors must exist, and nothing may come from elsewhere."""
import html.parser
import pathlib
import sys
import urllib.parse

# What a browser fetches by itself; the others are links that a reader follows.
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.fetched = set(), set(), set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and tag != "meta":
                self.anchors.add(value)
            elif (tag, name) in FETCHED:
                self.fetched.add(value)
            elif tag == "a" and name == "href":
                self.links.add(value)


def check(site):
    """What is wrong, one line each, and the number of links."""
    pages = {file.resolve(): Page(file) for file in sorted(site.rglob("*.html"))}
    wrong, count = [], 0
    for file, page in pages.items():
        place = file.relative_to(site.resolve())
        for link in page.links | page.fetched:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.fetched and parts.scheme != "data":
                    wrong.append(f"{place}: {link} comes from elsewhere")
                continue
            count += 1
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                wrong.append(f"{place}: {link} leads nowhere")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{place}: {link} has no such anchor")
    return wrong, count


if __name__ == "__main__":
    found, number = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found))
    print(f"{number} links, {len(found)} wrong")
    sys.exit(bool(found) or number < 1000)
