"""A cached job: metadata read, the rest still bytes of its own."""

import msgspec

from tfjob.controller.objects import JobObject


def decoded(text: bytes) -> JobObject:
    return msgspec.json.decode(text, type=JobObject)


def test_manifest_is_plain_json_with_the_metadata_that_is_read() -> None:
    found = decoded(
        b'{"metadata":{"name":"j","namespace":"n","uid":"U","annotations":{"a":"b"},'
        b'"labels":{"x":"y"}},"spec":{"a":[1]},"status":{"b":null}}'
    )
    assert found.manifest() == {
        "metadata": {
            "name": "j",
            "namespace": "n",
            "uid": "U",
            "annotations": {"a": "b"},
            "deletionTimestamp": None,
        },
        "spec": {"a": [1]},
        "status": {"b": None},
    }


def test_absent_parts_are_null() -> None:
    found = decoded(b'{"metadata":{"name":"j"}}')
    assert (found.manifest()["spec"], found.manifest()["status"]) == (None, None)
    assert found.stored_status() == {}


def test_status_that_is_no_object_counts_as_none() -> None:
    assert decoded(b'{"metadata":{"name":"j"},"status":[1]}').stored_status() == {}
