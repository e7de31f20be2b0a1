"""The descriptor of the made-up API: all that is needed to register it."""

from tests.support.fake_dialect import BOARD, SCRIPT, FakeDialect
from tfjob.dialects.base import ChildApi
from tfjob.dialects.descriptor import INFORMER_VERBS, Access, Descriptor, Flag

DESCRIPTOR = Descriptor(
    name="toy",
    scheme="toyjob",
    dialects=(FakeDialect(),),
    job_verbs=("update",),
    job_why="followed; completed with a token",
    access=(
        Access(
            api=ChildApi("Job", "batch", "v1", "jobs"),
            verbs=(*INFORMER_VERBS, "create", "delete"),
            why="one per replica",
        ),
        Access(api=SCRIPT, verbs=(*INFORMER_VERBS, "create"), why="the script of a job"),
        Access(
            option="boards", api=BOARD, verbs=(*INFORMER_VERBS, "create"), why="the board of a job"
        ),
    ),
    options={"boards": 'eq .Values.operator.toyBoards "on"'},
    flags=(
        Flag(
            name="toy-boards",
            choices=("off", "on"),
            help="whether toys have boards",
            value="operator.toyBoards",
            local="off",
        ),
    ),
)
