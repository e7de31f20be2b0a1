"""Lookups by key, owner, label and property."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tfjob.client.store import Store
from tfjob.k8s.meta import ObjectMeta, OwnerReference


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def thing(
    name: str, *, owner: str | None = None, job: str | None = None, namespace: str = "ns"
) -> Thing:
    owners = () if owner is None else (OwnerReference(uid=owner, controller=True),)
    labels = {} if job is None else {"job": job}
    return Thing(ObjectMeta(namespace=namespace, name=name, owner_references=owners, labels=labels))


def _has_an_owner(item: Thing) -> bool:
    return item.metadata.controller_uid is not None


def names(things: list[Thing]) -> set[str]:
    return {each.metadata.name for each in things}


def test_objects_are_found_by_key_owner_and_label() -> None:
    store = Store[Thing](label="job")
    store.put(thing("a", owner="u1", job="j1"))
    store.put(thing("b", owner="u1", job="j2"))
    store.put(thing("c"))
    assert store.get(("ns", "a")) == thing("a", owner="u1", job="j1")
    assert store.get(("other", "a")) is None
    assert names(store.owned_by("ns", "u1")) == {"a", "b"}
    assert names(store.labelled("ns", "j1")) == {"a"}
    assert store.labelled("other", "j1") == []
    assert len(store) == 3


def test_what_changes_becomes_the_last_of_its_owner() -> None:
    store = Store[Thing]()
    for name in ("a", "b", "c", "a"):
        store.put(thing(name, owner="u1"))
    assert [each.metadata.name for each in store.owned_by("ns", "u1")] == ["b", "c", "a"]


def test_an_owner_that_does_not_manage_is_not_an_owner() -> None:
    store = Store[Thing]()
    reference = OwnerReference(uid="u1", controller=False)
    store.put(Thing(ObjectMeta(namespace="ns", name="a", owner_references=(reference,))))
    assert store.owned_by("ns", "u1") == []


def test_an_object_that_names_an_owner_of_another_namespace_is_not_owned_by_it() -> None:
    store = Store[Thing]()
    store.put(thing("a", owner="u1"))
    store.put(thing("a", owner="u1", namespace="evil"))
    assert store.owned_by("ns", "u1") == [thing("a", owner="u1")]
    store.remove(("evil", "a"))
    assert (store.owned_by("evil", "u1"), len(store._by_owner)) == ([], 1)


def test_without_a_label_nothing_is_indexed_by_label() -> None:
    store = Store[Thing]()
    store.put(thing("a", job="j1"))
    assert store.labelled("ns", "j1") == []


def test_indexes_use_no_memory_for_deleted_objects() -> None:
    store = Store[Thing](label="job", picks=_has_an_owner)
    for number in range(5):
        store.put(thing("a", owner=f"u{number}", job=f"j{number}"))
    assert (len(store._by_owner), len(store._by_label), len(store._picked)) == (1, 1, 1)
    store.remove(("ns", "a"))
    assert (len(store._by_owner), len(store._by_label), len(store._picked)) == (0, 0, 0)


optional = st.none() | st.sampled_from(["1", "2"])
steps = st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), optional, optional), max_size=40)


@given(steps=steps)
def test_indexes_always_agree_with_the_objects(
    steps: list[tuple[bool, str, str | None, str | None]],
) -> None:
    store = Store[Thing](label="job", picks=_has_an_owner)
    expected: dict[str, Thing] = {}
    for is_removed, name, owner, job in steps:
        if is_removed:
            assert store.remove(("ns", name)) == expected.pop(name, None)
        else:
            item = thing(name, owner=owner, job=job)
            assert store.put(item) == expected.get(name)
            expected[name] = item
    assert names(list(store)) == set(expected)
    for value in ("1", "2"):
        owned = [each for each in expected.values() if each.metadata.controller_uid == value]
        marked = [each for each in expected.values() if each.metadata.labels.get("job") == value]
        assert names(store.owned_by("ns", value)) == names(owned)
        assert names(store.labelled("ns", value)) == names(marked)
    assert names(store.picked("ns")) == names([*filter(_has_an_owner, expected.values())])
    assert store.picked("other") == []
