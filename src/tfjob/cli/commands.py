"""The list of commands. Each is a module of its own, imported when it is needed."""

import argparse
import importlib
from collections.abc import Iterator
from typing import Protocol

COMMANDS = {
    "run": "run a job on this machine, without a cluster",
    "runs": "list the runs of `tfjob run` whose logs are kept",
    "attach": "follow a job as `tfjob run` does; Ctrl-C does not end the job",
    "local": "start and stop a small cluster on this machine",
    "validate": "check job files offline and list every fault with its line and a remedy",
    "plan": "show the pods, services and TF_CONFIG that a job would get",
    "convert": "convert jobs to another API and list what cannot be converted",
    "preflight": "check whether a job would start on a cluster now, and if not, say why",
    "submit": "create the jobs of a file on a cluster",
    "get": "list the jobs of a cluster",
    "explain": "say why a job does not run or why it failed, and what to do about it",
    "describe": "show a job's state, pods and events, and why it is not progressing",
    "logs": "print or follow the logs of a job's replicas",
    "events": "list or follow the events of a job and its pods",
    "top": "show the CPU and memory that the replicas of a job use",
    "exec": "run a command in the environment of a replica on this machine",
    "shell": "open a shell in the environment of a replica on this machine",
    "wait": "wait until a job runs or has finished",
    "suspend": "suspend jobs: delete their pods until they are resumed",
    "resume": "resume suspended jobs",
    "restart": "restart all replicas of a job, or one of them",
    "scale": "change the number of workers of a running job",
    "delete": "delete jobs",
    "completion": "print a script that completes commands, options and job names in a shell",
    "operator": "run the operator, which reconciles the jobs of a Kubernetes cluster",
}


class Command(Protocol):
    """The interface of a command's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def load(name: str) -> Command:
    module: Command = importlib.import_module(f"tfjob.cli.{name}")
    return module


def arguments_of(name: str) -> Iterator[argparse.Action]:
    """The arguments of a command and of its subcommands, as argparse describes them."""
    parser = argparse.ArgumentParser(prog=f"tfjob {name}")
    load(name).add_arguments(parser)
    for each in _with_subcommands(parser):
        yield from _actions(each)


def _with_subcommands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            yield from action.choices.values()


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no public list of arguments
