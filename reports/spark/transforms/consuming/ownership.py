"""Who owned each partition, and what each owner was given: order, gaps, and two owners in one generation.

The events of one process about one partition are in *stretches*: each assignment, revocation or end begins one. A
stretch has an owner if it begins with an assignment, or from the first record that the process was given in it (it has
no listener then). Within it, a call of the application that sets positions begins another *run*.
"""

from __future__ import annotations

import polars as pl

from reports.spark.transforms.consuming.rows import PLACE, rows

OWNER = ["trial", "member", "partition"]
STRETCH = [*OWNER, "stretch"]
_CONTROLS = ("assigned", "revoked", "lost", "ended")


def stretches(events: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the events of each process about each partition, in order, with their stretch and run.

    The columns are ``OWNER, stretch, runs, what, event, order, mono_ns, generation, offset, polled_ns``. ``what`` is
    "got" for a delivery, and ``runs`` the number of the calls so far that set positions.
    """
    own = events.filter(pl.col("partition").is_not_null())
    about = pl.concat((own.select(OWNER), deliveries.select(OWNER))).unique()
    of_all = (
        events.filter(pl.col("partition").is_null()).drop("partition").join(about, on=["trial", "member"])
    )
    got = deliveries.with_columns(what=pl.lit("got"), mono_ns=pl.col("processed_ns"))
    both = pl.concat((own, of_all, got), how="diagonal").with_columns(pl.col("order").fill_null(0))
    is_control = pl.col("what").is_in(_CONTROLS)
    return (
        both.sort("event", "order")
        .with_columns(stretch=is_control.cum_sum().over(OWNER))
        .select(*STRETCH, "what", "event", "order", "mono_ns", "generation", "offset", "polled_ns")
    )


def owners(found: pl.DataFrame) -> pl.DataFrame:
    """Return ``STRETCH, begin_ns, end_ns, generation, declared, event``: the ownerships, with null for no end."""
    began = found.filter(pl.col("what").is_in(_CONTROLS))
    ends = began.select(*OWNER, stretch=pl.col("stretch") - 1, end_ns="mono_ns")
    is_assigned = pl.col("what") == "assigned"
    first = (
        found.filter(is_assigned | (pl.col("what") == "got"))
        .group_by(STRETCH, maintain_order=True)
        .agg(
            declared=is_assigned.first(),
            begin_ns=pl.when(is_assigned).then("mono_ns").otherwise("polled_ns").first(),
            generation=pl.when(is_assigned).then("generation").otherwise(-1).first(),
            event=pl.col("event").first(),
        )
    )
    return first.join(ends, on=STRETCH, how="left")


def given(found: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """Return ``STRETCH, run, offset, event, order`` of what was taken in each ownership, in order.

    A delivery of which the process reports later than a call that set positions belongs to the run in which it was
    taken. One that was taken before the ownership began belongs to none.
    """
    got = (
        found.filter(pl.col("what") == "got")
        .join(owned.select(*STRETCH, "begin_ns"), on=STRETCH)
        .filter(pl.col("polled_ns") >= pl.col("begin_ns"))
    )
    sought = seeks(found, owned).select(*STRETCH, sought_ns="mono_ns", sought_event="event")
    if sought.is_empty():
        return got.with_columns(run=pl.lit(0, pl.UInt32))
    before = (
        got.select(*STRETCH, "event", "polled_ns")
        .unique()
        .join(sought, on=STRETCH)
        .filter(pl.col("sought_ns") <= pl.col("polled_ns"), pl.col("sought_event") < pl.col("event"))
        .group_by(*STRETCH, "event")
        .agg(run=pl.len())
    )
    return got.join(before, on=[*STRETCH, "event"], how="left").with_columns(pl.col("run").fill_null(0))


def seeks(found: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that set positions within an ownership."""
    sought = found.filter(pl.col("what") == "sought")
    begun = owned.select(*STRETCH, begun="event")
    return sought.join(begun, on=STRETCH).filter(pl.col("event") > pl.col("begun"))


def steps(taken: pl.DataFrame) -> pl.DataFrame:
    """Return ``OWNER, before, offset``: each delivery with the one before it in its run."""
    run = [*STRETCH, "run"]
    previous = pl.col("offset").shift(1).over(run)
    return taken.sort("event", "order").with_columns(before=previous).filter(pl.col("before").is_not_null())


def backwards(made: pl.DataFrame) -> pl.DataFrame:
    """Return the steps that do not go forward."""
    return rows(made.filter(pl.col("offset") <= pl.col("before")), "backwards", pl.col("member"))


def gaps(made: pl.DataFrame, log: pl.DataFrame) -> pl.DataFrame:
    """Return the records of the log that steps leave out, each with the process."""
    known = log.select(PLACE).unique().sort(PLACE)
    known = known.with_columns(at=pl.int_range(pl.len()).over("trial", "partition"))
    wide = made.filter(pl.col("offset") > pl.col("before") + 1).select(*OWNER, "before", "offset")
    low = _place(wide.with_columns(bound=pl.col("before")), known, "low")
    both = _place(low.with_columns(bound=pl.col("offset") - 1), known, "high")
    each = both.select(*OWNER, at=pl.int_ranges(pl.col("low") + 1, pl.col("high") + 1)).explode("at")
    left = each.filter(pl.col("at").is_not_null()).join(known, on=["trial", "partition", "at"])
    return rows(left, "gap", pl.col("member"))


def _place(made: pl.DataFrame, known: pl.DataFrame, name: str) -> pl.DataFrame:
    """Add the place in the log of the last record at or before ``bound``; -1 if there is none."""
    of = known.select("trial", "partition", bound="offset", **{name: "at"}).sort("bound")
    placed = made.sort("bound").join_asof(
        of, on="bound", by=["trial", "partition"], strategy="backward", check_sortedness=False
    )
    return placed.with_columns(pl.col(name).fill_null(-1)).drop("bound")


def two_owners(owned: pl.DataFrame) -> pl.DataFrame:
    """Return each two processes that owned a partition at once in one generation, the older one first."""
    told = owned.filter("declared", pl.col("generation") >= 0).sort("begin_ns", "event")
    told = told.with_row_index("rank").select(
        "trial", "partition", "generation", "member", "rank", "begin_ns", "end_ns"
    )
    pairs = told.join(told, on=["trial", "partition", "generation"], suffix="_newer").filter(
        pl.col("rank") < pl.col("rank_newer"),
        pl.col("member") != pl.col("member_newer"),
        pl.col("end_ns").is_null() | (pl.col("begin_ns_newer") < pl.col("end_ns")),
    )
    names = pl.format("{} {} {}", "member", "member_newer", "generation")
    return rows(pairs.with_columns(offset=pl.lit(None, pl.Int64)), "two-owners", names)
