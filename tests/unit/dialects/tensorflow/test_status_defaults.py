"""What the operator supplies for replicas is shown in the status, and nothing is shown twice."""

import yaml

from tests.support import seeds
from tests.unit.dialects.tensorflow.jobs import (
    Life,
    around,
    defaults_of,
    entry,
    example,
    template,
    tfjob,
)


def test_seed_001_line_412_server_without_a_template_is_shown_with_the_one_it_gets() -> None:
    master, worker, server = defaults_of(example())
    assert master == {"IsDefaultPS": False, "tfReplicaType": "MASTER"}
    assert worker == {"IsDefaultPS": False, "tfReplicaType": "WORKER"}
    assert (server["IsDefaultPS"], server["tfReplicaType"]) == (True, "PS")
    printed = seeds.published("001-example-job-as-stored")["spec"]["replicaSpecs"][2]["template"]
    (container,) = server["template"]["spec"]["containers"]
    (expected,) = printed["spec"]["containers"]
    assert {**container, "resources": {}} == expected
    assert server["template"]["spec"]["restartPolicy"] == printed["spec"]["restartPolicy"]


def test_seed_001_line_434_spec_that_shows_it_has_no_copy_in_the_status() -> None:
    given = seeds.published("001-example-job-as-stored")
    assert "replicaSpecs" not in Life({**given, "status": None}).go().status


def test_template_of_a_user_is_not_copied() -> None:
    given = tfjob(entry(), entry("PS"))
    assert ["template" in each for each in defaults_of(given)] == [False, False]


def test_template_that_gets_a_server_is_shown_with_it() -> None:
    given = tfjob(entry(), entry("PS", template=template("side")))
    names = [each["name"] for each in defaults_of(given)[1]["template"]["spec"]["containers"]]
    assert names == ["side", "tensorflow"]


def test_word_of_a_user_on_default_servers_is_ignored() -> None:
    given = tfjob(entry(), entry("PS", IsDefaultPS=True))
    assert [each["IsDefaultPS"] for each in defaults_of(given)] == [False, False]


def test_older_spelling_of_the_list_is_understood() -> None:
    given = tfjob()
    given["spec"] = {"replica_specs": [entry(), {"tfReplicaType": "PS"}]}
    assert [each["IsDefaultPS"] for each in defaults_of(given)] == [False, True]


def test_it_stays_as_it_is_until_the_job_has_ended() -> None:
    life = Life(example()).go()
    before = yaml.safe_dump(life.status["replicaSpecs"])
    life.go(around(life.job, succeeded=["master-76no-0"]))
    assert life.shown == ("Done", "Succeeded")
    assert yaml.safe_dump(life.status["replicaSpecs"]) == before
