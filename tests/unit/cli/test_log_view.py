from tfjob.cli.log_view import LogLine, LogView


def taken(view: LogView) -> list[LogLine]:
    """The lines that are ready, and now count as printed."""
    lines = view.ready()
    view.printed()
    return lines


def view_of(*lines: str, kept: int = 100) -> LogView:
    """Lines such as `worker-0 hello`."""
    view = LogView(kept=kept)
    for each in lines:
        replica, _, text = each.partition(" ")
        view.add(LogLine(replica, text))
    return view


def test_every_line_is_ready_until_it_is_printed() -> None:
    view = view_of("worker-0 a", "worker-1 b")
    lines = [LogLine("worker-0", "a"), LogLine("worker-1", "b")]
    assert view.ready() == view.ready() == lines
    view.printed()
    assert view.ready() == []


def test_a_chosen_replica_hides_the_lines_of_others() -> None:
    view = view_of("worker-0 a", "worker-1 b")
    view.replica = "worker-1"
    assert view.ready() == [LogLine("worker-1", "b")]


def test_a_search_ignores_case() -> None:
    view = view_of("worker-0 Loss 0.1", "worker-0 step 2")
    view.search = "loss"
    assert view.ready() == [LogLine("worker-0", "Loss 0.1")]


def test_recent_lines_include_printed_ones_and_are_not_printed_again() -> None:
    view = view_of("worker-0 a", "worker-1 b", "worker-0 c")
    view.printed()
    view.add(LogLine("worker-0", "d"))
    view.replica = "worker-0"
    assert [line.text for line in view.recent(2)] == ["c", "d"]
    view.printed()
    assert view.ready() == []


def test_lines_of_a_pause_are_ready_when_it_ends() -> None:
    view = view_of()
    view.is_paused = True
    view.add(LogLine("worker-0", "a"))
    assert (view.ready(), view.recent(9), view.waiting) == ([], [], 1)
    view.is_paused = False
    assert view.ready() == [LogLine("worker-0", "a")]


def test_a_long_pause_skips_the_oldest_lines_and_counts_them() -> None:
    view = view_of(kept=2)
    view.is_paused = True
    for text in "abcde":
        view.add(LogLine("worker-0", text))
    assert (view.waiting, view.skipped) == (5, 3)
    view.is_paused = False
    assert [line.text for line in taken(view)] == ["d", "e"]
    assert view.skipped == 0


def test_lines_that_arrive_faster_than_they_are_printed_are_all_ready() -> None:
    view = view_of(*(f"worker-0 {place}" for place in range(50)), kept=10)
    assert len(view.ready()) == 50


def test_hidden_and_paused_lines_count_as_unprinted() -> None:
    view = view_of("worker-0 a", "worker-1 b")
    view.replica, view.is_paused = "worker-1", True
    assert [line.text for line in view.unprinted()] == ["a", "b"]
