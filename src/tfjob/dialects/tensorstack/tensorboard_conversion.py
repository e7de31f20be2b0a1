"""Converts tensorboardSpec: folders of claims and the image go over, other sources are lost."""

from typing import Any

from tfjob.dialects.base import BeyondHub
from tfjob.dialects.conversion_base import Fields, Losses
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.tensorstack.tensorboard_spec import CLAIM, Board, read_board


def take_tensorboard(spec: Fields, losses: Losses) -> Board | None:
    """Take the TensorBoard of a job; None if it has none, or if the target cannot have one."""
    path, given = spec.take("tensorboardSpec")
    if losses.is_for_hub or not given:
        if given:
            losses.note(
                path,
                f"{losses.target} has no such field; no TensorBoard is started; run one separately",
            )
        return None
    board = read_board(Reader(), given)
    if board is None:
        return None
    fields = spec.enter_item(given, path)
    fields.take("image")
    filesets, folder = fields.take("trainingLogFilesets"), fields.take("logDir")
    if board.elsewhere:
        losses.note(
            folder.path if filesets.value is None else filesets.path,
            f"{losses.target} reads logs from claims only; {', '.join(board.elsewhere)}: "
            + ("left out" if board.sources else "no TensorBoard is started"),
        )
    losses.drop(fields.take("suspend"), same=(False,), instead="TensorBoard is started at once")
    losses.drop(fields.take("scheduler"), same=({},), instead="TensorBoard waits in no queue")
    losses.drop(fields.take("resources"), same=({},), instead="TensorBoard asks for none")
    return board


def tensorboard_of(beyond: BeyondHub) -> dict[str, Any]:
    return {
        "image": beyond.tensorboard_image,
        "trainingLogFilesets": [
            f"{CLAIM}{each.claim}/{each.path}" if each.path else f"{CLAIM}{each.claim}"
            for each in beyond.log_folders
        ],
    }
