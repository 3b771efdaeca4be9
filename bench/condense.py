# SPDX-License-Identifier: BSD-3-Clause
"""What of a benchmark's results lies in bench/results/: all that its page and diagrams show, and no more."""
import json

DIGITS = 6  # significant ones
FEW = 4  # of bench/copies, whose spread is kept
CLOCKS = ("gpu", "wall")  # of bench/gpu
SPREAD = ("low", "high", "samples")
SHAPE = ("sectors", "strided", "block", "stride")  # of bench/gpu's layouts, by which they were judged


def condense_case(case):
    """Of the samples their median alone is kept."""
    case = {key: value for key, value in case.items() if key not in SPREAD + SHAPE}
    if "times" in case:
        case["times"] = {who: {clock: {"median": clocks[clock]["median"]} for clock in CLOCKS if clock in clocks}
                         for who, clocks in case["times"].items()}
    return case


def rounded(value, digits=DIGITS):
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each, digits) for each in value]
    return value


def condense(data, cases="cases"):
    data = {key: value for key, value in data.items() if key != "runs"}  # of bench/host: the samples
    data[cases] = [condense_case(case) for case in data[cases]]
    return rounded(data)


def to_text(data):
    """JSON with a line for each element of what stands at the top."""
    def short(value):
        return json.dumps(value, separators=(",", ":"))

    def block(value):
        if not value or not isinstance(value, (list, dict)):
            return short(value)
        if isinstance(value, list):
            return "[\n" + ",\n".join(map(short, value)) + "\n]"
        return "{\n" + ",\n".join(f"{short(key)}:{short(each)}" for key, each in value.items()) + "\n}"
    return "{\n" + ",\n".join(f"{short(key)}:{block(value)}" for key, value in data.items()) + "\n}\n"
