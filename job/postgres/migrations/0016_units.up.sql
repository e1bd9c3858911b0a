-- readable from 9
-- What is kept of the rate of units of a queue, and of each of its lanes, as free is of that of starts.
alter table meanwhile.queues add column paid timestamptz;
alter table meanwhile.lanes add column paid timestamptz;

-- What the jobs cost that lanes_take takes of the lanes $3, up to $4 of each: by the number of the lane, in their order. The cost is the first of the
-- options, which are not read as JSON: what else they say may be what json does not take.
create function meanwhile.lanes_cost(text, int, text[], int[], timestamptz, text[]) returns table (lane bigint, cost bigint)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    select w.n, coalesce(substring(due.options from '^\{"cost":([0-9]+)')::bigint, 0)
    from unnest($3, $4) with ordinality w(key, want, n) cross join lateral (
        select k.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key <> '' and not ordered and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) k
        union all
        select n.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key = '' and q.queue = $1 and q.limit_key is null
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) n
        union all
        select f.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where ordered and w.key <> '' and q.ctid = (
                select h.ctid from meanwhile.queued h
                where h.queue = $1 and h.limit_key <> '' and h.limit_key = w.key collate "C"
                order by h.created, h.id limit 1
            ) and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            limit w.want
        ) f
    ) due
    order by w.n, due.run_at, due.id;
end $$;
