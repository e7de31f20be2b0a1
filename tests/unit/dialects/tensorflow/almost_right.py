"""Generates nearly valid TfJob specs, in which some values are arbitrary."""

from hypothesis import strategies as st

from tests.unit.dialects.almost_right import spoilt
from tests.unit.dialects.tensorflow.jobs import entry
from tests.unit.k8s.json_values import JSON

CONTAINER = st.fixed_dictionaries(
    {"name": spoilt(st.sampled_from(["tensorflow", "side"])), "image": spoilt(st.just("img"))},
    optional={
        "env": spoilt(st.lists(st.fixed_dictionaries({"name": spoilt(st.just("E"))}), max_size=2)),
        "volumeMounts": spoilt(st.just([{"name": "ps-config-volume"}])),
        "resources": spoilt(
            st.fixed_dictionaries({"limits": spoilt(st.just({"gpu": 1}))}) | st.none()
        ),
    },
)
TEMPLATE = st.fixed_dictionaries(
    {
        "spec": spoilt(
            st.fixed_dictionaries(
                {"containers": spoilt(st.lists(CONTAINER, min_size=1, max_size=2))},
                optional={
                    "restartPolicy": spoilt(st.sampled_from(["OnFailure", "Never", ""])),
                    "volumes": spoilt(st.just([{"name": "v"}])),
                },
            )
        )
    },
    optional={"metadata": spoilt(st.just({"labels": {"a": "b"}}))},
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "tfReplicaType": spoilt(st.sampled_from(["MASTER", "WORKER", "PS"])),
        "TFREPLICATYPE": spoilt(st.sampled_from(["WORKER", "PS"])),
        "IsDefaultPS": spoilt(st.booleans()),
        "replicas": spoilt(st.integers(0, 2)),
        "tfPort": spoilt(st.integers(1, 9)),
        "template": spoilt(TEMPLATE),
    },
)
SPEC = st.fixed_dictionaries(
    {"replicaSpecs": st.lists(spoilt(ENTRY), max_size=2).map(lambda found: [entry(), *found])},
    optional={
        "RuntimeId": spoilt(st.just("76no")),
        "replica_specs": JSON,
        "tfImage": spoilt(st.just("img")),
        "tensorboard": spoilt(
            st.fixed_dictionaries(
                {"logDir": spoilt(st.just("d"))},
                optional={"volumes": JSON, "volumeMounts": JSON, "serviceType": JSON},
            )
        ),
        "terminationPolicy": spoilt(
            st.fixed_dictionaries(
                {
                    "chief": spoilt(
                        st.fixed_dictionaries(
                            {},
                            optional={
                                "replicaName": spoilt(st.sampled_from(["MASTER", "WORKER"])),
                                "replicaIndex": spoilt(st.integers(0, 1)),
                            },
                        )
                    )
                }
            )
        ),
    },
)
