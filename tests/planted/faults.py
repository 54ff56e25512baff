"""Faults, one or two for each part of hpcsolve, and the tests that must find them.

A fault is a text of hpcsolve or cuda_src that stands there once, and another one in its place. A text is found wherever
its module has moved to. Whoever rewrites it writes the fault anew, with the same mistake in it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A mistake to plant.

    Attributes
    ----------
    name
        What goes wrong.
    old, new
        The text that is right, and the one that takes its place.
    tests
        Tests that must find it, as pytest names them.
    """

    name: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = (
    Fault(
        "the shares of ranks",
        "rank * short + min(rank, longer) for rank",
        "rank * short + min(rank + 1, longer) for rank",
        ("tests/mpi/test_deal.py::test_every_item_once_in_order_and_evenly",),
    ),
    Fault(
        "terms that only another rank has",
        "[*first, *(name for name in record if name not in first)]",
        "[*first]",
        ("tests/mpi/test_deal.py::test_the_first_difference_is_named",),
    ),
    Fault(
        "the exit code of the run",
        "return max(theirs for theirs, _ in ends)",
        "return min(theirs for theirs, _ in ends)",
        ("tests/mpi/test_guard.py::test_an_error_after_the_last_message_is_printed",),
    ),
    Fault(
        "Ctrl-C before another signal",
        "if self.asked is None or number == signal.SIGINT:",
        "if self.asked is None:",
        ("tests/checkpoint/test_command.py::test_ctrl_c_counts_more_than_a_signal_before_it",),
    ),
    Fault(
        "the exit code of a stopped run",
        "exit_code = 75",
        "exit_code = 70",
        ("tests/checkpoint/test_command.py::test_a_signal_stops_a_run_and_the_same_command_goes_on",),
    ),
    Fault(
        "the key in a message",
        '{name}.{key}-sha256", f"{key} does not name a file',
        '{name}.{key}", f"{key} does not name a file',
        ("tests/cli/test_bad_input.py::test_bad_questions",),
    ),
    Fault(
        "overflow of rounded costs",
        "* (1 + 2.0**-50) + 1 <= largest",
        "* (1 + 2.0**-50) <= 4 * largest",
        ("tests/problems/test_rounding.py::test_floats_are_rounded_to_the_finest_unit",),
    ),
    Fault(
        "the claim of a rounded latency",
        "back = n * in_order[0] if",
        "back = in_order[0] if",
        ("tests/problems/test_rounding.py::test_how_often_the_errors_of_four_cities_count",),
    ),
    Fault(
        "the direction of arcs",
        '"arcs", directed is not False)',
        '"arcs", bool(directed))',
        ("tests/formats/test_directions.py::test_two_weights_between_two_vertices",),
    ),
    Fault(
        "the line of a number",
        'enumerate(text.split("\\n"), start=section.line)',
        'enumerate(text.split("\\n"), start=section.line + 1)',
        ("tests/formats/test_bad_input.py::test_bad_tsplib_files",),
    ),
    Fault(
        "a triangle by columns",
        '"UPPER_COL": Listed("lower", False)',
        '"UPPER_COL": Listed("upper", False)',
        ("tests/formats/test_tsplib.py::test_places_of_entries",),
    ),
    Fault(
        "Holm's correction",
        "(count - rank) * p_values[place]",
        "(count - rank - 1) * p_values[place]",
        ("tests/analysis/test_statistics.py::test_several_comparisons_are_corrected",),
    ),
    Fault(
        "the gap of a bound",
        "return above / abs(float(bound)) if bound",
        "return above / abs(float(cost)) if bound",
        ("tests/analysis/test_collect.py::test_a_gap_is_a_part_of_the_bound",),
    ),
    Fault(
        "the colour of a source",
        "nearest_index[nearest == source] = index + 1",
        "nearest_index[nearest == source] = index",
        ("tests/analysis/test_plot_data.py::test_cells_have_the_colours_of_their_sources",),
    ),
    Fault(
        "the 180th meridian",
        "meridian = 180.0 if lon > 0 else -180.0",
        "meridian = -180.0 if lon > 0 else 180.0",
        ("tests/cli/test_export.py::test_a_tour_in_every_format",),
    ),
    Fault(
        "edges in a report",
        "instance('instance', 'arcs') // 2} edges",
        "instance('instance', 'arcs')} edges",
        ("tests/analysis/test_report.py::test_the_numbers_of_a_tree",),
    ),
    Fault(
        "a file in --set of a sweep",
        "value, Path() if key in text.overridden else base)",
        "value, base)",
        ("tests/sweep/test_expand.py::test_instances_may_be_files_and_tables",),
    ),
    Fault(
        "a killed run of a sweep",
        "KILLED - code, f",
        "KILLED + code, f",
        ("tests/sweep/test_sweep.py::test_a_run_that_is_killed_has_the_exit_code_of_a_shell",),
    ),
    Fault(
        "the warning before the end of a Slurm job",
        "min(SECONDS_BEFORE_THE_END, seconds // 4)",
        "max(SECONDS_BEFORE_THE_END, seconds // 4)",
        ("tests/slurm/test_generated.py::test_a_signal_comes_five_minutes_before_the_end_or_a_quarter_of_the_time",),
    ),
    Fault(
        "a rank's GPU",
        "gpus[local_rank % len(gpus)]",
        "gpus[-1 - local_rank % len(gpus)]",
        ("tests/device/test_select.py::test_each_rank_gets_a_gpu_of_its_host",),
    ),
    Fault(
        "a renamed file of the array cache",
        "if head.key != key:\n        return None",
        "if False:\n        return None",
        ("tests/device/test_array_cache.py::test_damage_is_noticed",),
    ),
    Fault(
        "options of the compiler in the cache",
        "source_hash(self.file), *self._command(), compiler.compiler_identity",
        "source_hash(self.file), compiler.compiler_identity",
        ("tests/device/test_build.py::test_what_the_code_depends_on_is_in_its_name",),
    ),
    Fault(
        "rows of a checkpoint stored twice",
        "filled += len(one) if one.start == wanted.start + filled else 0",
        "filled += len(one)",
        ("tests/checkpoint/test_store.py::test_rows_that_are_stored_twice_or_not_at_all_are_refused",),
    ),
    Fault(
        "a deadline",
        "return now + self.gap + self.expected(nbytes)",
        "return now + self.expected(nbytes)",
        ("tests/checkpoint/test_pace.py::test_a_piece_of_work_a_checkpoint_and_the_end_must_fit_before_the_deadline",),
    ),
    Fault(
        "a checkpoint's field of ant colonies",
        'stop.best, stop.improved = saved.integer("best", most=NO_TOUR), saved.integer("improved", most=iterations)',
        'stop.best = saved.integer("best", most=NO_TOUR)',
        ("tests/checkpoint/test_resume.py::test_stopped_again_and_again[stagnation]",),
    ),
    Fault(
        "a tour's lower bound above its cost",
        "self.lower_bound is None or self.lower_bound <= cost,",
        "self.lower_bound is None or self.lower_bound <= 2 * cost,",
        ("tests/answers/test_claims.py::test_claims_are_compared_with_the_instance",),
    ),
    Fault(
        "a tree's lower bound below the proven one",
        "require(least <= bound <= weight,",
        "require(bound <= weight,",
        ("tests/answers/test_claims.py::test_a_proof_does_not_excuse_a_wrong_tree",),
    ),
    Fault(
        "rounding of the closure's bound",
        "-(-weight * terminals // (2 * (terminals - 1)))",
        "weight * terminals // (2 * (terminals - 1))",
        ("tests/problems/test_steiner.py::test_the_bound_of_the_closure_is_rounded_up",),
    ),
    Fault(
        "waiting for a window",
        "times.append(max(time + travel, int(windows.earliest[city])))",
        "times.append(time + travel)",
        ("tests/algorithms/held_karp/test_orders.py::test_the_check_gives_every_tour_its_value",),
    ),
    Fault(
        "a tie among orders",
        "return min(map(backwards, meetings.states))[::-1]",
        "return backwards(meetings.states[0])[::-1]",
        ("tests/algorithms/held_karp/test_held_karp.py::test_of_equal_tours_the_last_cities_are_the_smallest",),
    ),
    Fault(
        "the limit of the layers kernel",
        "if (cost + bounds[e] <= next.limit) f(j, cost);",
        "if (cost + bounds[e] < next.limit) f(j, cost);",
        ("tests/kernels/test_layers.py::test_the_next_layer_equals_the_definition",),
    ),
    Fault(
        "predecessors over arcs of weight 0",
        "(sum == here.part[k]) & (x.part[k] < here.part[k])",
        "(sum == here.part[k]) & (x.part[k] <= here.part[k])",
        ("tests/algorithms/shortest_paths/test_phast.py::test_small_graphs_equal_near_far",),
    ),
    Fault(
        "a search that ends early",
        "(early && word >= threshold)",
        "(early && word > threshold)",
        ("tests/algorithms/shortest_paths/test_shortest_paths_queries.py::"
         "test_equals_the_path_of_smallest_predecessors",),
    ),
    Fault(
        "a tie among moves of ants",
        "if (gain <= best.gain) return;",
        "if (gain < best.gain) return;",
        ("tests/algorithms/ant_colony/test_local_search.py::test_blocks_of_real_threads_find_the_same",),
    ),
    Fault(
        "paths between parts of a tree",
        "if (v < net.heads[a] && base[v] == base[net.heads[a]]) border.push_back(a);",
        "if (v < net.heads[a] && base[v] != base[net.heads[a]]) border.push_back(a);",
        ("tests/algorithms/steiner_kmb/test_steiner_key_vertex.py::"
         "test_a_path_between_parts_may_lie_within_the_region_of_the_hub",),
    ),
    Fault(
        "room for a contraction",
        "if (room - behind < 1u << size) throw full();",
        "if (room < behind) throw full();",
        ("tests/algorithms/shortest_paths/test_phast.py::test_lists_of_neighbours_keep_to_their_room",),
    ),
    Fault(
        "the largest pheromone",
        "x > bounds[1] ? bounds[1] : x;",
        "x;",
        ("tests/kernels/test_max_min.py::test_an_update_equals_the_model",),
    ),
    Fault(
        "the lighter of parallel edges",
        "least = np.minimum.reduceat(weights, np.flatnonzero(first))",
        "least = np.maximum.reduceat(weights, np.flatnonzero(first))",
        ("tests/algorithms/steiner_kmb/test_steiner_reductions.py::test_no_lighter_tree_is_lost",),
    ),
    Fault(
        "the lightest meeting of all ranks",
        "return min(found, default=(self.weight, None))",
        "return found[0] if found else (self.weight, None)",
        ("tests/algorithms/steiner_kmb/test_steiner_exact.py::"
         "test_the_lightest_meeting_of_all_ranks_counts_and_of_equal_ones_the_first",),
    ),
    Fault(
        "the rows of a rank",
        "found |= _tables(rows.keys, keys, wanted, share.start, len(asked.sources))",
        "found |= _tables(rows.keys, keys, wanted, 0, len(asked.sources))",
        ("tests/cli/test_ranks.py::test_the_answer_does_not_depend_on_the_ranks[reductions]",),
    ),
    Fault(
        "memory that ranks share",
        "once + _share(rank, own, group, host_free - once)",
        "once + _share(rank, own, group, host_free)",
        ("tests/cli/test_memory.py::test_memory_that_ranks_share_counts_once_per_host",),
    ),
    Fault(
        "a command line in a result",
        'word.replace(home, "~") if len(home) > 1 else word',
        "word",
        ("tests/cli/test_log.py::test_the_command_line_hides_the_home",),
    ),
    Fault(
        "the worst of several verdicts",
        "return max([_verify_in_a_line(path, options.again) for path in options.results])",
        "return [_verify_in_a_line(path, options.again) for path in options.results][-1]",
        ("tests/cli/test_run.py::test_a_line_a_file_and_the_greatest_exit_code",),
    ),
    Fault(
        "part files of failed writes",
        "part.unlink(missing_ok=True)\n        raise",
        "raise",
        ("tests/cli/test_result_file.py::test_a_full_disk_leaves_the_old_file",),
    ),
    Fault(
        "the lighter of parallel arcs",
        "np.minimum.reduceat(weights, first))",
        "np.maximum.reduceat(weights, first))",
        ("tests/problems/test_graph.py::test_rows_hold_the_least_of_parallel_arcs",),
    ),
    Fault(
        "time limits of tables of all states",
        "<= limit\n    return in_time",
        "<= 10 * limit\n    return in_time",
        ("tests/cli/test_choice.py::test_the_time_for_the_table_of_all_states",),
    ),
    Fault(
        "bands of a table on several ranks",
        "max(a, start), min(b, stop)) for rank",
        "a, min(b, stop)) for rank",
        ("tests/cli/test_tables.py::test_ranks_and_threads_make_the_same_bytes",),
    ),
)
