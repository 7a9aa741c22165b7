# SPDX-License-Identifier: Apache-2.0
"""Every link of the site in FOLDER leads to a file and, in a page, to an anchor that is there; no page
loads anything from elsewhere. usage: check_links.py FOLDER"""

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "object": "data"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = {"", "top"}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag in LOADING and attrs.get(LOADING[tag]) and attrs.get("rel") != "canonical":
            self.loads.append(attrs[LOADING[tag]])
        elif tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])


root = pathlib.Path(sys.argv[1]).resolve()
pages = {path: Page(path) for path in sorted(root.rglob("*.html")) if "doxygen" not in path.parts}
wrong, n = [], 0
for path, page in pages.items():
    for link in page.loads + page.links:
        target, anchor = urldefrag(link)
        n += 1
        if ":" in target or target.startswith("//"):
            if link in page.loads and not target.startswith("data:"):
                wrong.append(f"{path.relative_to(root)} loads {link}")
            continue
        target = target.split("?")[0]
        to = (path.parent / unquote(target)).resolve() if target else path
        if not to.exists() or (to in pages and unquote(anchor) not in pages[to].ids):
            wrong.append(f"{path.relative_to(root)}: {link} leads nowhere")
print("\n".join(wrong[:50] + [f"docs: {len(pages)} pages, {n} links, {len(wrong)} broken"]))
sys.exit(bool(wrong) or len(pages) < 20)
