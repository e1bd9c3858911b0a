drop table meanwhile.queued, meanwhile.running, meanwhile.finished, meanwhile.unique_keys, meanwhile.counts, meanwhile.sessions, meanwhile.queues,
    meanwhile.overrides, meanwhile.lanes, meanwhile.touched, meanwhile.noted, meanwhile.changes, meanwhile.holders, meanwhile.workers,
    meanwhile.crons, meanwhile.watches, meanwhile.orders, meanwhile.stats, meanwhile.past, meanwhile.audit;
drop function meanwhile.refuse_stored, meanwhile.insert_alike, meanwhile.insert_noted, meanwhile.touch, meanwhile.hold, meanwhile.release,
    meanwhile.begin_claim, meanwhile.claim_again, meanwhile.claim_expired, meanwhile.claim_strict, meanwhile.running_counts, meanwhile.has_lanes,
    meanwhile.lane_plain, meanwhile.lanes_changed, meanwhile.lanes_begin, meanwhile.claim_keyless, meanwhile.lanes_load, meanwhile.lanes_heads,
    meanwhile.lanes_more, meanwhile.lanes_first, meanwhile.lanes_due, meanwhile.lanes_kept, meanwhile.lanes_cost, meanwhile.lanes_give,
    meanwhile.lanes_hold, meanwhile.lanes_keys, meanwhile.settle_strict, meanwhile.settle_alike, meanwhile.settle_keyed, meanwhile.list_finished;
