"""Decoding as a typed API server does."""

import pytest

from tfjob.k8s.typed_decode import WrongTypeError, typed_object, typed_template

ODD = {
    "metadata": {"labels": {"a": 1}, "colour": "red"},
    "spec": {
        "containers": [
            {"name": "a", "command": "x", "env": [{"name": "A", "value": 1}]},
            None,
        ],
        "priority": 2**31,
        "hostNetwork": "yes",
        "overhead": {"cpu": "much"},
        "nodeSelector": None,
    },
}


def test_every_wrong_field_of_a_template_is_named_at_once() -> None:
    found = typed_template(ODD, path="t")
    assert [(each.path, each.value, each.wanted) for each in found.wrong] == [
        ("t.metadata.labels[a]", 1, "string"),
        ("t.spec.containers[0].command", "x", "[]string"),
        ("t.spec.containers[0].env[0].value", 1, "string"),
        ("t.spec.containers[1]", None, "v1.Container"),
        ("t.spec.priority", 2**31, "int32"),
        ("t.spec.hostNetwork", "yes", "bool"),
        ("t.spec.overhead[cpu]", "much", "resource.Quantity"),
    ]
    assert found.unknown == ("t.metadata.colour",)


def test_right_template_is_read_as_it_is() -> None:
    template = {"spec": {"containers": [{"name": "a", "command": ["x"]}]}}
    found = typed_template(template, path="t")
    assert (found.value, found.unknown, found.wrong) == (template, (), ())


def test_first_wrong_field_of_an_object_is_an_error_in_the_words_of_go() -> None:
    pod = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"x.com/y": []}}}]}}
    with pytest.raises(WrongTypeError, match="quantities must match the regular expression"):
        typed_object(pod, "Pod")
    text = "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type"
    with pytest.raises(WrongTypeError, match=text):
        typed_object({"metadata": {"labels": {"x.com/y": 1}}}, "Pod")
