# SPDX-License-Identifier: Apache-2.0
"""The documents as a site (scripts/docs): Sphinx reads the Markdown files as they lie in the tree."""

import os
import re

project = "mirrormap"
version = release = os.environ["SITE_VERSION"]
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "maps/README.md",
                    "results/README.md", "api/*.rst"]
myst_heading_anchors = 4
highlight_language = "none"  # blocks are commands, C, Python and JSON
html_theme = "furo"  # light and dark, by the reader's setting
html_title = f"mirrormap {version}"
html_copy_source = False
html_show_copyright = False
pygments_style, pygments_dark_style = "default", "monokai"

if os.path.isdir(os.environ["SITE_XML"]):
    extensions.append("breathe")
    breathe_projects = {"mirrormap": os.environ["SITE_XML"]}
    breathe_default_project = "mirrormap"
    breathe_domain_by_extension = {"h": "c"}
    breathe_show_include = False

# The order in which to read.
NAVIGATION = {
    "Begin": "install tutorial findings",
    "Maps and agents": "maps ampo gaussian policies",
    "Studies": "learning tuning comparing report run-database",
    "Environments": "environments gridworld physics traces",
    "C and Python": "library python python-autodiff /api/index",
    "Machines": "same-bits cuda cluster performance",
    "The paper": "reproduce calibration /maps/README /results/README",
    "The project": "architecture /CONTRIBUTING /CHANGELOG",
}


def add_navigation(app, name, source):
    """Trees of contents, on the first page."""
    if name != "README":
        return
    for caption, pages in NAVIGATION.items():
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n"
        source[0] += "\n".join(p if p[0] == "/" else f"/docs/{p}" for p in pages.split()) + "\n```\n"


def color_blocks(app, name, source):
    """Indented blocks have no language: those that are clearly C, Python or a shell's get one."""
    if not name.startswith(("docs/", "README", "maps/")):
        return
    blocks = re.split(r"((?:^    .*\n(?:\n(?=    ))*)+)", source[0], flags=re.M)
    for i in range(1, len(blocks), 2):
        if blocks[i - 1] and not blocks[i - 1].endswith("\n\n"):
            continue  # within a list
        text = re.sub(r"^    ", "", blocks[i], flags=re.M)
        if re.search(r"^(import|from|def|for .*:$)|\bnp\.", text, flags=re.M):
            language = "python"
        elif re.search(r"^(mirrormap|build/|make|scripts/|bash|git|pip|mpirun|podman|source) ?", text):
            language = "bash"
        elif re.search(r";\s*(//.*)?$", text, flags=re.M):
            language = "c"
        else:
            continue
        blocks[i] = f"```{language}\n{text.rstrip()}\n```\n"
    source[0] = "".join(blocks)


def setup(app):
    app.connect("source-read", color_blocks)
    app.connect("source-read", add_navigation)
