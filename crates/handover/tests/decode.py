"""Prints the fields of PDUs by the path of their tags: a decoder of BER (X.690) that knows nothing of the encoder.

Reads PDUs as lines of hexadecimal digits from standard input. For each, prints a line for every primitive element: the
path of tags from the outside, where `u16` is the universal tag 16 and `2` the context-specific tag 2, with `[n]` for
the n-th of several with the same tag below one parent, then the contents in hexadecimal digits. A blank line ends each.

It accepts definite lengths alone, and complains of any that is not in its shortest form, of an INTEGER with a needless
first octet, and of octets that are left over.
"""

import sys

CLASSES = ["u", "a", "", "p"]  # X.690 clause 8.1.2.2


class Malformed(Exception):
    pass


def identifier(octets, at):
    """Class, whether constructed, number and where the next octet is (clause 8.1.2)."""
    first = octets[at]
    number = first & 0x1F
    at += 1
    if number == 0x1F:
        number = 0
        while True:
            octet = octets[at]
            at += 1
            number = number << 7 | octet & 0x7F
            if not octet & 0x80:
                break
    return first >> 6, bool(first & 0x20), number, at


def length(octets, at):
    """Length and where the contents begin (clause 8.1.3)."""
    first = octets[at]
    at += 1
    if first < 0x80:
        return first, at
    count = first & 0x7F
    if count == 0:
        raise Malformed("indefinite length")
    value = int.from_bytes(octets[at : at + count], "big")
    if value < 0x80 or octets[at] == 0:
        raise Malformed("length longer than it has to be")
    return value, at + count


def elements(octets):
    at = 0
    while at < len(octets):
        kind, constructed, number, at = identifier(octets, at)
        size, at = length(octets, at)
        if at + size > len(octets):
            raise Malformed("an element reaches beyond its parent")
        yield CLASSES[kind] + str(number), constructed, octets[at : at + size]
        at += size


def walk(octets, path):
    seen = {}
    for tag, constructed, contents in elements(octets):
        index = seen.get(tag, 0)
        seen[tag] = index + 1
        here = path + [tag if index == 0 else f"{tag}[{index}]"]
        if constructed:
            yield from walk(contents, here)
        else:
            yield ".".join(here), contents


# The fields that are INTEGER or ENUMERATED below an implicit tag, by the end of their path: clause 8.3.2 holds for them.
INTEGERS = {"u16.1.3.1", "u16.1.4", "u16.1.7.0", "u16.1.7.1", "u16.1.8"}


def main():
    for line in sys.stdin:
        octets = bytes.fromhex(line.strip())
        tops = list(elements(octets))
        if len(tops) != 1 or tops[0][0] != "u16":
            raise Malformed("not one SEQUENCE")
        for path, contents in walk(octets, []):
            if path in INTEGERS and len(contents) > 1:
                if contents[0] == 0 and contents[1] < 0x80 or contents[0] == 0xFF and contents[1] >= 0x80:
                    raise Malformed(f"{path}: INTEGER longer than it has to be")
            print(path, contents.hex())
        print()


if __name__ == "__main__":
    main()
