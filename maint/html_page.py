# SPDX-License-Identifier: BSD-3-Clause
"""Writes README.gpu, which comes by the standard input, as a web page that stands alone."""
import html
import sys

import markdown

CONTENTS = "Contents:"  # begins the paragraph in whose place links stand

STYLE = """\
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: .3em .6em; vertical-align: top; }
th { background: #f2f2f2; text-align: left; } pre { background: #f6f6f6; padding: .8em; overflow-x: auto; }
"""


def with_links(text):
    """The paragraph that lists the sections, as links to them."""
    paragraphs = text.split("\n\n")
    return "\n\n".join("[TOC]" if part.lstrip("\n").startswith(CONTENTS) else part for part in paragraphs)


def plain_text(converter):
    """Stars and underscores stand for themselves: the guide has names with both, and no emphasis."""
    for pattern in ("em_strong", "em_strong2"):
        converter.inlinePatterns.deregister(pattern)
    return converter


def page(text):
    converter = plain_text(markdown.Markdown(extensions=["tables", "toc"],
                                             extension_configs={"toc": {"toc_depth": "2-2"}}))
    body = converter.convert(with_links(text))
    title = html.escape(text.strip().partition("\n")[0])
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f"<style>\n{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")


if __name__ == "__main__":
    sys.stdout.write(page(sys.stdin.read()))
