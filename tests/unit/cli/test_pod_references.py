from tfjob.cli.pod_references import references_of


def test_everything_that_a_pod_needs_is_found_and_optional_objects_are_not() -> None:
    spec = {
        "serviceAccountName": "robot",
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "pull"}],
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "secret": {"secretName": "key"}},
            {"name": "c", "projected": {"sources": [{"configMap": {"name": "part"}}]}},
            {"name": "d", "configMap": {"name": "maybe", "optional": True}},
            {"name": "e", "emptyDir": {}},
        ],
        "initContainers": [{"envFrom": [{"configMapRef": {"name": "all"}}]}],
        "containers": [
            {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "one", "key": "k"}}}]}
        ],
    }
    assert {each.title for each in references_of({"spec": spec})} == {
        "ServiceAccount 'robot'",
        "PriorityClass 'high'",
        "Secret 'pull'",
        "Secret 'key'",
        "Secret 'one'",
        "PersistentVolumeClaim 'data'",
        "ConfigMap 'part'",
        "ConfigMap 'all'",
    }


def test_an_empty_pod_needs_nothing() -> None:
    assert references_of({}) == set()
