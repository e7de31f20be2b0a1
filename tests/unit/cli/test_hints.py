from tfjob.cli import hints


def test_a_missing_module_names_the_python_that_lacks_it() -> None:
    lines = ["Traceback", "ModuleNotFoundError: No module named 'yaml.x'", "bye"]
    hint = hints.for_lines(lines, python="/v/bin/python")
    assert hint.startswith("yaml.x is not installed for /v/bin/python; ")


def test_other_lines_give_no_hint() -> None:
    assert hints.for_lines(["ValueError: no"], python="/v/bin/python") == ""
