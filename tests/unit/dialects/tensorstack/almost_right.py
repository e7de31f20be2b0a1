"""Generates nearly valid specs, in which some values are arbitrary."""

from hypothesis import strategies as st

from tests.unit.dialects.almost_right import spoilt
from tests.unit.dialects.tensorstack.jobs import container
from tests.unit.k8s.json_values import JSON

TYPES = spoilt(st.sampled_from(["chief", "worker", "ps", "evaluator"]))
TEXTS = spoilt(st.lists(st.text(max_size=3), max_size=2))
START = st.fixed_dictionaries(
    {"type": TYPES},
    optional={"skipInitContainer": spoilt(st.booleans()), "command": TEXTS, "args": TEXTS},
)
TEMPLATE = st.fixed_dictionaries(
    {"spec": spoilt(st.just({"containers": [container()], "initContainers": []}))},
    optional={"metadata": JSON},
)
REPLICA = st.fixed_dictionaries(
    {"type": TYPES, "template": spoilt(TEMPLATE)},
    optional={
        "replicas": spoilt(st.integers(0, 3)),
        "restartPolicy": spoilt(st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])),
    },
)
BOARD = st.fixed_dictionaries(
    {"image": spoilt(st.just("i"))},
    optional={
        "trainingLogFilesets": spoilt(st.just(["t9k://pvc/p/a", "t9k://minio/s/b"])),
        "logDir": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "pvc": spoilt(st.just([{"name": "p", "subPath": ["a"]}])),
                    "s3": spoilt(st.just({"uri": ["a"]})),
                    "http": JSON,
                },
            )
        ),
        "suspend": spoilt(st.booleans()),
        "scheduler": spoilt(st.just({"t9kScheduler": {"queue": "q"}})),
        "resources": JSON,
    },
)
ENABLED = {"enabled": spoilt(st.booleans()), "enable": spoilt(st.booleans())}
STARTS = spoilt(st.lists(START, max_size=2))
SPEC = st.fixed_dictionaries(
    {"replicaSpecs": spoilt(st.lists(spoilt(REPLICA), min_size=1, max_size=3))},
    optional={
        "runPolicy": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "backoffLimit": spoilt(st.integers(-1, 3)),
                    "activeDeadlineSeconds": spoilt(st.integers(0, 2**63)),
                    "cleanUpPolicy": spoilt(st.sampled_from(["None", "all", "UNFINISHED"])),
                    "cleanPodPolicy": JSON,
                },
            )
        ),
        "scheduler": spoilt(st.just({"t9kScheduler": {"queue": "q", "priority": 1}})),
        "runMode": spoilt(
            st.fixed_dictionaries(
                {},
                optional={
                    "debug": st.fixed_dictionaries(
                        {}, optional={**ENABLED, "replicaSpecs": STARTS}
                    ),
                    "pause": st.fixed_dictionaries({}, optional={**ENABLED, "resumeSpecs": STARTS}),
                },
            )
        ),
        "tensorboardSpec": spoilt(BOARD),
    },
)
