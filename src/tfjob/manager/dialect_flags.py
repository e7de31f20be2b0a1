"""The flags that concern one dialect: each comes from that dialect's descriptor."""

import argparse

from tfjob.dialects.registry import DESCRIPTORS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for descriptor in DESCRIPTORS:
        for flag in descriptor.flags:
            parser.add_argument(
                f"--{flag.name}", choices=flag.choices, default=flag.choices[0], help=flag.help
            )


def options(arguments: argparse.Namespace) -> dict[str, str]:
    """The values of these flags by their names, as dialects read them; no defaults among them."""
    given = vars(arguments)
    flags = [flag for each in DESCRIPTORS for flag in each.flags]
    values = {flag: given[flag.name.replace("-", "_")] for flag in flags}
    return {flag.name: value for flag, value in values.items() if value != flag.choices[0]}
