from tfjob.cli.log_view import LogLine, LogView


def view_of(*lines: str, kept: int = 100) -> LogView:
    """Lines such as `worker-0 hello`."""
    view = LogView(kept=kept)
    for each in lines:
        replica, _, text = each.partition(" ")
        view.add(LogLine(replica, text))
    return view


def test_every_line_is_taken_once() -> None:
    view = view_of("worker-0 a", "worker-1 b")
    assert view.take() == [LogLine("worker-0", "a"), LogLine("worker-1", "b")]
    assert view.take() == []


def test_a_chosen_replica_hides_the_lines_of_others() -> None:
    view = view_of("worker-0 a", "worker-1 b")
    view.replica = "worker-1"
    assert view.take() == [LogLine("worker-1", "b")]


def test_a_search_ignores_case() -> None:
    view = view_of("worker-0 Loss 0.1", "worker-0 step 2")
    view.search = "loss"
    assert view.take() == [LogLine("worker-0", "Loss 0.1")]


def test_recent_lines_include_printed_ones_and_are_not_taken_again() -> None:
    view = view_of("worker-0 a", "worker-1 b", "worker-0 c")
    view.take()
    view.add(LogLine("worker-0", "d"))
    view.replica = "worker-0"
    assert [line.text for line in view.recent(2)] == ["c", "d"]
    assert view.take() == []


def test_a_pause_holds_lines_back_until_it_ends() -> None:
    view = view_of()
    view.is_paused = True
    view.add(LogLine("worker-0", "a"))
    assert (view.take(), view.waiting) == ([], 1)
    view.is_paused = False
    assert view.take() == [LogLine("worker-0", "a")]


def test_a_long_pause_skips_the_oldest_lines_and_counts_them() -> None:
    view = view_of(kept=2)
    view.is_paused = True
    for text in "abcde":
        view.add(LogLine("worker-0", text))
    assert (view.waiting, view.skipped) == (5, 3)
    view.is_paused = False
    assert [line.text for line in view.take()] == ["d", "e"]
    assert view.skipped == 0


def test_lines_that_arrive_faster_than_they_are_taken_are_all_taken() -> None:
    view = view_of(*(f"worker-0 {place}" for place in range(50)), kept=10)
    assert len(view.take()) == 50
