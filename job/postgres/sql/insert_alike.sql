-- Inserts jobs $1 with the args $2 that are alike in all else, have no key and are due at once: queue $3, kind $4, priority
-- $5, attempts $6.
with job as (
    insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args)
    select id, $3, now(), $5, $6, $4, args from unnest($1::uuid[], $2::text[]) j(id, args)
)
insert into meanwhile.counts (unfinished, queue, kind) values (cardinality($1::uuid[]), $3, $4)
