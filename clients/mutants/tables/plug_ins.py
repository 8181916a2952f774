"""Plug-ins: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, Mutant

PLUG_INS: Mapping[str, Mutant] = {
    "interceptor_stops_the_send": Mutant(
        "lets an interceptor that raises keep the record from those behind it",
        (DELIVERY + "interceptors_pass_the_last_good_record_on",),
        ("PRD-ISP-01",),
    ),
    "interceptors_hear_no_failure": Mutant(
        "does not tell interceptors of records that failed",
        (DELIVERY + "interceptors_hear_of_each_end_first",),
        ("PRD-ISP-02",),
    ),
    "never_closes_plug_ins": Mutant(
        "does not close its plug-ins",
        (DELIVERY + "plug_ins_are_configured_first_and_closed_once",),
        ("PRD-ISP-03",),
    ),
    "serializes_value_first": Mutant(
        "serializes the value before the key", (DELIVERY + "the_key_is_serialized_first",), ("PRD-ISP-04",)
    ),
    "one_listener_silences_the_rest": Mutant(
        "tells nobody the cluster's id behind a plug-in that raises",
        (DELIVERY + "whoever_asks_hears_the_cluster_id",),
        ("PRD-ISP-05",),
    ),
    "failed_plug_in_leaves_others_open": Mutant(
        "leaves plug-ins open where a later one cannot be made",
        (DELIVERY + "plug_ins_are_configured_first_and_closed_once",),
        ("PRD-ISP-03",),
    ),
    "unserializable_becomes_empty": Mutant(
        "sends an empty value where the serializer refuses one",
        (DELIVERY + "the_key_is_serialized_first",),
        ("PRD-ISP-04",),
    ),
    "flushes_in_callbacks": Mutant(
        "lets a callback flush, which waits for itself",
        (DELIVERY + "flush_in_a_callback_is_refused",),
        ("PRD-CLS-02",),
    ),
    "closes_once": Mutant(
        "refuses a second close()", (DELIVERY + "flush_in_a_callback_is_refused",), ("PRD-CLS-05",)
    ),
}
