# SPDX-License-Identifier: BSD-3-Clause
"""Man pages: of the functions that a header declares, from the comments there, and of a tool from its --help."""
import re

FUNCTION = re.compile(r"^HEDDLE_API\s+([^;]*?)\b(heddle_\w+)(\([^;]*\));", re.M | re.S)


def escaped(text):
    """Text as roff takes it, whatever its lines begin with."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def plain(comment):
    """A comment without its stars."""
    lines = [re.sub(r"^\s*(?:/\*|\*/|\*)? ?", "", line).rstrip() for line in comment.removesuffix("*/").splitlines()]
    return "\n".join(lines).strip()


def prose(comment):
    """The same for roff; blank lines part paragraphs."""
    return "\n.PP\n".join(escaped(part.strip("\n")) for part in plain(comment).split("\n\n"))


def declared(text):
    """Each function of a header: its name, its declaration, and the comment above it or above its neighbour."""
    comment, end = "", 0
    for function in FUNCTION.finditer(text):
        between = text[end : function.start()]
        comments = re.findall(r"/\*.*?\*/", between, re.S)
        if comments and between.rstrip().endswith(comments[-1]):
            comment = comments[-1]
        end = function.end()
        yield function[2], " ".join((function[1] + function[2] + function[3]).split()), comment


def page(name, section, version, body):
    return f'.TH {name.upper()} {section} "" "Heddle {version}" "Heddle"\n.SH NAME\n{body}'


def of_functions(header, version):
    """man3/NAME.3 for each function."""
    made = {}
    for name, declaration, comment in declared(header.read_text()):
        summary = re.split(r"(?<=[.:]) ", " ".join(prose(comment).replace(".PP", "").split()))[0].rstrip(".:")
        body = f"{escaped(name)} \\- {summary}\n.SH SYNOPSIS\n.nf\n#include <{header.name}>\n\n"
        body += f"{escaped(declaration)};\n.fi\n.SH DESCRIPTION\n{prose(comment)}\n"
        made[f"man3/{name}.3"] = page(name, 3, version, body)
    return made


def of_tool(name, help_text, version):
    body = f"{escaped(name)} \\- a tool of Heddle\n.SH DESCRIPTION\n.nf\n{escaped(help_text.rstrip())}\n.fi\n"
    return page(name, 1, version, body)
